"""A small synchronous grammar of German and English, for the embedded corpus of ``quickstart``.

Every rule makes both sides at once, so that each German sentence has one English translation. The
grammar has what makes German hard: case and article agreement, adjective endings, the verb second
in main clauses and last in subordinate ones, separable verbs, the perfect, plurals, weak nouns.

German cases are numbered 0 nominative, 1 accusative, 2 dative; persons 0 ich, 1 du, 2 er, 3 wir,
4 ihr, 5 sie (plural); genders are m, f, n, and p for every plural.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.data.sample import words

SentencePair = tuple[str, str]

DEFINITE = {"m": "der den dem", "f": "die die der", "n": "das das dem", "p": "die die den"}
STRONG = {"m": "er en em", "f": "e e er", "n": "es es em", "p": "e e en"}  # dieser, roter
TO_BE = ("bin", "bist", "ist", "sind", "seid", "sind")
TO_HAVE = ("habe", "hast", "hat", "haben", "habt", "haben")
WAS = ("war", "warst", "war", "waren", "wart", "waren")
PRONOUNS = (
    ("ich", "mich", "mir", "I", "me"),
    ("du", "dich", "dir", "you", "you"),
    ("er", "ihn", "ihm", "he", "him"),
    ("wir", "uns", "uns", "we", "us"),
    ("ihr", "euch", "euch", "you", "you"),
    ("sie", "sie", "ihnen", "they", "them"),
)
OWNERS = (("mein", "my"), ("dein", "your"), ("sein", "his"), ("unser", "our"))


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun of both languages; ``plural`` is empty for what cannot be counted."""

    kind: str
    gender: str
    singular: str
    plural: str
    english: str
    english_plural: str
    weak: bool = False

    def form(self, case: int, *, plural: bool) -> str:
        """Decline: a weak noun looks like its plural in every other case."""
        if plural:
            return self.plural + "n" * (case == 2 and self.plural[-1] not in "ns")
        return self.plural if self.weak and case else self.singular


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of both languages, and the kinds of subject and object it takes."""

    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    prefix: str
    infinitive: str
    present: tuple[str, ...]  # by person
    participle: str
    auxiliary: str
    english: str
    third: str
    past: str
    object_case: int = 1
    gives: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase or pronoun: German in three cases, English as subject and as object."""

    german: tuple[str, str, str]
    english: str
    english_object: str
    person: int
    kind: str
    gender: str
    is_pronoun: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """What a clause says, before either language puts it into an order."""

    subject: Phrase
    verb: Verb
    tense: str = "present"  # "present", "perfect", or the infinitive of a modal verb
    objects: tuple[Phrase, ...] = ()  # a giving verb has its person first
    time: SentencePair | None = None
    frequency: SentencePair | None = None
    place: SentencePair | None = None
    negated: bool = False


# Words from the tables.


def parse_rows(table: str) -> list[list[str]]:
    """Read a table of ``words``: a list of cells for each line."""
    lines = [line.split() for line in table.strip().splitlines()]
    return [[cell.replace("_", " ") for cell in line] for line in lines]


def parse_pairs(table: str) -> tuple[SentencePair, ...]:
    """Read a list of ``german=english`` words."""
    rows = [cell.replace("_", " ").split("=") for cell in table.split()]
    return tuple((german, english) for german, english in rows)


def _verb(row: list[str], *, object_case: int = 1, gives: bool = False) -> Verb:
    subjects, objects, infinitive, ich, du, er, ihr, participle, auxiliary, *english = row
    prefix, _, stem = infinitive.rpartition("|")
    present = (ich, du, er, stem, ihr, stem)
    kinds = (tuple(subjects.split("+")), tuple(objects.split("+")) if objects != "-" else ())
    base, third, past = english
    forms = (prefix, stem, present, participle, auxiliary, base, third, past)
    return Verb(*kinds, *forms, object_case=object_case, gives=gives)


def _noun(row: list[str]) -> Noun:
    kind, gender, singular, plural, english, english_plural = row
    bare = singular.rstrip("*")
    return Noun(kind, gender, bare, plural, english, english_plural, bare != singular)


NOUNS = [_noun(row) for row in parse_rows(words.NOUNS)]
MASS = [Noun(kind, g, de, "", en, "") for kind, g, de, en in parse_rows(words.MASS_NOUNS)]
VERBS = [
    *(_verb(row) for row in parse_rows(words.VERBS)),
    *(_verb(row, object_case=2) for row in parse_rows(words.DATIVE_VERBS)),
    *(_verb(row, gives=True) for row in parse_rows(words.GIVING_VERBS)),
]
ADJECTIVES = [(row[0], row[1], row[2:]) for row in parse_rows(words.ADJECTIVES)]
MODALS = {row[3]: row for row in parse_rows(words.MODALS)}  # by infinitive
NUMBERS = parse_pairs(words.NUMBERS)


# Phrases.


def definite(gender: str, case: int) -> str:
    """Give der, die, das in a case."""
    return DEFINITE[gender].split()[case]


def strong_ending(gender: str, case: int) -> str:
    """Give the ending that shows gender and case: dies-er, rot-er."""
    return STRONG[gender].split()[case]


def weak_ending(gender: str, case: int) -> str:
    """Give an adjective's ending after a word that already shows both: der rot-e."""
    plain = (gender == "m" and case == 0) or (gender in "fn" and case < 2)
    return "e" if plain else "en"


def noun_phrase(
    noun: Noun, determiner: str, *, plural: bool = False, adjective: SentencePair | None = None
) -> Phrase:
    """Put a determiner, perhaps an adjective, and a noun together.

    Args:
        noun: the noun.
        determiner: ``der``, ``ein``, ``kein``, ``dieser``, ``jeder``, a possessive such as
            ``mein``, a number of ``NUMBERS`` or in digits, or empty for none.
        plural: whether there are several.
        adjective: undeclined German, and English.
    """
    gender = "p" if plural else noun.gender

    def german(case: int) -> str:
        word, ending = _determine(determiner, gender, case)
        described = [adjective[0].removesuffix("e") + ending] if adjective is not None else []
        return " ".join([*([word] if word else []), *described, noun.form(case, plural=plural)])

    name = noun.english_plural if plural else noun.english
    rest = f"{adjective[1]} {name}" if adjective is not None else name
    english = f"{_english_determiner(determiner, rest, plural)} {rest}".strip()
    forms = (german(0), german(1), german(2))
    return Phrase(forms, english, english, 5 if plural else 2, noun.kind, gender)


def _determine(determiner: str, gender: str, case: int) -> tuple[str, str]:
    """Decline a determiner; give it and the ending of an adjective after it."""
    if determiner == "der":
        return definite(gender, case), weak_ending(gender, case)
    if determiner in ("dieser", "jeder"):
        stem = determiner.removesuffix("er")
        return stem + strong_ending(gender, case), weak_ending(gender, case)
    if determiner in ("ein", "kein", *dict(OWNERS)):
        bare = (gender == "m" and case == 0) or (gender == "n" and case < 2)
        if bare:
            return determiner, strong_ending(gender, case)
        return determiner + strong_ending(gender, case), weak_ending(gender, case)
    return determiner, strong_ending(gender, case)


def _english_determiner(determiner: str, rest: str, plural: bool) -> str:
    fixed = {"der": "the", "kein": "no", "jeder": "every", "": ""} | dict(OWNERS) | dict(NUMBERS)
    if determiner == "ein":
        return "an" if rest[0] in "aeiou" else "a"
    if determiner == "dieser":
        return "these" if plural else "this"
    return fixed.get(determiner, determiner)


def pronoun(person: int) -> Phrase:
    """Give ich, du, er, wir, ihr or sie (plural)."""
    nominative, accusative, dative, english, english_object = PRONOUNS[person]
    forms = (nominative, accusative, dative)
    return Phrase(forms, english, english_object, person, "person", "p", True)


def name_phrase(name: str) -> Phrase:
    """Give a person's name, the same in every case and language."""
    return Phrase((name, name, name), name, name, 2, "person", "f")


# Clauses in German.


def _german_verb(clause: Clause) -> tuple[str, str]:
    """Give the finite verb, and what stands at the end of a main clause."""
    verb, person = clause.verb, clause.subject.person
    if clause.tense == "present":
        return verb.present[person], verb.prefix
    if clause.tense == "perfect":
        return (TO_HAVE if verb.auxiliary == "haben" else TO_BE)[person], verb.participle
    modal = MODALS[clause.tense]
    return [*modal[:5], modal[3]][person], verb.prefix + verb.infinitive


def _german_middle(clause: Clause, *, without: SentencePair | None = None) -> list[str]:
    """Order what stands between the verbs: pronouns, time, dative, accusative, nicht, place."""
    cases = (2, 1) if clause.verb.gives else (clause.verb.object_case,)
    objects = list(zip(clause.objects, cases, strict=False))
    around = [p[0] for p in (clause.time, clause.frequency) if p is not None and p is not without]
    return [
        *(phrase.german[case] for phrase, case in objects if phrase.is_pronoun),
        *around,
        *(phrase.german[case] for phrase, case in objects if not phrase.is_pronoun),
        *(["nicht"] if clause.negated else []),
        *([clause.place[0]] if clause.place is not None and clause.place is not without else []),
    ]


def german_main(clause: Clause, front: SentencePair | None = None) -> str:
    """Order a main clause: one thing, the finite verb, all else, the other verbs."""
    finite, end = _german_verb(clause)
    head = [clause.subject.german[0], finite]
    if front is not None:
        head = [front[0], finite, clause.subject.german[0]]
    return _join([*head, *_german_middle(clause, without=front), end])


def german_question(clause: Clause, asked: str = "") -> str:
    """Order a question: the finite verb first, or after the question word."""
    finite, end = _german_verb(clause)
    return _join([asked, finite, clause.subject.german[0], *_german_middle(clause), end])


def german_subordinate(clause: Clause, subject: str | None = None) -> str:
    """Order a subordinate clause: all verbs last, the finite one at the very end."""
    finite, end = _german_verb(clause)
    verbs = end + finite if clause.tense == "present" else f"{end} {finite}"
    first = clause.subject.german[0] if subject is None else subject
    return _join([first, *_german_middle(clause), verbs])


# Clauses in English.


def _english_verb(clause: Clause) -> tuple[str, str]:
    """Give the auxiliary that negation and questions need, and the base form after it."""
    verb, third = clause.verb, clause.subject.person == 2
    if clause.tense == "present":
        return "does" if third else "do", verb.english
    if clause.tense == "perfect":
        return "did", verb.english
    modal = MODALS[clause.tense][5]  # the last column
    if modal.startswith("want"):
        return "does" if third else "do", f"want to {verb.english}"
    return modal, verb.english


def _english_rest(clause: Clause, without: SentencePair | None = None) -> list[str]:
    adverbs = [p[1] for p in (clause.place, clause.time) if p is not None and p is not without]
    return [*(phrase.english_object for phrase in clause.objects), *adverbs]


def _english_predicate(clause: Clause, without: SentencePair | None = None) -> str:
    """Say everything after the subject of a statement."""
    auxiliary, base = _english_verb(clause)
    often = clause.frequency[1] if clause.frequency is not None else ""
    verb, third = clause.verb, clause.subject.person == 2
    if clause.negated:
        shown = "cannot" if auxiliary == "can" else f"{auxiliary} not"
        said = [shown, often, base]
    elif clause.tense == "present":
        said = [often, verb.third if third else verb.english]
    elif clause.tense == "perfect":
        said = [often, verb.past]
    elif base.startswith("want"):
        said = [often, base.replace("want", "wants", 1) if third else base]
    else:
        said = [auxiliary, often, base]
    return _join([*said, *_english_rest(clause, without)])


def english_main(clause: Clause, front: SentencePair | None = None) -> str:
    """Order a statement, with what German puts in front in front as well."""
    fronted = front[1] if front is not None else ""
    return _join([fronted, clause.subject.english, _english_predicate(clause, front)])


def english_question(clause: Clause, asked: str = "") -> str:
    """Order a question: auxiliary, subject, base form."""
    auxiliary, base = _english_verb(clause)
    often = clause.frequency[1] if clause.frequency is not None else ""
    shown = [asked, auxiliary, clause.subject.english, "not" if clause.negated else ""]
    return _join([*shown, often, base, *_english_rest(clause)])


def _join(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part)


def sentence(german: str, english: str, mark: str = ".") -> SentencePair:
    """Capitalise both sides and end them."""
    return german[0].upper() + german[1:] + mark, english[0].upper() + english[1:] + mark
