"""Every format as a corpus, as a recipe would name it."""

import gzip
import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dragoman.data import (
    Corpus,
    CsvFile,
    Dataset,
    Files,
    JsonLines,
    Pair,
    Parquet,
    Po,
    QtTs,
    Text,
    Tmx,
    TsvFile,
    Xliff,
    corpus_name,
    corpus_of_file,
    matching_files,
    open_corpus,
    read_pairs,
    read_text,
)
from dragoman.errors import ConfigError, DataError
from tests.data.formats.real_files import FOLDER, real_files

TMX = (
    '<tmx version="1.4"><header srclang="en"/><body>'
    '<tu><tuv xml:lang="en"><seg>a<ph x="1"/></seg></tuv>'
    '<tuv xml:lang="de"><seg>x\n\ty</seg></tuv><tuv xml:lang="fr"><seg>f</seg></tuv></tu>'
    '<tu><tuv xml:lang="en"><seg>b</seg></tuv></tu></body></tmx>'
)
XLIFF = (
    '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body>'
    '<trans-unit id="1"><source>a<x id="1"/></source><target>x</target></trans-unit>'
    '<trans-unit id="2"><source>b</source><target state="new">b</target></trans-unit>'
    "</body></file></xliff>"
)
QT = (
    "<TS><context><name>c</name><message><source>a</source><translation>x</translation></message>"
    "<message><source>b</source><translation type='unfinished'>y</translation></message>"
    "</context></TS>"
)
PO = 'msgid "a"\nmsgstr "x"\n\n#, fuzzy\nmsgid "b"\nmsgstr "y"\n'


def write(path: Path, content: str | bytes) -> Path:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    return path


def pairs_of(corpus: Corpus) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in open_corpus(corpus)]


# The columns that a user would name, and the rows then read, by eye.
CHOSEN: dict[str, tuple[tuple[int | str, int | str], int]] = {
    "csv/weblate.fr-multi.csv": (("source", "target"), 5),
    "jsonl/mafand.en-yor.jsonl": (("translation.en", "translation.yor"), 200),
    "tsv/mafand.en-hau-header.tsv": (("en", "ha"), 199),
    "tsv/omegat.glossary-utf16le.txt": ((0, 1), 2),
    "tsv/tatoeba.cmn-3col-bom.txt": ((0, 1), 300),
}
TABLES = [*real_files("csv"), *real_files("jsonl"), *real_files("tsv")]
UNITS = [entry for kind in ("mo", "po", "ts", "xliff") for entry in real_files(kind)]


@pytest.mark.parametrize("entry", TABLES, ids=lambda entry: entry["file"])
def test_real_tables_give_the_rows_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    path = FOLDER / entry["file"]
    columns, rows = CHOSEN.get(entry["file"], ((), entry.get("rows")))
    header = entry["file"].endswith("header.tsv")
    if header:
        columns = tuple(path.read_text("utf-8").split("\n")[0].split("\t"))
    assert sum(1 for _ in open_corpus(corpus_of_file(path, columns))) == rows


@pytest.mark.parametrize("entry", UNITS, ids=lambda entry: entry["file"])
def test_real_documents_give_the_units_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    left_out = Counter[str]()
    corpus = corpus_of_file(FOLDER / entry["file"])
    if "reader_error" in entry:
        with pytest.raises(DataError, match=r": line \d+: "):
            list(open_corpus(corpus))
        return
    numbers = {pair.number for pair in open_corpus(corpus, left_out)}
    counted = entry.get("entries", entry.get("message", entry.get("unit")))
    # The manifest's entries of a catalogue are without the obsolete ones, other units are all.
    passed = left_out.total() - (left_out["obsolete"] if "entries" in entry else 0)
    assert len(numbers) + passed == counted


@pytest.mark.parametrize("entry", real_files("tmx"), ids=lambda entry: entry["file"])
def test_real_memories_give_the_units_that_the_manifest_counts(entry: dict[str, Any]) -> None:
    path, left_out = FOLDER / entry["file"], Counter[str]()
    languages = sorted({name.lower() for name in entry["tuv_by_language"]})
    chosen = Tmx(file=path)
    if len(languages) > 1:
        chosen = corpus_of_file(path, languages[:2])
    numbers = {pair.number for pair in open_corpus(chosen, left_out)}
    assert len(numbers) + left_out.total() == entry["tu"]


@pytest.mark.parametrize(
    ("corpus", "content", "expected"),
    [
        (TsvFile(file=Path("a.tsv.gz")), "a\tx\nb\ty\n", [("a", "x"), ("b", "y")]),
        (TsvFile(file=Path("a.tsv"), columns=("de", "en")), "en\tde\na\tx\n", [("x", "a")]),
        (TsvFile(file=Path("a.tsv"), header=True), "en\tde\na\tx\n", [("a", "x")]),
        (TsvFile(file=Path("a.tsv"), delimiter=" ||| "), "a ||| x\n", [("a", "x")]),
        (CsvFile(file=Path("a.csv")), '"a, ""b"",\nc",x\r\n', [('a, "b",\nc', "x")]),
        (CsvFile(file=Path("a.csv"), encoding="cp1252"), b"\x80,\xe9\n", [("€", "é")]),
        (
            JsonLines(file=Path("a.jsonl.gz"), columns=("t.en", "t.de")),
            '{"t": {"en": "a\\u2028\\nb", "de": "x"}}\n\n',
            [("a\u2028\nb", "x")],
        ),
        (
            Tmx(file=Path("a.tmx"), source_language="en", target_language="de"),
            TMX,
            [('a<ph x="1"/>', "x\n\ty")],
        ),
        (
            Tmx(file=Path("a.tmx"), source_language="fr", target_language="en", markup="drop"),
            TMX,
            [("f", "a")],
        ),
        (Po(file=Path("a.po")), PO, [("a", "x")]),
        (Po(file=Path("a.po.gz"), fuzzy=True), PO, [("a", "x"), ("b", "y")]),
        (Xliff(file=Path("a.xlf")), XLIFF, [('a<x id="1"/>', "x")]),
        (
            Xliff(file=Path("a.xlf"), markup="drop", unfinished=True),
            XLIFF,
            [("a", "x"), ("b", "b")],
        ),
        (QtTs(file=Path("a.ts")), QT, [("a", "x")]),
        (QtTs(file=Path("a.ts"), unfinished=True), QT, [("a", "x"), ("b", "y")]),
    ],
)
def test_each_record_reads_its_format(
    corpus: Any, content: str | bytes, expected: list[tuple[str, str]], tmp_path: Path
) -> None:
    path = write(tmp_path / corpus.file, content)
    settings = {name: getattr(corpus, name) for name in corpus.__dataclass_fields__}
    assert pairs_of(type(corpus)(**{**settings, "file": path})) == expected


def test_a_parquet_file_and_a_data_set_are_read_by_their_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet  # pyright: ignore  # optional

    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows: Any = parquet  # it has no types
    rows.write_table(pyarrow.table({"en": ["a", None], "de": ["x", "y"]}), tmp_path / "a.parquet")
    corpus = Parquet(file=tmp_path / "a.parquet", columns=("en", "de"))
    assert pairs_of(corpus) == [("a", "x"), ("", "y")]
    write_set(tmp_path / "set")
    named = Dataset(dataset=str(tmp_path / "set"), columns=("translation.de", "translation.en"))
    assert list(open_corpus(named)) == [Pair(1, "x", "a"), Pair(2, "y", "b")]
    assert read_pairs(named).sha256 == {}
    assert corpus_name(named) == str(tmp_path / "set")


def write_set(folder: Path) -> Path:
    """Write a data set that stands in for one on the hub."""
    folder.mkdir()
    rows = [{"translation": {"en": "a", "de": "x"}}, {"translation": {"en": "b", "de": "y"}}]
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def test_what_a_format_leaves_out_is_counted_and_told(tmp_path: Path) -> None:
    report = read_pairs(Po(file=write(tmp_path / "a.po", PO)))
    assert report.left_out == {"fuzzy": 1}
    nothing = write(tmp_path / "b.po", '#, fuzzy\nmsgid "b"\nmsgstr "y"\n\nmsgid "c"\nmsgstr ""\n')
    with pytest.raises(DataError, match=r"b\.po: no pair has text on both sides; blank: 1, fuzzy"):
        read_pairs(Po(file=nothing))


def test_both_files_may_be_in_another_encoding_and_packed(tmp_path: Path) -> None:
    source = write(tmp_path / "a.de.gz", "é\r\nb".encode("cp1252"))
    target = write(tmp_path / "a.en", "x\ny\n")
    corpus = Files(source=source, target=target, encoding="cp1252")
    assert pairs_of(corpus) == [("é", "x"), ("b", "y")]
    marked = Files(
        source=write(tmp_path / "a.fr", "\ufeffé\nb\n".encode("utf-16-le")), target=target
    )
    assert pairs_of(marked) == [("é", "x"), ("b", "y")]
    text = write(tmp_path / "plain.txt", "né\n".encode("cp1252"))
    assert read_text(Text(text=text, encoding="cp1252")).documents == ("né",)


def test_an_unclear_language_of_a_memory_is_asked_for_by_its_key(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"fr\); choose one, such as target_language"):
        list(open_corpus(Tmx(file=write(tmp_path / "a.tmx", TMX))))


# Patterns.


def shards(folder: Path) -> Files:
    for name, lines in (("2", "b\nc\n"), ("10", "d\n"), ("1", "a\n")):
        write(folder / f"part-{name}.de.gz", lines)
        write(folder / f"part-{name}.en", lines.upper())
    return Files(source=folder / "part-*.de.gz", target=folder / "part-*.en")


def test_the_files_of_a_pattern_are_one_corpus_in_natural_order(tmp_path: Path) -> None:
    corpus = shards(tmp_path)
    expected = [Pair(1, "a", "A"), Pair(2, "b", "B"), Pair(3, "c", "C"), Pair(4, "d", "D")]
    assert list(open_corpus(corpus)) == expected
    assert len(read_pairs(corpus).sha256) == 6
    for name, row in (("9", "c\tz\n"), ("08", "a\tx\nb\ty\n")):
        write(tmp_path / f"{name}.tsv", row)
    rows = open_corpus(TsvFile(file=tmp_path / "[0-9]*.tsv"))
    assert list(rows) == [Pair(1, "a", "x"), Pair(2, "b", "y"), Pair(3, "c", "z")]


def test_a_fault_names_the_file_of_the_pattern_and_its_line(tmp_path: Path) -> None:
    corpus = shards(tmp_path)
    write(tmp_path / "part-2.en", "B\n")
    with pytest.raises(DataError, match=r"part-2\.de\.gz: 2 lines, but .*part-2\.en has 1"):
        list(open_corpus(corpus))
    write(tmp_path / "part-2.en", b"B\n\xff\n")
    with pytest.raises(DataError, match=r"part-2\.en: line 2: not UTF-8 \(byte 0xff"):
        list(open_corpus(corpus))


def test_each_side_of_a_pattern_needs_as_many_files(tmp_path: Path) -> None:
    corpus = shards(tmp_path)
    (tmp_path / "part-2.en").unlink()
    with pytest.raises(DataError, match=r"part-\*\.de\.gz: 3 files, but .*part-\*\.en has 2"):
        list(open_corpus(corpus))


def test_a_pattern_that_matches_nothing_is_an_error_and_hidden_files_do_not_match(
    tmp_path: Path,
) -> None:
    write(tmp_path / ".part.tsv", "")
    write(tmp_path / "parts-1.tsv", "")
    with pytest.raises(DataError, match=r"part-\*\.tsv: no file matches; did you mean parts-1"):
        list(open_corpus(TsvFile(file=tmp_path / "part-*.tsv")))
    assert matching_files(tmp_path / "*.tsv") == [tmp_path / "parts-1.tsv"]


def test_a_file_that_has_the_name_of_a_pattern_wins(tmp_path: Path) -> None:
    write(tmp_path / "a.tsv", "a\tx\n")
    odd = write(tmp_path / "[a].tsv", "b\ty\n")
    assert pairs_of(TsvFile(file=odd)) == [("b", "y")]


# Mistakes.


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Files(source=Path("a"), target=Path("b"), source_language="German?"),
         "source_language: 'German?' is no tag of a language"),
        (lambda: Files(source=Path("a"), target=Path("b"), encoding="utf-9"),
         "encoding: 'utf-9' is no encoding of text"),
        (lambda: Tmx(file=Path("a"), target_language="pt_BR"), "target_language: 'pt_BR' is no"),
        (lambda: TsvFile(file=Path("a"), delimiter=""), "delimiter: '' cannot part fields"),
        (lambda: CsvFile(file=Path("a"), columns=(-1, 0)), "columns: a number is below 0"),
        (lambda: corpus_of_file(Path("a.csv"), ["en"]), "columns: 1 columns are not a source"),
        (lambda: corpus_of_file(Path("a.po"), ["en", "de"]), "columns: a.po is po, which has none"),
        (lambda: corpus_of_file(Path("a.tmx"), encoding="cp1252"), "encoding: a.tmx is tmx, which"),
    ],
)  # fmt: skip
def test_choices_that_make_no_sense_are_located(made: Any, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        made()
    assert str(error.value).startswith(message)


def test_a_name_says_what_a_file_holds_and_columns_are_numbers_where_they_can_be() -> None:
    assert corpus_of_file(Path("a.txt"), ["0", "de"]) == TsvFile(
        file=Path("a.txt"), columns=(0, "de")
    )
    memory = Tmx(file=Path("a.TMX.xz"), source_language="en", target_language="de")
    assert corpus_of_file(Path("a.TMX.xz"), ["en", "de"]) == memory
    assert corpus_of_file(Path("a.mo")).kind == "mo"


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\x1e", "\r"])
def test_signs_that_other_programs_take_for_line_ends_are_text_in_every_format(
    sign: str, tmp_path: Path
) -> None:
    text = f"a{sign}b"
    rows = f"{text}\tx\nc\ty\n".encode()
    assert pairs_of(TsvFile(file=write(tmp_path / "a.tsv", rows)))[0] == (text, "x")
    assert pairs_of(CsvFile(file=write(tmp_path / "a.csv", rows.replace(b"\t", b","))))[0] == (
        text,
        "x",
    )
    value = json.dumps({"source": text, "target": "x"}, ensure_ascii=False).encode()
    assert pairs_of(JsonLines(file=write(tmp_path / "a.jsonl", value))) == [(text, "x")]
    files = Files(
        source=write(tmp_path / "a", f"{text}\nc\n"), target=write(tmp_path / "b", "x\ny")
    )
    assert pairs_of(files) == [(text, "x"), ("c", "y")]
    if sign != "\r":
        catalogue = f'msgid "{text}"\nmsgstr "x"\n'
        assert pairs_of(Po(file=write(tmp_path / "a.po", catalogue))) == [(text, "x")]


def test_entities_stay_as_a_table_has_them_and_are_read_once_from_xml(tmp_path: Path) -> None:
    typed = "it&apos;s &amp;amp; 5 &lt; 6"
    assert pairs_of(TsvFile(file=write(tmp_path / "a.tsv", f"{typed}\tx\n"))) == [(typed, "x")]
    xml = QT.replace("<source>a<", f"<source>{typed}<")
    assert pairs_of(QtTs(file=write(tmp_path / "a.ts", xml))) == [("it's &amp; 5 < 6", "x")]


def test_a_damaged_compiled_catalogue_is_located(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mo", struct.pack("<I", 0x950412DE) + bytes(3))
    with pytest.raises(DataError, match=r"a\.mo: not a compiled catalogue"):
        list(open_corpus(corpus_of_file(path)))
