"""Lines stay whole unless they are long, by our rule and by the model that stands for it."""

import random
from pathlib import Path

import pytest

from dragoman.interop.argos.line_cutter import LONG, cut_line, line_cutter

PARTS = [
    "Am 3. Mai kam J. Smith. Er sagte: „Hallo!“ Dann ging er (leise.) Und die USA. Aber",
    "今日は。明日は！「はい。」と",
    "What?! No... yes. see z.B. Das  Ende.  Neu \t x",
    "مرحبا. كيف؟ نعم! لا",
]


@pytest.mark.parametrize("line", ["Ja. Nein. Doch! Gut.", "今日は。明日は。", "a. B" * 100])
def test_a_line_that_is_not_long_stays_whole(line: str) -> None:
    assert cut_line(f"  {line} ") == [line]


@pytest.mark.parametrize("line", ["", " \t "])
def test_nothing_comes_of_a_blank_line(line: str) -> None:
    assert cut_line(line) == []


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Er geht. Sie kommt! Wer? Ich", ["Er geht.", "Sie kommt!", "Wer?", "Ich"]),
        ("Am 3. Mai kam J. Smith. Gut.", ["Am 3. Mai kam J. Smith.", "Gut."]),
        ("Er sagte: „Nein!“ Dann (leise.) Ja.", ["Er sagte: „Nein!“", "Dann (leise.)", "Ja."]),
        ("das ist z. b. so. Und", ["das ist z. b. so.", "Und"]),
        ("今日は。明日は！「はい。」と。", ["今日は。", "明日は！", "「はい。」", "と。"]),
        ("No... Wait?! OK", ["No...", "Wait?!", "OK"]),
    ],
)
def test_a_long_line_is_cut_behind_sentences(text: str, sentences: list[str]) -> None:
    tail = "x" * LONG  # by hand: no rule cuts inside of it
    assert cut_line(f"{text} {tail}")[: len(sentences) - 1] == sentences[:-1]


def test_every_character_but_white_space_stays() -> None:
    rng = random.Random(3)
    for _ in range(50):
        line = " ".join(rng.choices(PARTS, k=rng.randint(1, 60)))
        assert "".join("".join(cut_line(line)).split()) == "".join(line.split())


def test_minisbd_cuts_by_the_model_as_we_do(tmp_path: Path) -> None:
    library = pytest.importorskip("minisbd", reason="needs minisbd, which make test installs")
    (tmp_path / "lines.onnx").write_bytes(line_cutter())
    model = library.SBDetect(str(tmp_path / "lines.onnx"), use_gpu=False)
    rng = random.Random(1)
    lengths = [1, 20, LONG - 2, LONG - 1, LONG, LONG + 1, 700, 999, 1000, 1001, 1500, 2500]
    for length in lengths * 10:
        line = ""
        while len(line) < length:
            line += rng.choice(PARTS)[: rng.randint(1, 80)] + rng.choice([" ", "", " ", "  "])
        assert model.sentences(line[:length]) == cut_line(line[:length])
