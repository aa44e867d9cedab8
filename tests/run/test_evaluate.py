import sys
from pathlib import Path

import pytest

from dragoman.data import TsvFile
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError, MissingExtraError
from dragoman.run import evaluate, evaluate_alternatives
from dragoman.translator import Translator, one_line
from tests.fixtures import GERMAN, tiny_translator

SEARCH = BeamSearch(beam=1, max_length=6)


class Counting(Translator):
    """Remembers what it was asked to translate."""

    def translate(self, texts, **options):  # type: ignore[no-untyped-def]  # passes all on
        self.asked = list(texts)
        return super().translate(texts, **options)


@pytest.fixture(scope="module")
def translator() -> Counting:
    return Counting(tiny_translator().bundle)


def write(path: Path, rows: list[tuple[str, str]]) -> TsvFile:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows), encoding="utf-8")
    return TsvFile(file=path)


def said(translator: Translator, source: str) -> str:
    text = translator.translate([source], beam=1, max_length=6)[0].text
    return one_line(text, tabs=False)


def test_any_reference_of_a_source_is_right_and_each_source_is_translated_once(
    translator: Counting, tmp_path: Path
) -> None:
    one, two, three = GERMAN[:3]
    right = said(translator, one)
    words = len(right.split())
    corpus = write(
        tmp_path / "t.tsv",
        [(one, "x y z"), (two, "x"), (one, right), (three, "x"), (two, said(translator, two))],
    )
    found = evaluate_alternatives(translator, corpus, search=SEARCH)
    assert translator.asked == [one, two, three]  # first lines, in order
    assert len(found.hypotheses) == 3
    values, signatures = found.by_metric()
    assert values["exact"] == pytest.approx(100 * 2 / 3)  # the third has no right reference
    # Edits only in the third, over the tokens of the closest references.
    wrong = len(said(translator, three).split())
    total = words + len(said(translator, two).split()) + 1
    assert "x" not in said(translator, three).split()
    assert values["wer"] == pytest.approx(100 * max(wrong, 1) / total)
    assert "nrefs:var" in signatures["exact"]


def test_the_loss_is_that_of_every_line(translator: Counting, tmp_path: Path) -> None:
    rows = [(GERMAN[0], "the dog"), (GERMAN[0], "a"), (GERMAN[1], "the cat drinks .")]
    corpus = write(tmp_path / "t.tsv", rows)
    plain = evaluate(translator, corpus, metrics=["exact"], search=SEARCH)
    assert len(translator.asked) == 3
    found = evaluate_alternatives(translator, corpus, metrics=["wer"], search=SEARCH)
    assert found.loss_nats == pytest.approx(plain.loss_nats)
    assert (len(plain.hypotheses), len(found.hypotheses)) == (3, 2)
    assert found.summary()["sentences"] == 2


@pytest.mark.parametrize(
    ("metric", "message"),
    [("bleu", "choose from exact, wer"), ("exakt", "did you mean exact?")],
)
def test_metrics_that_know_one_reference_are_refused(
    metric: str, message: str, translator: Counting, tmp_path: Path
) -> None:
    corpus = write(tmp_path / "t.tsv", [("a", "b")])
    with pytest.raises(ConfigError) as caught:
        evaluate_alternatives(translator, corpus, metrics=[metric])
    assert message in str(caught.value)


def test_the_papers_bleu_stands_beside_sacrebleus_with_a_warning(
    translator: Counting, tmp_path: Path
) -> None:
    pytest.importorskip("sacremoses", reason="needs sacremoses: the extra moses")
    words = [said(translator, one) or "." for one in GERMAN[:2]]
    corpus = write(tmp_path / "t.tsv", list(zip(GERMAN[:2], words, strict=True)))
    found = evaluate(translator, corpus, metrics=("bleu", "paper-bleu-de"), search=SEARCH)
    _, signatures = found.by_metric()
    assert "tok:13a" in signatures["bleu"]
    assert "tok:moses-de" in signatures["paper-bleu-de"]
    (note,) = [line for line in found.lines() if line.startswith("note: ")]
    assert note.startswith("note: paper-bleu-de is BLEU of Moses tokens")
    assert "never with bleu" in note
    usual = evaluate(translator, corpus, metrics=("bleu",), search=SEARCH)
    assert not [line for line in usual.lines() if line.startswith("note: ")]


def test_the_library_of_the_papers_bleu_is_missed_before_anything_is_translated(
    translator: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    corpus = write(tmp_path / "t.tsv", [(GERMAN[0], "x")])
    translator.asked = []
    with pytest.raises(MissingExtraError, match="moses"):
        evaluate(translator, corpus, metrics=("bleu", "paper-bleu-fr"), search=SEARCH)
    assert translator.asked == []
    with pytest.raises(ConfigError, match="did you mean paper-bleu-de"):
        evaluate(translator, corpus, metrics=("paper-bleu-d",), search=SEARCH)
