"""``dragoman check`` on every format."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.main import main
from tests.data.formats.real_files import FOLDER, real_files
from tests.data.test_corpora import PO, TMX, write

NAMES = ("a.tsv", "a.csv", "a.jsonl", "a.po", "a.tmx", "a.xlf", "a.ts")

KINDS = ("csv", "jsonl", "mo", "po", "srt", "tbx", "tmx", "ts", "tsv", "xliff")
REAL = [entry for kind in KINDS for entry in real_files(kind)]


@pytest.mark.parametrize("entry", REAL, ids=lambda entry: entry["file"])
def test_every_real_file_is_reported_on_or_refused(
    entry: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["check", str(FOLDER / entry["file"]), "--json"])
    out, err = capsys.readouterr()
    assert status in (0, 2)
    if out:
        assert bool(status) == json.loads(out)["wrong"]
    else:
        assert str(FOLDER / entry["file"]) in err


def test_columns_are_those_of_a_table_or_the_languages_of_a_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "a.csv", '"id","de","en"\n1,"der Hund, sagt er",the dog\n')
    assert main(["check", str(rows), "--columns", "de,en"]) == 0
    assert ": 1 pairs" in capsys.readouterr().out
    memory = write(tmp_path / "a.tmx", TMX)
    assert main(["check", str(memory), "--columns", "fr,en"]) == 0
    out = capsys.readouterr().out
    assert "left out by the rules of the format: no source 1" in out
    assert "line numbers count pairs" in out


def test_an_encoding_is_told_and_bytes_that_are_not_in_it_are_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "a.tsv", "é\tx\n€\ty\n".encode("cp1252"))
    assert main(["check", str(rows), "--encoding", "cp1252"]) == 0
    assert ": 2 pairs" in capsys.readouterr().out
    write(rows, b"a\tx\n" * 70_000 + b"\x81\ty\n")
    assert main(["check", str(rows), "--encoding", "cp1252"]) == 2
    assert "line 70001: not cp1252 (byte 0x81" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.po", "--columns", "en,de"], "--columns: a.po is po, which has none to choose"),
        (["a.tsv", "--columns", "en"], "--columns: 1 columns are not a source and a target"),
        (["a.tsv", "--encoding", "utf-9"], "--encoding: 'utf-9' is no encoding of text"),
        (["a.tmx", "--columns", "en,d"], "--columns: 'd' is no tag of a language"),
        (["a.toml", "--columns", "en,de"], "--columns: a.toml says this itself; set it there"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == 2
    assert f"error: {message}" in capsys.readouterr().err


def test_a_row_of_other_width_is_named_with_what_was_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write(tmp_path / "a.csv", "a,x,1\nb,y\n")
    assert main(["check", str(rows), "--columns", "0,1"]) == 2
    assert "line 2: columns: 2, expected 3" in capsys.readouterr().out


def test_cleaned_text_of_a_document_holds_no_line_end_or_tab_inside_a_segment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue = write(tmp_path / "a.po", PO + '\nmsgid "c\\nd\\te"\nmsgstr "u\\r\\nv\\tw"\n')
    assert main(["check", str(catalogue), "--fix", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/source.txt").read_bytes() == b"a\nc d e\n"
    assert (tmp_path / "out/target.txt").read_bytes() == b"x\nu  v w\n"
    log = (tmp_path / "out/log.tsv").read_text("utf-8")
    assert log == "2\tchanged\tcarriage-return,line-separator,tab\n"
    assert "1 of them changed" in capsys.readouterr().err


def test_forms_of_one_unit_are_judged_one_by_one(tmp_path: Path) -> None:
    unit = 'msgid "one\\n"\nmsgid_plural "many"\nmsgstr[0] "uno"\nmsgstr[1] ""\n'
    catalogue = write(tmp_path / "a.po", unit + "".join(
        f'\nmsgid "der Hund {n}"\nmsgstr "the dog {n}"\n' for n in range(20)
    ))  # fmt: skip
    assert main(["check", str(catalogue), "--fix", str(tmp_path / "out")]) == 0
    log = (tmp_path / "out/log.tsv").read_text("utf-8")
    assert log == "1\tchanged\tline-separator\n2\tdropped\tone-sided\n"


def document(name: str, pairs: list[tuple[str, str]]) -> str:
    """Write pairs, a line for each, in the format that a name stands for."""
    start, row, end = {
        "a.tsv": ("", "{}\t{}\n", ""),
        "a.csv": ("", "{},{}\n", ""),
        "a.jsonl": ("", '{{"source": "{}", "target": "{}"}}\n', ""),
        "a.po": ("", 'msgid "{}"\nmsgstr "{}"\n', ""),
        "a.tmx": (
            '<tmx version="1.4"><header srclang="en"/><body>\n',
            '<tu><tuv xml:lang="en"><seg>{}</seg></tuv>'
            '<tuv xml:lang="de"><seg>{}</seg></tuv></tu>\n',
            "</body></tmx>",
        ),
        "a.xlf": (
            '<xliff version="1.2"><file><body>\n',
            '<trans-unit id="1"><source>{}</source><target>{}</target></trans-unit>\n',
            "</body></file></xliff>",
        ),
        "a.ts": (
            "<TS><context><name>c</name>\n",
            "<message><source>{}</source><translation>{}</translation></message>\n",
            "</context></TS>",
        ),
    }[name]
    return start + "".join(row.format(*pair) for pair in pairs) + end


@pytest.mark.parametrize("name", NAMES)
def test_no_format_takes_an_invisible_character_for_a_line_end(name: str, tmp_path: Path) -> None:
    # Field report 1. XML and JSON allow some of these characters as they are, and others not.
    signs = ["\u2028", "\u2029", "\u0085"]
    if name in ("a.tsv", "a.csv", "a.po"):
        signs += ["\v", "\f", "\x1c", "\x1d", "\x1e"]
    text = "der".join(["", *signs, ""])
    path = write(tmp_path / name, document(name, [(text, "the"), ("hund", f"dog{text}")]))
    assert main(["check", str(path), "--fix", str(tmp_path / "out")]) == 0
    spaced = "der".join(["", *(" " for _ in signs), ""])
    assert (tmp_path / "out/source.txt").read_text("utf-8") == f"{spaced}\nhund\n"
    assert (tmp_path / "out/target.txt").read_text("utf-8") == f"the\ndog{spaced}\n"


@pytest.mark.parametrize("name", NAMES)
def test_bytes_that_are_not_utf8_are_located_in_every_format_of_text(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Field report 3: the single byte 0xE9.
    rows = [("hund", "dog"), ("katze", "cat"), ("caf~", "coffee")]
    raw = document(name, rows).encode().replace(b"~", b"\xe9")
    path = write(tmp_path / name, raw)
    line = raw[: raw.index(b"\xe9")].count(b"\n") + 1
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert f"line {line}:" in out + err
    assert main(["check", str(path), "--fix", str(tmp_path / "out")]) == 2
    if (tmp_path / "out").exists():  # the other pairs are left
        assert (tmp_path / "out/source.txt").read_bytes() == b"hund\nkatze\n"


@pytest.mark.parametrize("name", [*NAMES, "a.mo", "a.parquet", "a.tsv.gz"])
def test_an_empty_file_is_two_in_every_format(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # fairseq 1208: an empty training file gives a division by zero.
    path = tmp_path / name
    path.write_bytes(b"")
    assert main(["check", str(path)]) == 2
    out, err = capsys.readouterr()
    assert str(path) in out + err
    assert "Traceback" not in err
