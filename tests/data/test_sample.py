"""The embedded corpus: every expected pair below is written by hand."""

import random
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import pytest

from dragoman.data.sample import draw_sentence, sample_corpus
from dragoman.data.sample.grammar import (
    ADJECTIVES,
    DEFINITE,
    MASS,
    NOUNS,
    VERBS,
    Clause,
    Noun,
    Phrase,
    Verb,
    english_main,
    english_question,
    german_main,
    german_question,
    german_subordinate,
    noun_phrase,
    pronoun,
    sentence,
)


def noun(german: str) -> Noun:
    return next(noun for noun in [*NOUNS, *MASS] if noun.singular == german)


def verb(infinitive: str, prefix: str = "") -> Verb:
    return next(v for v in VERBS if (v.prefix, v.infinitive) == (prefix, infinitive))


def the(german: str, *, plural: bool = False) -> Phrase:
    return noun_phrase(noun(german), "der", plural=plural)


HOUND, MAN, WOMAN = the("Hund"), the("Mann"), the("Frau")


@pytest.mark.parametrize(
    ("clause", "german", "english"),
    [
        # articles by case: nominative, accusative, dative
        (
            Clause(MAN, verb("sehen"), objects=(HOUND,)),
            "der Mann sieht den Hund",
            "the man sees the dog",
        ),
        (
            Clause(HOUND, verb("sehen"), objects=(MAN,)),
            "der Hund sieht den Mann",
            "the dog sees the man",
        ),
        (
            Clause(WOMAN, verb("helfen"), objects=(MAN,)),
            "die Frau hilft dem Mann",
            "the woman helps the man",
        ),
        (
            Clause(MAN, verb("geben"), objects=(WOMAN, noun_phrase(noun("Apfel"), "ein"))),
            "der Mann gibt der Frau einen Apfel",
            "the man gives the woman an apple",
        ),
        # weak nouns, plurals
        (
            Clause(the("Junge"), verb("fragen"), objects=(the("Student"),)),
            "der Junge fragt den Studenten",
            "the boy asks the student",
        ),
        (
            Clause(the("Maus", plural=True), verb("folgen"), objects=(the("Kind", plural=True),)),
            "die Mäuse folgen den Kindern",
            "the mice follow the children",
        ),
        # verb bracket: separable verb, perfect, modal
        (
            Clause(MAN, verb("machen", "auf"), objects=(the("Tür"),)),
            "der Mann macht die Tür auf",
            "the man opens the door",
        ),
        (
            Clause(MAN, verb("machen", "auf"), "perfect", (the("Tür"),)),
            "der Mann hat die Tür aufgemacht",
            "the man opened the door",
        ),
        (
            Clause(MAN, verb("stehen", "auf"), "perfect"),
            "der Mann ist aufgestanden",
            "the man got up",
        ),
        (
            Clause(MAN, verb("rufen", "an"), "wollen", (pronoun(0),)),
            "der Mann will mich anrufen",
            "the man wants to call me",
        ),
        (
            Clause(pronoun(3), verb("schlafen"), "können", negated=True),
            "wir können nicht schlafen",
            "we cannot sleep",
        ),
        (
            Clause(pronoun(0), verb("lesen"), "werden", (noun_phrase(noun("Buch"), "dieser"),)),
            "ich werde dieses Buch lesen",
            "I will read this book",
        ),
        # negation, adverbs, pronouns before adverbs
        (
            Clause(pronoun(1), verb("arbeiten"), negated=True),
            "du arbeitest nicht",
            "you do not work",
        ),
        (
            Clause(pronoun(2), verb("arbeiten"), "perfect", negated=True),
            "er hat nicht gearbeitet",
            "he did not work",
        ),
        (
            Clause(pronoun(5), verb("singen"), frequency=("oft", "often")),
            "sie singen oft",
            "they often sing",
        ),
        (
            Clause(MAN, verb("besuchen"), objects=(pronoun(3),), time=("heute", "today")),
            "der Mann besucht uns heute",
            "the man visits us today",
        ),
    ],
)
def test_main_clauses_agree_in_both_languages(clause: Clause, german: str, english: str) -> None:
    assert german_main(clause) == german
    assert english_main(clause) == english


def test_what_stands_first_moves_the_subject_behind_the_verb() -> None:
    today, garden = ("heute", "today"), ("im Garten", "in the garden")
    clause = Clause(MAN, verb("lesen"), objects=(noun_phrase(noun("Brief"), "ein"),), time=today)
    assert german_main(clause, today) == "heute liest der Mann einen Brief"
    assert english_main(clause, today) == "today the man reads a letter"
    assert (
        german_main(replace(clause, time=None, place=garden), garden)
        == "im Garten liest der Mann einen Brief"
    )


@pytest.mark.parametrize(
    ("clause", "german", "english"),
    [
        (Clause(HOUND, verb("schlafen")), "der Hund schläft", "the dog sleeps"),
        (
            Clause(MAN, verb("machen", "zu"), objects=(the("Tür"),)),
            "der Mann die Tür zumacht",
            "the man closes the door",
        ),
        (
            Clause(MAN, verb("wachen", "auf"), "perfect"),
            "der Mann aufgewacht ist",
            "the man woke up",
        ),
        (
            Clause(pronoun(4), verb("kaufen", "ein"), "müssen"),
            "ihr einkaufen müsst",
            "you must go shopping",
        ),
    ],
)
def test_subordinate_clauses_end_in_the_finite_verb(
    clause: Clause, german: str, english: str
) -> None:
    assert german_subordinate(clause) == german
    assert english_main(clause) == english


@pytest.mark.parametrize(
    ("clause", "german", "english"),
    [
        (Clause(HOUND, verb("schlafen")), "schläft der Hund", "does the dog sleep"),
        (Clause(pronoun(1), verb("schlafen"), "perfect"), "hast du geschlafen", "did you sleep"),
        (Clause(pronoun(3), verb("tanzen"), "sollen"), "sollen wir tanzen", "should we dance"),
        (
            Clause(MAN, verb("tanzen"), "wollen"),
            "will der Mann tanzen",
            "does the man want to dance",
        ),
    ],
)
def test_questions_begin_with_the_verb(clause: Clause, german: str, english: str) -> None:
    assert german_question(clause) == german
    assert english_question(clause) == english
    assert german_question(clause, "warum") == f"warum {german}"
    assert english_question(clause, "why") == f"why {english}"


@pytest.mark.parametrize(
    ("phrase", "cases"),
    [
        (
            noun_phrase(noun("Hund"), "der", adjective=("alt", "old")),
            ("der alte Hund", "den alten Hund", "dem alten Hund"),
        ),
        (
            noun_phrase(noun("Hund"), "ein", adjective=("alt", "old")),
            ("ein alter Hund", "einen alten Hund", "einem alten Hund"),
        ),
        (
            noun_phrase(noun("Katze"), "mein", adjective=("müde", "tired")),
            ("meine müde Katze", "meine müde Katze", "meiner müden Katze"),
        ),
        (
            noun_phrase(noun("Kind"), "unser", adjective=("klein", "small")),
            ("unser kleines Kind", "unser kleines Kind", "unserem kleinen Kind"),
        ),
        (
            noun_phrase(noun("Pferd"), "jeder", adjective=("jung", "young")),
            ("jedes junge Pferd", "jedes junge Pferd", "jedem jungen Pferd"),
        ),
        (
            noun_phrase(noun("Kind"), "", plural=True, adjective=("klein", "small")),
            ("kleine Kinder", "kleine Kinder", "kleinen Kindern"),
        ),
        (
            noun_phrase(noun("Auto"), "der", plural=True, adjective=("rot", "red")),
            ("die roten Autos", "die roten Autos", "den roten Autos"),
        ),
        (
            noun_phrase(noun("Milch"), "", adjective=("kalt", "cold")),
            ("kalte Milch", "kalte Milch", "kalter Milch"),
        ),
        (noun_phrase(noun("Löwe"), "der"), ("der Löwe", "den Löwen", "dem Löwen")),
        (noun_phrase(noun("Frau"), "drei", plural=True), ("drei Frauen",) * 3),
    ],
)
def test_noun_phrases_decline(phrase: Phrase, cases: tuple[str, str, str]) -> None:
    assert phrase.german == cases


@pytest.mark.parametrize(
    ("phrase", "english"),
    [
        (noun_phrase(noun("Apfel"), "ein"), "an apple"),
        (noun_phrase(noun("Apfel"), "ein", adjective=("groß", "big")), "a big apple"),
        (noun_phrase(noun("Mann"), "ein", adjective=("alt", "old")), "an old man"),
        (noun_phrase(noun("Maus"), "dieser", plural=True), "these mice"),
        (noun_phrase(noun("Schaf"), "42", plural=True), "42 sheep"),
        (noun_phrase(noun("Wasser"), ""), "water"),
    ],
)
def test_english_phrases_choose_their_article_and_plural(phrase: Phrase, english: str) -> None:
    assert phrase.english == english


def test_sentences_are_capitalised_and_ended() -> None:
    assert sentence("ich schlafe", "I sleep") == ("Ich schlafe.", "I sleep.")
    assert sentence("überall", "everywhere", "?") == ("Überall?", "Everywhere?")


def test_the_corpus_has_the_size_asked_for_and_its_parts_share_no_sentence() -> None:
    corpus = sample_corpus()
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (22_000, 200, 500)
    parts = [corpus.train, corpus.validation, corpus.test]
    everything = [pair for part in parts for pair in part]
    assert len({german for german, _ in everything}) == len(everything)
    seen = {english for _, english in corpus.train}
    assert not any(english in seen for part in parts[1:] for _, english in part)


def test_no_german_sentence_has_two_translations() -> None:
    rng, known = random.Random(9), dict[str, str]()
    for _ in range(60_000):
        german, english = draw_sentence(rng)
        assert known.setdefault(german, english) == english
    assert len(known) > 50_000


def test_articles_agree_with_their_nouns_all_over_the_corpus() -> None:
    allowed = {n.singular: set(DEFINITE[n.gender].split()) for n in [*NOUNS, *MASS] if not n.weak}
    for n in NOUNS:
        for form in (n.plural, n.form(2, plural=True)):
            allowed.setdefault(form, set()).update(DEFINITE["p"].split())
            if n.weak:
                allowed[form] |= {"den", "dem"}
    allowed |= {n.singular: {"der"} for n in NOUNS if n.weak}
    articles = {article for row in DEFINITE.values() for article in row.split()}
    for german, _ in sample_corpus(train=4_000, validation=10, test=10).train:
        cells = ["", *german.rstrip(".?").split()]
        for before, article, following in zip(cells, cells[1:], cells[2:], strict=False):
            relative = before.endswith(",")  # der, die, das after a comma stand for a noun before
            if article.lower() in articles and following in allowed and not relative:
                assert article.lower() in allowed[following], german


def test_a_or_an_follows_the_sound() -> None:
    for _, english in sample_corpus(train=4_000, validation=10, test=10).train:
        cells = english.lower().rstrip(".?").split()
        for article, following in pairwise(cells):
            if article in ("a", "an"):
                assert (article == "an") == (following[0] in "aeiou"), english


def test_words_are_a_few_hundred_and_those_held_out_are_all_in_training() -> None:
    assert 150 < len(NOUNS) + len(MASS) + len(VERBS) + len(ADJECTIVES) < 500
    corpus = sample_corpus()
    counts: dict[str, int] = {}
    for german, _ in corpus.train:
        for word in german.lower().rstrip(".?").replace(",", "").split():
            counts[word] = counts.get(word, 0) + 1
    for german, _ in corpus.test:
        for word in german.lower().rstrip(".?").replace(",", "").split():
            assert counts.get(word, 0) >= 1 or word.isdigit(), word


def test_the_corpus_is_the_same_whatever_the_hash_seed() -> None:
    code = (
        "import hashlib\n"
        "from dragoman.data.sample import sample_corpus\n"
        "pairs = sample_corpus(train=300, validation=5, test=5)\n"
        "print(hashlib.sha256(repr(pairs).encode()).hexdigest())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_more_than_the_grammar_makes_is_refused() -> None:
    from dragoman.data.sample import corpus

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "draw_sentence", lambda _: ("Ja.", "Yes."))
        with pytest.raises(ValueError, match="11 sentences are more than the grammar makes"):
            sample_corpus(train=5, validation=3, test=3)
