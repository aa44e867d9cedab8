"""The text that is learned from: what is left out is counted anew in each reading."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.data import Filters, Pair, TrainingText
from dragoman.data.corpora import Files, JsonLines, Po
from dragoman.errors import ConfigError, DataError


def files(folder: Path, sources: str, targets: str) -> Files:
    (folder / "a").write_text(sources, encoding="utf-8")
    (folder / "b").write_text(targets, encoding="utf-8")
    return Files(source=folder / "a", target=folder / "b")


def test_blank_pairs_are_left_out_and_counted_each_time(tmp_path: Path) -> None:
    corpus = files(tmp_path, "eins\n \n\u3000\n.\n!\n", "one\ntwo\nthree\n\u200b\n?\n")
    text = TrainingText(corpus)
    for _ in range(2):
        kept = [pair.source for pair in text.pairs()]
        assert {"eins", "!"} <= {*kept}
        assert (text.lines, text.counts()["blank on a side"]) == (5, 5 - len(kept))
        assert len(kept) <= 3


def test_pairs_held_out_are_left_out_wherever_their_source_stands(tmp_path: Path) -> None:
    text = TrainingText(files(tmp_path, "a\nb\na\nc\n", "1\n2\n3\n4\n"))
    text.held_out = frozenset(["a"])
    assert [pair.target for pair in text.pairs()] == ["2", "4"]
    assert [pair.target for pair in text.all_pairs()] == ["1", "2", "3", "4"]


def test_filters_drop_and_mend_and_are_counted(tmp_path: Path) -> None:
    corpus = files(tmp_path, "a &amp; b\nab\nabcdef\n", "c &amp; d\nab\nghijkl\n")
    text = TrainingText(corpus, Filters(min_characters=3, mend=("entity",)))
    for _ in range(2):
        assert [pair.source for pair in text.pairs()] == ["a & b", "abcdef"]
        counts = text.counts()
        assert counts["filter min_characters"] == 1
        assert counts["mended entity"] == 1


def test_overlap_without_a_set_to_compare_with_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="overlap has nothing to compare with"):
        TrainingText(files(tmp_path, "a\n", "b\n"), Filters(drop=("overlap",)))


@pytest.mark.parametrize(("sources", "told"), [("\n \n", "blank on a side: 2"), ("", "no lines")])
def test_text_without_a_pair_is_an_error_that_says_why(
    sources: str, told: str, tmp_path: Path
) -> None:
    text = TrainingText(files(tmp_path, sources, "x\n" * sources.count("\n")))
    with pytest.raises(DataError, match=f"a and .*b: .*{told}; give a corpus"):
        list(text.pairs())


def test_half_a_surrogate_pair_in_json_lines_is_an_error_with_its_line(tmp_path: Path) -> None:
    row = '{"source": "a", "target": "b"}\n'
    path = tmp_path / "pairs.jsonl"
    path.write_text(row * 3 + '{"source": "a\\ud83d", "target": "b"}\n' + row, encoding="utf-8")
    with pytest.raises(DataError, match=r"pairs\.jsonl: line 4: .*half a surrogate pair"):
        list(TrainingText(JsonLines(file=path)).pairs())


class Odd(TrainingText):
    """A text with half a character, which no file gives."""

    def all_pairs(self) -> Iterator[Pair]:
        yield Pair(1, "eins", "one")
        yield Pair(2, "zwei", "two \ud800")


def test_half_a_surrogate_pair_is_located(tmp_path: Path) -> None:
    corpus = files(tmp_path, "eins\n", "one\n")
    found = Odd(corpus).locate()
    assert found is not None
    assert (found.line, found.problem) == (2, "character 4 is U+D800, half of a surrogate pair")
    assert TrainingText(corpus).locate() is None


PO = '#, fuzzy\nmsgid "one"\nmsgstr "eins"\n\nmsgid "two"\nmsgstr "zwei"\n'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_read_once_and_its_text_and_counts_come_again(tmp_path: Path) -> None:
    pipe = tmp_path / "text.po"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(PO,), kwargs={"encoding": "utf-8"})
    text = TrainingText(Po(file=pipe))
    assert not text.again
    writer.start()
    seen = [([*text.pairs()], text.lines, text.counts()) for _ in range(3)]
    writer.join()
    assert seen[0] == seen[1] == seen[2]
    assert [pair.source for pair in seen[0][0]] == ["two"]
    assert seen[0][2]["fuzzy"] == 1


def test_files_can_be_read_again_and_missing_ones_are_an_error(tmp_path: Path) -> None:
    corpus = files(tmp_path, "a\n", "b\n")
    assert TrainingText(corpus).again
    (tmp_path / "b").unlink()
    with pytest.raises(DataError, match="b: no such file"):
        list(TrainingText(corpus).pairs())
