from pathlib import Path

import pytest

from dragoman.data.check import check, fix
from dragoman.data.corpus import Files, read_aligned
from dragoman.errors import DataError
from tests.data.check.planted import PLANTED, clean, planted, write


def test_the_copy_is_parallel_and_untouched_lines_are_the_same_bytes(tmp_path: Path) -> None:
    texts = planted()
    corpus = write(tmp_path / "in", texts)
    done = fix(corpus, check(corpus).sets[0], tmp_path / "out")
    source = (tmp_path / "out/source.txt").read_bytes().split(b"\n")[:-1]
    target = (tmp_path / "out/target.txt").read_bytes().split(b"\n")[:-1]
    log = [row.split("\t") for row in (tmp_path / "out/log.tsv").read_text().splitlines()]
    dropped = {int(line) for line, what, _ in log if what == "dropped"}
    changed = {int(line) for line, what, _ in log if what == "changed"}
    assert (done.dropped, done.changed) == (len(dropped), len(changed))
    assert done.kept == len(source) == len(target) == 600 - len(dropped)
    before = (corpus.source.read_bytes().split(b"\n"), corpus.target.read_bytes().split(b"\n"))
    kept = [line for line in range(1, 601) if line not in dropped]
    for place, line in enumerate(kept):
        same = (before[0][line - 1], before[1][line - 1]) == (source[place], target[place])
        assert same == (line not in changed), line


def test_the_log_names_line_and_rule(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", planted())
    fix(corpus, check(corpus).sets[0], tmp_path / "out")
    log = (tmp_path / "out/log.tsv").read_text().splitlines()
    assert f"{PLANTED['blank'][0]}\tdropped\tblank" in log
    assert f"{PLANTED['entity'][0]}\tchanged\tentity" in log
    assert "110\tdropped\tbad-bytes" in log
    assert "115\tdropped\tduplicate" in log
    assert not any(row.startswith("120\t") for row in log)  # a near-duplicate stays


def test_what_was_fixed_is_found_no_more(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", planted())
    fix(corpus, check(corpus).sets[0], tmp_path / "out")
    again = Files(source=tmp_path / "out/source.txt", target=tmp_path / "out/target.txt")
    kinds = {found.kind.name for found in check(again).sets[0].findings}
    assert kinds == {"length", "digits", "addresses", "near-duplicate"}  # kept on purpose
    texts = {pair.source for pair in read_aligned(again)}
    assert "der hund & die katze" in texts
    assert "der hund schläft lange" in texts
    assert "der hund schläft laut" in texts


def test_unequal_sides_are_not_cleaned_and_nothing_is_written(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", clean(50))
    corpus.target.write_bytes(b"".join(corpus.target.read_bytes().splitlines(True)[:49]))
    report = check(corpus).sets[0]
    with pytest.raises(DataError, match="cannot be cleaned: the files differ"):
        fix(corpus, report, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", clean(50))
    with pytest.raises(DataError, match="exists already; choose a new folder"):
        fix(corpus, check(corpus).sets[0], tmp_path / "in")


def test_a_pair_that_was_all_entities_is_dropped(tmp_path: Path) -> None:
    corpus = write(tmp_path / "in", [*clean(50), ("&nbsp;", "nothing at all")])
    done = fix(corpus, check(corpus).sets[0], tmp_path / "out")
    assert done.kept == 50
    assert (tmp_path / "out/log.tsv").read_text().startswith("51\tdropped\tentity")
