import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.cli.main import main
from dragoman.data import read_lines
from dragoman.tokenization import Tokenizer
from dragoman.translator import Candidate, Translator, split_sentences
from dragoman.translator.planning import Plan, Planner
from tests.fixtures import GERMAN, tiny_folder, tiny_translator

# Scripts with and without capitals, spaces or letters; every kind of line end; things that join.
ALPHABET = (
    "aBc Z19 .!?…。！？؟۔।॥።။։,:;-–—'\"“”„‘’«»()[]{}「」 \t\n\r\u2028\u2029\u0085\u00a0\u200b\u200d"
    "äßЖдאشहिカ日本한ไทย😀👩\u0301\ufeff"
)
MIXED = st.one_of(st.text(ALPHABET, max_size=60), st.text(max_size=60))


@given(MIXED)
def test_the_parts_put_together_are_the_text(text: str) -> None:
    parts = split_sentences(text)
    assert "".join(parts) == text
    assert all(parts)


@given(MIXED)
def test_white_space_follows_its_sentence(text: str) -> None:
    for part in split_sentences(text)[1:]:
        assert not part[0].isspace()


# Boundaries by hand, marked with "|".
@pytest.mark.parametrize(
    "marked",
    [
        "It rains. |We stay. |Do we? |Yes! |Well",
        "Mr. Smith met Dr. A. B. Jones at 3.5 km. |He paid $1,000.50 to e.g. the U.S. Army.",
        "He lives in the U.S. |The rest moved to No. 5, Fig. 2 and p. 7 of vol. IV. |Then vs. Now.",
        "„Er ging.“ |Das ist z. B. gut, d. h. am 1. Januar und am 19. Jahrhundert u. a. |Ende.",
        "Er kam im Jahr 2010. |Dann ging er usw. und so fort. |Der 3. Platz.",
        "« Il est là. » |M. Dupont et Mme. Blanc arrivent ! |Vraiment ? |Oui.",
        'She said "Go!" and left. |"Why?" he asked. |(It was late.) |Then... |Nothing… |More',
        "1. Open the box. |2. Close it. |J.-P. Serre proved it.",
        "他来了。|“你好！”|她走了？|是的！！|再见",
        "彼は「はい。」、と言った。|終わり！？|次",
        "ذهب الولد. |هل عاد؟ |نعم۔ |انتهى",
        "क्या? |हाँ। |ठीक है॥ |अंत",
        "ሰላም። |ደህና።",
        "그는 갔다. |왜? |몰라.",
        "Он жил на ул. Ленина в г. Москва. |См. рис. 3 и т. д. |Да.",
        "see www.example.com/a.html?b=c. |Mail a.b@c.de now!",
        "First paragraph\n\n|second one\r\n\r\n|third\n \n|fourth\u2029|fifth\nstill fifth",
        "Great! |😀 Then - and then. |— Dash. |End. 😀 —",
    ],
)
def test_sentences_end_where_a_reader_says(marked: str) -> None:
    expected = marked.split("|")
    assert split_sentences("".join(expected)) == expected


@pytest.mark.parametrize(
    "pattern", [". ", '." ', "。」", "A. ", " ", "\n", ".", "(((", ".“", ". »"]
)
def test_odd_text_takes_time_in_proportion_to_its_length(pattern: str) -> None:
    start = time.perf_counter()
    split_sentences(pattern * 100_000)  # squared time would be hours
    assert time.perf_counter() - start < 20


class Echo:
    """Translates by writing its source in capitals."""

    def __init__(self, translator: Translator, **rules: object) -> None:
        tokenizer: Tokenizer = translator.bundle.source_tokenizer
        self.tokenizer = tokenizer
        options = {"limit": 1024, **rules}
        self.planner = Planner(source=tokenizer, target=tokenizer, **options)  # type: ignore[arg-type]  # from a table

    def plan(self, text: str) -> Plan:
        return self.planner.plan(text)

    def translate(self, text: str) -> str:
        plan = self.plan(text)
        return text if plan.copied else plan.join([self.say(part.ids) for part in plan.parts]).text

    def say(self, ids: Sequence[int]) -> Candidate:
        return Candidate(self.tokenizer.decode(ids).upper(), -1.0, ("x",), (-1.0,), False)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator()


PARAGRAPHS = [
    "Der hund schläft. Die katze trinkt.",
    "  Der hund.  Die katze!\t Wir gehen?  ",
    "Ein mann.\n\n\n  Ein buch.\r\n\r\nEine katze.\n",
    "Der hund. 😀 ... Die katze. 12. 34",
    "Eine zeile\nohne ende. Und noch\neine.",
]


@pytest.mark.parametrize("text", PARAGRAPHS)
def test_the_white_space_between_sentences_stays(text: str, translator: Translator) -> None:
    assert Echo(translator, sentences=True).translate(text) == text.upper()


# argos-translate 237: a paragraph splitter loses blank lines.
def test_blank_lines_inside_a_paragraph_stay(translator: Translator) -> None:
    text = "Der hund\n\nDie katze.\n\n\n\nEin buch.\n"
    found = translator.translate([text], sentences=True, max_length=5)[0]
    assert found.parts == 3
    first, second, third = (
        each.text
        for each in translator.translate(["Der hund", "Die katze.", "Ein buch."], max_length=5)
    )
    assert found.text == f"{first}\n\n{second}\n\n\n\n{third}\n"


def test_a_long_segment_is_cut_between_sentences_and_only_then_before_words(
    translator: Translator,
) -> None:
    short, long = "Der hund schläft.", "Ein " + "hund " * 40 + "geht."
    echo = Echo(translator, limit=30)
    assert len(echo.plan(short).parts) == 1
    text = f"{short}  {long} {short}"
    plan = echo.plan(text)
    read = [echo.tokenizer.decode(part.ids) for part in plan.parts]
    assert (read[0], read[-1]) == (short, short)
    assert len(read) > 3
    assert all(0 < len(part.ids) < 30 for part in plan.parts)
    assert echo.translate(text) == text.upper()


def test_a_segment_that_fits_is_not_cut(translator: Translator) -> None:
    plan = Echo(translator).plan(PARAGRAPHS[0])
    assert len(plan.parts) == 1
    assert Echo(translator, sentences=True).plan(PARAGRAPHS[0]).parts != plan.parts


def test_sentences_that_are_too_long_follow_the_rule(translator: Translator) -> None:
    text = "Wir gehen. " + "Hund " * 40 + "geht. Wir gehen."
    for rule, count, shortened in (("split", None, False), ("cut", 3, True), ("blank", 2, True)):
        plan = Echo(translator, limit=30, sentences=True, too_long=rule).plan(text)
        assert count is None or len(plan.parts) == count
        assert plan.shortened == shortened


def test_sentences_that_touch_get_a_space_unless_the_script_has_none(
    translator: Translator,
) -> None:
    plan = Echo(translator, sentences=True).plan("他来了。她走了。")
    assert len(plan.parts) == 2

    def joined(*texts: str) -> str:
        return plan.join([Candidate(text, 0.0, (), (), False) for text in texts]).text

    assert joined("He came.", "She left.") == "He came. She left."
    assert joined("彼は来た。", "彼女は去った。") == "彼は来た。彼女は去った。"
    assert joined("", "She left.") == "She left."


def test_one_sentence_keeps_its_n_best_and_several_have_one(translator: Translator) -> None:
    one, two = translator.translate(
        [GERMAN[0], "Der hund. Die katze."], n_best=3, sentences=True, max_length=6
    )
    assert len(one.hypotheses) == 3
    assert (len(two.hypotheses), two.parts) == (1, 2)
    assert one.tokens == translator.translate([GERMAN[0]], n_best=3, max_length=6)[0].tokens


def test_every_line_gives_one_line_with_sentences_too(tmp_path: Path) -> None:
    model = tiny_folder(tmp_path / "model", learned=24)
    lines = ["Der hund. Die katze.", "", "a\u2028b. C\x0bd!", "x\ry. Z", "...", "Der hund. " * 20]
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
    arguments = ["--input", str(source), "--output", str(target), "--max-length", "5"]
    for options in ([], ["--sentences"]):
        assert main(["translate", str(model), *arguments, *options]) == 0
        assert len(list(read_lines(target))) == len(lines)
