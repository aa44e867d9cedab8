import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.data import Files, JsonLines, TsvFile
from dragoman.data.check import KINDS, SetReport, check, reading
from dragoman.data.sample import sample_corpus
from dragoman.errors import DataError
from dragoman.tokenization import TokenizerConfig, learn_tokenizer
from tests.data.check.planted import PLANTED, clean, planted, write

SHARED = Path(__file__).parents[4] / "shared"  # beside the repository


def checked(corpus: Files | TsvFile | JsonLines, **options: Any) -> SetReport:
    return check(corpus, **options).sets[0]


def lines_of(report: SetReport) -> dict[str, list[int]]:
    return {found.kind.name: found.lines.tolist() for found in report.findings}


def test_each_planted_fault_is_found_at_its_line_and_nothing_else(tmp_path: Path) -> None:
    found = lines_of(checked(write(tmp_path, planted())))
    expected = {kind: [line] for kind, (line, _, _) in PLANTED.items()}
    expected |= {"bad-bytes": [110], "duplicate": [115], "near-duplicate": [120]}
    # U+200B alone on a side is blank and of no width too; nothing but letters is left of a copy.
    expected["zero-width"] = [25, 40]
    # A copied source is in the language of the source.
    expected["wrong-language"] = [82, 95]
    assert found == expected


def test_a_sample_says_what_and_where(tmp_path: Path) -> None:
    report = checked(write(tmp_path, planted()))
    details = {f.kind.name: (f.samples[0].side, f.samples[0].detail) for f in report.findings}
    assert details["bad-bytes"] == ("source", "byte 0xfc at byte 5 of the line")
    assert details["byte-order-mark"] == ("source", "U+FEFF")
    assert details["carriage-return"] == ("target", "U+000D")
    assert details["entity"] == ("source", "&amp;")
    assert details["digits"] == ("", "35 against 53")
    assert details["duplicate"] == ("", "as line 10")
    assert details["one-sided"] == ("target", "the target is blank")
    assert details["wrong-script"][1].endswith("most of them Cyrillic")


def test_clean_text_has_no_fault(tmp_path: Path) -> None:
    report = checked(write(tmp_path, clean()))
    assert lines_of(report) == {}
    assert list(report.lines())[-1] == "  nothing found"


def test_the_embedded_corpus_has_nothing_wrong_and_no_slip(tmp_path: Path) -> None:
    corpus = sample_corpus(train=5000, validation=200, test=200)
    sets = [write(tmp_path / name, getattr(corpus, name)) for name in ("train", "test")]
    report = check(sets[0], test=sets[1])
    assert not report.wrong
    assert set().union(*map(lines_of, report.sets)) <= {"near-duplicate"}


def test_unequal_sides_give_both_counts_and_where_the_slip_seems_to_begin(tmp_path: Path) -> None:
    texts = clean()
    targets = [target for _, target in texts]
    del targets[299]
    files = write(tmp_path, texts)
    files.target.write_text("\n".join(targets) + "\n", encoding="utf-8")
    report = checked(files)
    found = report.find("unequal-sides")
    assert found is not None
    assert found.severity(report.pairs) == "wrong"
    assert found.samples[0].detail.startswith("source 600 lines, target 599; ")
    assert 295 <= found.lines[0] <= 310


def test_lines_missing_at_the_end_are_no_slip(tmp_path: Path) -> None:
    files = write(tmp_path, clean())
    files.target.write_bytes(b"".join(files.target.read_bytes().splitlines(True)[:590]))
    found = checked(files).find("unequal-sides")
    assert found is not None
    assert found.lines.tolist() == [591]
    assert "at the end" in found.samples[0].detail


@pytest.mark.parametrize("shift", [-2, -1, 1, 3])
def test_a_run_that_slipped_and_recovered_is_found(shift: int, tmp_path: Path) -> None:
    texts = clean()
    targets = [target for _, target in texts]
    targets[200:300] = np.roll(np.asarray(targets[200:300], object), shift).tolist()
    pairs = [(source, target) for (source, _), target in zip(texts, targets, strict=True)]
    report = checked(write(tmp_path, pairs))
    found = report.find("misaligned")
    assert found is not None
    assert found.severity(report.pairs) == "wrong"
    assert 195 <= found.lines[0] <= 215
    assert 285 <= found.lines[-1] <= 305
    where = "further down" if shift > 0 else "further up"
    assert found.samples[0].detail.endswith(where)
    assert found.samples[0].source == texts[found.lines[0] - 1][0]


def test_rows_without_two_columns_are_counted_and_reading_goes_on(tmp_path: Path) -> None:
    rows = [f"{source}\t{target}" for source, target in clean(300)]
    rows[9], rows[19] = "nur eine spalte", "a\tb\tc"
    file = tmp_path / "a.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    report = checked(TsvFile(file=file))
    assert report.pairs == 298
    assert lines_of(report) == {"columns": [10, 20]}


def test_a_leading_mark_and_crlf_are_remarks_and_no_faults(tmp_path: Path) -> None:
    files = write(tmp_path, clean())
    marked = b"\xef\xbb\xbf" + files.source.read_bytes().replace(b"\n", b"\r\n")
    files.source.write_bytes(marked)
    report = checked(files)
    assert report.findings == ()
    assert report.notes == (
        "source: begins with a byte-order mark, which is dropped",
        "source: 600 lines end in CRLF, which is no part of them",
    )


def test_what_sets_share_is_found_on_both_sides_of_the_split(tmp_path: Path) -> None:
    texts = clean()
    train = write(tmp_path / "train", texts[:500])
    held_out = [*texts[500:550], texts[7], (texts[8][0], "an other translation of that")]
    report = check(train, test=write(tmp_path / "test", held_out))
    assert lines_of(report.sets[0])["overlap"] == [8, 9]
    assert lines_of(report.sets[1])["overlap"] == [51, 52]
    found = report.sets[1].find("overlap")
    assert found is not None
    assert found.samples[0].detail == "source as in train line 8"


def test_validation_and_test_are_compared_too(tmp_path: Path) -> None:
    texts = clean()
    train = write(tmp_path / "train", texts[:400])
    validation = write(tmp_path / "validation", texts[400:500])
    test = write(tmp_path / "test", [*texts[500:560], texts[450]])
    report = check(train, validation=validation, test=test)
    assert [lines_of(found).get("overlap") for found in report.sets] == [None, [51], [61]]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bad-bytes", b"%b\xff"),
        ("replacement", "%b \ufffd".encode()),
        ("control", b"%b\x08"),
        ("zero-width", "%b\u200b!".encode()),
        ("byte-order-mark", "%b\ufeff".encode()),
        ("bidi", "%b\u202e".encode()),
        ("line-separator", "%b\u2028!".encode()),
        ("carriage-return", b"%b\rx"),
        ("tab", b"%b\tx"),
        ("entity", b"%b &amp; x"),
        ("wrong-script", b"%b " + "собака громко спит ".encode() * 9),
        ("length", b"%b" + b" more" * 300),
    ],
)
def test_a_fault_on_both_sides_is_one_pair_and_lines_rise(
    kind: str, text: bytes, tmp_path: Path
) -> None:
    texts: list[list[str | bytes]] = [[*pair] for pair in clean(100)]
    for line, sides in ((5, (1,)), (10, (0, 1)), (15, (0,))):
        for side in sides:
            texts[line - 1][side] = text % str(texts[line - 1][side]).encode()
    found = checked(write(tmp_path, [(one, other) for one, other in texts])).find(kind)
    assert found is not None
    assert (found.pairs, found.lines.tolist()) == (3, [5, 10, 15])
    assert [sample.side for sample in found.samples] == ["target", "source", "source"]


def test_a_share_above_the_limit_is_wrong_and_a_few_are_not(tmp_path: Path) -> None:
    texts = clean()
    few = [(s, s if at < 60 else t) for at, (s, t) in enumerate(texts)]
    many = [(s, s if at < 150 else t) for at, (s, t) in enumerate(texts)]
    assert not check(write(tmp_path / "few", few)).wrong
    found = check(write(tmp_path / "many", many))
    assert [wrong.kind.name for wrong in found.sets[0].wrong] == ["copied-source"]


def test_a_blank_or_empty_corpus_is_wrong(tmp_path: Path) -> None:
    for texts in ([], [("", " ")] * 3):
        report = check(write(tmp_path, texts))
        assert "no-pairs" in lines_of(report.sets[0])
        assert report.wrong


def test_damaged_gzip_keeps_what_was_found_before(tmp_path: Path) -> None:
    files = write(tmp_path, clean())
    packed = gzip.compress(files.source.read_bytes())
    source = tmp_path / "a.de.gz"
    source.write_bytes(packed[: len(packed) // 2])
    found = checked(Files(source=source, target=files.target))
    assert "unreadable" in lines_of(found)
    assert "unequal-sides" not in lines_of(found)
    assert found.pairs > 0


@pytest.mark.parametrize("lines", [b"", b"der hund\tthe dog\n"], ids=["first", "second"])
def test_a_line_without_end_is_refused_however_small_its_file(
    lines: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LONGEST_LINE", 1000)
    file = tmp_path / "a.tsv.gz"
    file.write_bytes(gzip.compress(lines + b"a" * 100_000))
    problem = rf"a\.tsv\.gz: line {lines.count(10) + 1}: line longer than"
    if not lines:
        with pytest.raises(DataError, match=problem):
            check(TsvFile(file=file))
        return
    found = checked(TsvFile(file=file)).find("unreadable")
    assert found is not None
    assert re.search(problem, found.samples[0].detail)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        check(Files(source=tmp_path / "x", target=tmp_path / "y"))


def test_joiners_inside_words_are_left_alone(tmp_path: Path) -> None:
    texts = [(f"می\u200cخواهم {at}", f"i want {at}") for at in range(13, 200)]
    texts[30] = "می\u200c خواهم 43", "i want 43"  # at the end of a word it joins nothing
    assert lines_of(checked(write(tmp_path, texts))).get("zero-width") == [31]


def test_a_copy_with_a_zero_width_space_is_a_duplicate(tmp_path: Path) -> None:
    # Field report 4.
    texts = [*clean(100), ("ab", "x"), ("a\u200bb", "x")]
    assert lines_of(checked(write(tmp_path, texts)))["duplicate"] == [102]


def test_every_kind_that_a_line_can_have_is_planted() -> None:
    elsewhere = {"bad-bytes", "duplicate", "near-duplicate"}  # planted beside the others
    of_files = {"no-pairs", "unreadable", "unequal-sides", "misaligned", "columns"}
    of_sets = {"overlap", "uncovered"}  # these have tests of their own
    assert set(KINDS) == set(PLANTED) | elsewhere | of_files | of_sets


def test_characters_without_pieces_are_found_at_their_line(tmp_path: Path) -> None:
    pairs = clean(100)
    lines = [text for pair in pairs for text in pair]
    tokenizer = learn_tokenizer(lines, TokenizerConfig(size=400))
    pairs[41] = ("der hund ☃ schläft", pairs[41][1])
    report = checked(write(tmp_path, pairs), tokenizers=[tokenizer])
    assert lines_of(report) == {"uncovered": [42]}


def test_every_kind_says_what_it_means() -> None:
    assert all(kind.meaning and name == kind.name for name, kind in KINDS.items())


mafand = SHARED / "data/mafand/en-swa"
tico, captions = SHARED / "data/tico19", SHARED / "data/3am"


def shared(stem: Path, source: str, target: str) -> Files:
    files = Files(
        source=stem.with_name(f"{stem.name}.{source}.gz"),
        target=stem.with_name(f"{stem.name}.{target}.gz"),
    )
    if not files.source.is_file():
        pytest.skip(f"{files.source.name}: the shared data are absent")
    return files


def _unpacked(path: Path) -> list[bytes]:
    return gzip.decompress(path.read_bytes()).split(b"\n")


def test_the_faults_of_mafand_are_those_its_notes_list() -> None:
    report = check(
        shared(mafand / "train", "en", "swa"),
        validation=shared(mafand / "dev", "en", "swa"),
        test=shared(mafand / "test", "en", "swa"),
    )
    train = report.sets[0]
    counts = {found.kind.name: found.pairs for found in train.findings}
    assert counts["duplicate"] == 445
    assert counts["byte-order-mark"] == 6
    # 470 pairs are equal on both sides; the rest of them hold no letter.
    sides = [_unpacked(mafand / f"train.{side}.gz") for side in ("en", "swa")]
    equal = [a.decode() for a, b in zip(*sides, strict=True) if a == b][:-1]  # after the last LF
    assert len(equal) == 470
    assert counts["copied-source"] == sum(any(map(str.isalpha, text)) for text in equal)
    overlap = report.sets[2].find("overlap")
    assert overlap is not None
    assert overlap.pairs >= 5
    assert not report.wrong


def _marks(stem: Path, sides: tuple[str, str], mark: str) -> tuple[int, int]:
    """Count a character, and the pairs that hold it, with nothing of the check."""
    texts = [_unpacked(stem.with_name(f"{stem.name}.{side}.gz")) for side in sides]
    counts = [sum(t.decode().count(mark) for t in pair) for pair in zip(*texts, strict=True)]
    return sum(counts), sum(map(bool, counts))


def test_the_marks_of_mafand_are_those_its_notes_list() -> None:
    shared(mafand / "train", "en", "swa")
    assert _marks(mafand / "train", ("en", "swa"), "\ufeff") == (9, 6)


def present(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"{path.name}: the shared data are absent")
    return path


def test_the_long_line_of_wolof_is_found() -> None:
    file = present(SHARED / "data/mafand/fr-wol/train.jsonl.gz")
    rows = [json.loads(row)["translation"] for row in _unpacked(file)[:-1]]
    long = [n for n, row in enumerate(rows, 1) if max(len(row["fr"]), len(row["wol"])) == 4023]
    assert len(long) == 1
    columns = ("translation.fr", "translation.wol")
    found = checked(JsonLines(file=file, columns=columns)).find("length")
    assert found is not None
    assert long[0] in found.lines


def test_the_duplicates_and_odd_ratios_of_hausa_are_found() -> None:
    file = present(SHARED / "data/mafand/en-hau/train.tsv.gz")
    report = checked(TsvFile(file=file, columns=("en", "hau")))
    counts = {found.kind.name: found.pairs for found in report.findings}
    assert report.pairs == 5865
    assert counts["duplicate"] == 94
    # Its notes count 91 odd ratios and do not say by what rule. Beyond doubt are those of more than
    # one to four, once the longer side has 80 characters. The header is line 1 of the file.
    rows = [row.decode().split("\t") for row in _unpacked(file)[1:-1]]
    lengths = [sorted(map(len, row)) for row in rows]
    doubtless = {n for n, (low, high) in enumerate(lengths, 2) if high > 4 * low and high >= 80}
    found = report.find("length-ratio")
    assert found is not None
    assert len(doubtless) <= found.pairs <= 91
    assert doubtless <= set(found.lines)


def test_the_odd_ratios_of_tico_are_found_and_the_other_languages_have_few() -> None:
    french = checked(shared(tico / "en-fr", "en", "fr")).find("length-ratio")
    chinese = checked(shared(tico / "en-zh", "en", "zh")).find("length-ratio")
    assert french is not None
    assert french.pairs >= 43
    assert chinese is None


def test_the_duplicates_and_overlaps_of_3am_are_those_its_notes_list() -> None:
    sets = [shared(captions / name, "en", "zh") for name in ("train", "val", "test")]
    report = check(sets[0], validation=sets[1], test=sets[2])
    train, _, test = report.sets
    for found, pairs in ((train, 9), (test, 3)):
        duplicates = found.find("duplicate")
        assert duplicates is not None
        assert duplicates.pairs == pairs
    overlap = test.find("overlap")
    assert overlap is not None
    assert overlap.pairs >= 99
    assert [wrong.kind.name for wrong in test.wrong] == ["overlap"]  # 103 of 1,000


def test_multi30k_has_nothing_wrong() -> None:
    folder = SHARED / "data/multi30k"
    report = check(shared(folder / "val", "de", "en"))
    assert not report.wrong
    assert report.sets[0].find("misaligned") is None
