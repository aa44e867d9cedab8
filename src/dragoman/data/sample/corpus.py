"""Sentences drawn from the grammar, with probabilities, and the corpus made of them."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.data.sample import words
from dragoman.data.sample.grammar import (
    ADJECTIVES,
    MASS,
    NOUNS,
    NUMBERS,
    TO_BE,
    VERBS,
    WAS,
    Clause,
    Noun,
    Phrase,
    SentencePair,
    Verb,
    definite,
    english_main,
    english_question,
    german_main,
    german_question,
    german_subordinate,
    name_phrase,
    noun_phrase,
    parse_pairs,
    parse_rows,
    pronoun,
    sentence,
)

_PRESENT_TIMES, _PAST_TIMES = parse_pairs(words.PRESENT_TIMES), parse_pairs(words.PAST_TIMES)
_FREQUENCIES = parse_pairs(words.FREQUENCIES)
_NAMES = words.NAMES.split()
_PLACES = [
    (("im" if german == "in" else f"auf {definite(g, 2)}") if g != "f" else f"{german} der", *rest)
    for german, g, *rest in parse_rows(words.PLACES)
]
_NOUNS_BY_KIND = {
    kind: [noun for noun in [*NOUNS, *MASS] if noun.kind == kind]
    for kind in dict.fromkeys(noun.kind for noun in [*NOUNS, *MASS])
}


@dataclass(frozen=True, slots=True)
class SampleCorpus:
    """Pairs of German and English; the three parts share no sentence of either language."""

    train: tuple[SentencePair, ...]
    validation: tuple[SentencePair, ...]
    test: tuple[SentencePair, ...]


def sample_corpus(
    *, train: int = 22_000, validation: int = 200, test: int = 500, seed: int = 2017
) -> SampleCorpus:
    """Draw distinct sentences, the same for the same numbers and seed on every machine.

    Args:
        train: pairs to learn from.
        validation: pairs held out.
        test: more pairs held out.
        seed: of the draws.

    Raises:
        ValueError: the grammar does not make so many distinct sentences.
    """
    wanted, rng = train + validation + test, random.Random(seed)
    drawn: dict[str, str] = {}
    for _ in range(40 * wanted + 1000):
        if len(drawn) >= wanted:
            break
        german, english = draw_sentence(rng)
        drawn.setdefault(german, english)
    else:
        raise ValueError(f"{wanted} sentences are more than the grammar makes; ask for fewer")
    # English sentences may serve two German ones (du, ihr); those are not held out.
    counts = Counter(drawn.values())
    pairs = list(drawn.items())
    held_out = [pair for pair in pairs if counts[pair[1]] == 1][: validation + test]
    chosen = set(held_out)
    rest = tuple(pair for pair in pairs if pair not in chosen)
    return SampleCorpus(rest, tuple(held_out[:validation]), tuple(held_out[validation:]))


def draw_sentence(rng: random.Random) -> SentencePair:
    """Draw one sentence of any pattern."""
    patterns, weights = zip(*_PATTERNS, strict=True)
    pattern: Callable[[random.Random], SentencePair] = rng.choices(patterns, weights)[0]
    return pattern(rng)


# Sentence patterns.


def _statement(rng: random.Random) -> SentencePair:
    clause = draw_clause(rng)
    return sentence(german_main(clause), english_main(clause))


def _inverted(rng: random.Random) -> SentencePair:
    """Put time or place first, so that the subject follows the verb."""
    clause = draw_clause(rng, adverb=True)
    front = clause.time or clause.place
    return sentence(german_main(clause, front), english_main(clause, front))


def _question(rng: random.Random) -> SentencePair:
    clause = replace(draw_clause(rng), negated=False)
    return sentence(german_question(clause), english_question(clause), "?")


def _asked(rng: random.Random) -> SentencePair:
    """Ask why, when, where or what."""
    clause = replace(draw_clause(rng), negated=False)
    choices = [("warum", "why"), ("wann", "when"), ("wo", "where")]
    asked = rng.choice(choices)
    if asked[0] == "wann":
        clause = replace(clause, time=None, frequency=None)
    if asked[0] == "wo":
        clause = replace(clause, place=None)
    things = {"person", "animal"}.isdisjoint(phrase.kind for phrase in clause.objects)
    if len(clause.objects) == 1 and things and rng.random() < 0.5:
        asked, clause = ("was", "what"), replace(clause, objects=())
    return sentence(german_question(clause, asked[0]), english_question(clause, asked[1]), "?")


def _description(rng: random.Random) -> SentencePair:
    """Say or ask how someone or something is or was."""
    kind = rng.choice(list(_NOUNS_BY_KIND))
    subject = draw_subject(rng, (kind,), described=False)
    german, english = rng.choice([(g, e) for g, e, kinds in ADJECTIVES if kind in kinds])
    past, person = rng.random() < 0.4, subject.person
    is_german = (WAS if past else TO_BE)[person]
    singular = "was" if past else "is"
    is_english = {0: "was" if past else "am", 2: singular}.get(person, "were" if past else "are")
    degree = rng.choice([("", ""), ("sehr ", "very "), ("nicht ", "not "), ("zu ", "too ")])
    if rng.random() < 0.2 and degree[0] != "nicht ":
        asked = f"{is_german} {subject.german[0]} {degree[0]}{german}"
        return sentence(asked, f"{is_english} {subject.english} {degree[1]}{english}", "?")
    said = f"{subject.german[0]} {is_german} {degree[0]}{german}"
    return sentence(said, f"{subject.english} {is_english} {degree[1]}{english}")


def _reason(rng: random.Random) -> SentencePair:
    main, reason = draw_clause(rng, short=True), draw_clause(rng, short=True)
    german = f"{german_main(main)}, weil {german_subordinate(reason)}"
    return sentence(german, f"{english_main(main)} because {english_main(reason)}")


def _condition(rng: random.Random) -> SentencePair:
    """Put a subordinate clause first; the finite verb of the main clause follows it."""
    condition, main = draw_clause(rng, short=True), draw_clause(rng, short=True)
    ordered = german_main(main, ("", "")).removeprefix(" ")
    german = f"wenn {german_subordinate(condition)}, {ordered}"
    return sentence(german, f"when {english_main(condition)}, {english_main(main)}")


def _thought(rng: random.Random) -> SentencePair:
    thinking = [
        (("weiß", "weißt", "weiß", "wissen", "wisst", "wissen"), "know"),
        (("glaube", "glaubst", "glaubt", "glauben", "glaubt", "glauben"), "believe"),
    ]
    forms, english = rng.choice(thinking)
    subject, clause = draw_subject(rng, ("person",), described=False), draw_clause(rng, short=True)
    said = f"{subject.german[0]} {forms[subject.person]}, dass {german_subordinate(clause)}"
    known = english + "s" * (subject.person == 2)
    return sentence(said, f"{subject.english} {known} that {english_main(clause)}")


def _relative(rng: random.Random) -> SentencePair:
    """Describe the subject by a clause of its own: der Mann, der ein Buch liest, lacht."""
    main = draw_clause(rng, short=True)
    while main.subject.is_pronoun or main.subject.german[0] in _NAMES:
        main = draw_clause(rng, short=True)
    subject = main.subject
    inner = draw_clause(rng, short=True)
    while subject.kind not in inner.verb.subjects:
        inner = draw_clause(rng, short=True)
    inner = replace(inner, subject=subject)
    who = "who" if subject.kind == "person" else "that"
    german = f"{subject.german[0]}, {german_subordinate(inner, definite(subject.gender, 0))},"
    english = f"{subject.english} {who} {english_main(inner).removeprefix(subject.english + ' ')}"
    forms = (german, german, german)
    described = replace(main, subject=replace(subject, german=forms, english=english))
    return sentence(german_main(described), english_main(described))


_PATTERNS: list[tuple[Callable[[random.Random], SentencePair], int]] = [
    (_statement, 32),
    (_inverted, 18),
    (_question, 9),
    (_asked, 7),
    (_description, 9),
    (_reason, 8),
    (_condition, 6),
    (_thought, 5),
    (_relative, 6),
]


# What sentences are made of.


def draw_clause(rng: random.Random, *, short: bool = False, adverb: bool = False) -> Clause:
    """Draw a clause.

    Args:
        rng: draws.
        short: leave adverbs and adjectives out.
        adverb: see that a time or a place is there to be put in front.
    """
    verb = rng.choice(VERBS)
    subject = draw_subject(rng, verb.subjects, described=not short)
    tense = rng.choices(
        ["present", "perfect", "können", "müssen", "sollen", "wollen", "werden"],
        [50, 26, 6, 5, 4, 5, 6],
    )[0]
    objects = _draw_objects(rng, verb, subject, described=not short)
    clause = Clause(subject, verb, tense, objects)
    extra = rng.choices(["time", "place", "frequency", "negated", ""], [25, 22, 12, 14, 27])[0]
    if adverb:
        extra = rng.choice(["time", "place"])
    elif short:
        extra = rng.choices(["negated", ""], [15, 85])[0]
    match extra:
        case "time":
            times = _PAST_TIMES if tense == "perfect" else _PRESENT_TIMES
            return replace(clause, time=rng.choice(times))
        case "place":
            return replace(clause, place=_draw_place(rng))
        case "frequency":
            return replace(clause, frequency=rng.choice(_FREQUENCIES))
        case "negated" if tense != "müssen":
            return replace(clause, negated=True)
        case _:
            return clause


def draw_subject(rng: random.Random, kinds: Sequence[str], *, described: bool) -> Phrase:
    """Draw who or what does it: a pronoun or a name if it may be a person, or a noun."""
    if "person" in kinds and rng.random() < 0.4:
        if rng.random() < 0.6:
            return pronoun(rng.randrange(6))
        return name_phrase(rng.choice(_NAMES))
    noun = rng.choice(_NOUNS_BY_KIND[rng.choice(list(kinds))])
    return draw_noun_phrase(rng, noun, described=described)


def draw_noun_phrase(rng: random.Random, noun: Noun, *, described: bool = True) -> Phrase:
    """Draw a determiner, a number and perhaps an adjective for a noun."""
    plural = bool(noun.plural) and rng.random() < 0.3
    adjective: SentencePair | None = None
    fitting = [(g, e) for g, e, kinds in ADJECTIVES if noun.kind in kinds]
    if described and fitting and rng.random() < 0.3:
        adjective = rng.choice(fitting)
    if not noun.plural:
        determiner = rng.choices(["der", ""], [50, 50])[0]
    elif not plural:
        owners = ["mein", "dein", "sein", "unser"]
        choices = ["der", "ein", "dieser", "jeder", *owners]
        determiner = rng.choices(choices, [38, 30, 6, 4, 7, 5, 5, 5])[0]
    elif rng.random() < 0.25:
        digits = str(rng.randrange(11, 100))
        determiner = digits if rng.random() < 0.4 else rng.choice(NUMBERS)[0]
    else:
        determiner = rng.choices(["der", "", "dieser", "mein", "unser"], [50, 25, 9, 9, 7])[0]
    return noun_phrase(noun, determiner, plural=plural, adjective=adjective)


def _draw_objects(
    rng: random.Random, verb: Verb, subject: Phrase, *, described: bool
) -> tuple[Phrase, ...]:
    if not verb.objects:
        return ()
    thing = _draw_object(rng, verb.objects, subject, described=described)
    if not verb.gives:
        return (thing,)
    return _draw_object(rng, ("person",), subject, described=False), thing


def _draw_object(
    rng: random.Random, kinds: Sequence[str], subject: Phrase, *, described: bool
) -> Phrase:
    """Draw whom or what; never the subject itself, and ihn only where a person is meant."""
    if tuple(kinds) == ("person",) and rng.random() < 0.35:
        if rng.random() < 0.6:
            others = {0: (1, 2, 4), 1: (0, 2, 3), 2: (0, 1, 3), 3: (1, 2, 4), 4: (0, 2, 3)}
            return pronoun(rng.choice(others.get(subject.person, (0, 1, 3))))
        return name_phrase(rng.choice([n for n in _NAMES if n != subject.english]))
    noun = rng.choice(_NOUNS_BY_KIND[rng.choice(list(kinds))])
    found = draw_noun_phrase(rng, noun, described=described)
    while found.german[0] == subject.german[0]:
        found = draw_noun_phrase(rng, noun, described=described)
    return found


def _draw_place(rng: random.Random) -> SentencePair:
    """Draw a place, or the person or animal that someone is with."""
    if rng.random() < 0.7:
        german, noun, preposition, english = rng.choice(_PLACES)
        return f"{german} {noun}", f"{preposition} the {english}"
    noun = rng.choice(_NOUNS_BY_KIND["person"] + _NOUNS_BY_KIND["animal"])
    with_whom = draw_noun_phrase(rng, noun, described=False)
    if rng.random() < 0.7:
        return f"mit {with_whom.german[2]}", f"with {with_whom.english_object}"
    return f"ohne {with_whom.german[1]}", f"without {with_whom.english_object}"
