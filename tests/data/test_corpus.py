import gzip
import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data.corpora import Corpus, Files, TsvFile
from dragoman.data.corpus import Pair, open_corpus, read_aligned, read_pairs
from dragoman.data.corpus_files import corpus_name
from dragoman.data.lines import decode_lines, is_blank, read_lines
from dragoman.errors import DataError

Write = Callable[[str, bytes], Path]

NOT_LINE_ENDS = ["\r", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
MARK = b"\xef\xbb\xbf"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write_file


@pytest.fixture
def files(write: Write) -> Callable[[bytes, bytes], Files]:
    def write_files(source: bytes, target: bytes) -> Files:
        return Files(source=write("text.de", source), target=write("text.en", target))

    return write_files


# Lines.


@pytest.mark.parametrize("sign", NOT_LINE_ENDS, ids=ascii)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_character_that_looks_like_a_line_end_stays_in_its_line(
    sign: str, ending: bytes, files: Callable[[bytes, bytes], Files]
) -> None:
    source = f"a{sign}b".encode() + ending + b"c" + ending
    pairs = read_pairs(files(source, b"x\ny\n")).pairs
    assert pairs == (Pair(1, f"a{sign}b", "x"), Pair(2, "c", "y"))


def test_a_carriage_return_is_dropped_only_before_a_line_feed(write: Write) -> None:
    path = write("text", b"x\ry\r\r\nz\r")
    assert list(read_lines(path)) == ["x\ry\r", "z\r"]


def test_a_last_line_needs_no_line_feed_and_a_line_feed_begins_no_line(write: Write) -> None:
    assert list(read_lines(write("without", b"a\nb"))) == ["a", "b"]
    assert list(read_lines(write("with", b"a\nb\n"))) == ["a", "b"]
    assert list(read_lines(write("blank", b"a\n\n"))) == ["a", ""]
    assert list(read_lines(write("nothing", b""))) == []


@given(st.lists(st.text().filter(lambda line: "\n" not in line and not line.endswith("\r"))))
def test_every_text_without_line_feeds_comes_back(lines: list[str]) -> None:
    content = MARK + "".join(line + "\n" for line in lines).encode()
    assert list(decode_lines(io.BytesIO(content), "text")) == lines


def test_a_mark_is_dropped_at_the_head_of_a_file_and_kept_elsewhere(write: Write) -> None:
    once = MARK + b"a\nb\n"
    assert list(read_lines(write("once", once))) == ["a", "b"]
    assert list(read_lines(write("twice", once + once))) == ["a", "b", "\ufeffa", "b"]
    assert list(read_lines(write("mark", MARK))) == []


def test_joiners_that_scripts_need_are_kept(write: Write) -> None:
    persian = "می‌خواهم"
    assert "\u200c" in persian
    assert list(read_lines(write("text", persian.encode()))) == [persian]


def test_gzip_is_unpacked_also_in_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("é\u2028b\n日".encode()) + gzip.compress(b"c\n"))
    assert list(read_lines(path)) == ["é\u2028b", "日c"]


def test_the_locale_does_not_matter(files: Callable[[bytes, bytes], Files]) -> None:
    corpus = files("é\n".encode(), "日\n".encode())
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from dragoman.data.corpus import Files, open_corpus\n"
        "print(*map(ascii, open_corpus(Files(source=Path(sys.argv[1]), target=Path(sys.argv[2])))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, corpus.source, corpus.target],
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=True,
    )
    assert done.stdout.split(b"\n")[0] == ascii(Pair(1, "é", "日")).encode()


def test_a_stream_is_read_no_further_than_asked() -> None:
    def endless() -> Iterator[bytes]:
        yield MARK + b"one\r\n"
        raise AssertionError("read too far")

    assert next(decode_lines(endless(), "standard input")) == "one"


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a\nb\nca\xe9s\n", "line 3: not UTF-8 (byte 0xe9 at byte 2 of the line)"),
        (MARK + b"\xff\n", "line 1: not UTF-8 (byte 0xff at byte 3 of the line)"),
        ("日".encode()[:2], "line 1: not UTF-8 (byte 0xe6 at byte 0 of the line)"),
        (b"\xed\xa0\x80", "line 1: not UTF-8 (byte 0xed at byte 0 of the line)"),  # a surrogate
    ],
)
@pytest.mark.parametrize("name", ["corpus.de", "corpus.de.gz"])
def test_bytes_that_are_not_utf8_are_named(
    content: bytes, place: str, name: str, write: Write
) -> None:
    path = write(name, content)
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    assert str(error.value).startswith(f"{path}: {place}; set encoding = ")
    assert str(error.value).endswith(" if it looks right, or re-save it as UTF-8")


def test_lines_before_a_bad_one_are_delivered(write: Write) -> None:
    lines = read_lines(write("text", b"a\n\xff\n"))
    assert next(lines) == "a"
    with pytest.raises(DataError, match="line 2"):
        next(lines)


# Files that cannot be read.


def test_a_missing_file_is_an_error_and_the_proposed_one_exists(write: Write) -> None:
    path = write("train.de", b"a\n")
    with pytest.raises(DataError, match="no such file") as error:
        list(read_lines(path.with_name("train.dee")))
    proposed = error.value.hint.removeprefix("did you mean ").removesuffix("?")
    assert list(read_lines(Path(proposed))) == ["a"]


def test_a_missing_file_unlike_all_others_gets_no_proposal(write: Write) -> None:
    path = write("train.de", b"a\n").with_name("x")
    with pytest.raises(DataError) as error:
        list(read_lines(path))
    assert str(error.value) == f"{path}: no such file"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no such file; there is no folder .*nowhere"):
        list(read_lines(tmp_path / "nowhere" / "train.de"))


@pytest.mark.parametrize("name", ["folder", "folder.gz"])
def test_a_folder_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=f"{name}: is a folder; name a file in it"):
        list(read_lines(tmp_path / name))


def test_a_file_that_may_not_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"^text: cannot be read: Permission denied$"):
        list(read_lines(Path("text")))


def _cut(packed: bytes) -> bytes:
    return packed[:-12]


def _garbled(packed: bytes) -> bytes:
    return packed[:20] + b"\xff" * 20 + packed[40:]


def _wrong_sum(packed: bytes) -> bytes:
    return packed[:-8] + b"\0\0\0\0" + packed[-4:]


def _not_gzip(packed: bytes) -> bytes:
    return b"plain text\n"


@pytest.mark.parametrize("damage", [_cut, _garbled, _wrong_sum, _not_gzip])
def test_damaged_gzip_is_an_error(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    content = "".join(f"line {number * number}\n" for number in range(200)).encode()
    path = tmp_path / "text.gz"
    path.write_bytes(damage(gzip.compress(content)))
    with pytest.raises(DataError, match=r"text\.gz: damaged gzip \(.+\); pack or copy it again"):
        list(read_lines(path))


# Pairs.


@pytest.mark.parametrize(
    ("source", "target", "sources", "targets"),
    [(b"a\nb\nc\n", b"x\ny\n", 3, 2), (b"a\n", b"x\ny\nz\nw", 1, 4), (b"", b"x\n", 0, 1)],
)
def test_unequal_counts_are_an_error_with_both_names_and_counts(
    source: bytes,
    target: bytes,
    sources: int,
    targets: int,
    files: Callable[[bytes, bytes], Files],
) -> None:
    corpus = files(source, target)
    with pytest.raises(DataError) as error:
        read_pairs(corpus)
    assert f"{corpus.source}: {sources} lines, but {corpus.target} has {targets};" in str(
        error.value
    )


def test_a_pair_with_one_blank_side_is_left_out_as_a_pair(
    files: Callable[[bytes, bytes], Files],
) -> None:
    report = read_pairs(files(b"a\nb\nc\n", b"x\n \nz\n"))
    assert report.pairs == (Pair(1, "a", "x"), Pair(3, "c", "z"))
    assert (report.lines, report.blank) == (3, 1)


def test_reading_aligned_keeps_blank_lines(files: Callable[[bytes, bytes], Files]) -> None:
    pairs = read_aligned(files(b"a\n\nc\n", b"x\ny\n\n"))
    assert pairs == [Pair(1, "a", "x"), Pair(2, "", "y"), Pair(3, "c", "")]


@pytest.mark.parametrize(
    "text", ["", " ", "\t", "\r", "\u3000\xa0", "\u2028", "\u200b\ufeff", "\0"]
)
def test_text_that_shows_nothing_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["-", "...", "😀", "\u200bx", " \u0301", "\ufffd", "▁"])
def test_text_that_shows_anything_is_not_blank(text: str) -> None:
    assert not is_blank(text)


def test_rows_of_two_columns_are_pairs(write: Write) -> None:
    corpus = TsvFile(file=write("pairs.tsv.gz", MARK + b'"a" b\tx\r\n\ty\nc \tz'))
    expected = [Pair(1, '"a" b', "x"), Pair(2, "", "y"), Pair(3, "c ", "z")]
    assert list(open_corpus(corpus)) == expected


@pytest.mark.parametrize(("row", "columns"), [(b"a\tb\tc", 3), (b"a", 1), (b"", 1)])
def test_a_row_without_two_columns_is_an_error_at_its_line(
    row: bytes, columns: int, write: Write
) -> None:
    path = write("pairs.tsv", b"a\tx\n" + row + b"\n")
    with pytest.raises(DataError, match=rf"pairs\.tsv: line 2: columns: {columns}, expected 2; "):
        read_pairs(TsvFile(file=path))


@pytest.mark.parametrize(
    ("source", "target", "problem"),
    [(b"", b"", "no lines"), (b"\n\xc2\xa0\n", b"x\ny\n", "on both sides; blank: 2")],
)
def test_a_corpus_without_pairs_is_an_error(
    source: bytes, target: bytes, problem: str, files: Callable[[bytes, bytes], Files]
) -> None:
    corpus = files(source, target)
    with pytest.raises(DataError, match=problem) as error:
        read_pairs(corpus)
    assert f"{corpus.source} and {corpus.target}: " in str(error.value)


def test_a_test_set_without_lines_is_an_error(write: Write) -> None:
    with pytest.raises(DataError, match="no lines"):
        read_aligned(TsvFile(file=write("pairs.tsv", b"")))


def test_a_corpus_is_named_by_its_files() -> None:
    corpora: list[Corpus] = [Files(source=Path("a"), target=Path("b")), TsvFile(file=Path("c"))]
    assert [corpus_name(corpus) for corpus in corpora] == ["a and b", "c"]


def test_files_are_hashed_as_they_lie_on_disk(files: Callable[[bytes, bytes], Files]) -> None:
    # The digest of "abc" is the example of FIPS 180-2, appendix B.1; the other is `sha256sum`'s.
    corpus = files(b"abc", b"x\n")
    assert read_pairs(corpus).sha256 == {
        str(corpus.source): "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        str(corpus.target): "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac",
    }


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_and_has_no_hash(tmp_path: Path) -> None:
    path = tmp_path / "pairs"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a\tx\n",))
    writer.start()
    report = read_pairs(TsvFile(file=path))
    writer.join()
    assert report.pairs == (Pair(1, "a", "x"),)
    assert report.sha256 == {}


# OpenNMT-py 1318: a chunked reader lost every line after its size squared. sockeye 477: lines
# slipped when blanks met chunks.
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_no_line_is_lost_or_slips_however_many_there_are(suffix: str, write: Write) -> None:
    count = 40_000  # several blocks of each side, which end at different lines
    sources = [f"{n} {'é' * (n * 7 % 60)}" if n % 5 else "" for n in range(count)]
    targets = [f"{n} {'x' * (n * 11 % 90)}" if n % 7 else " " for n in range(count)]
    corpus = Files(
        source=write(f"text.de{suffix}", "".join(f"{line}\n" for line in sources).encode()),
        target=write(f"text.en{suffix}", "".join(f"{line}\r\n" for line in targets).encode()),
    )
    expected = [Pair(*values) for values in zip(range(1, count + 1), sources, targets, strict=True)]
    assert list(open_corpus(corpus)) == expected
    report = read_pairs(corpus)
    assert report.lines == count
    assert report.blank == sum(n % 5 == 0 or n % 7 == 0 for n in range(count))


# Text that begins with many control characters is taken for UTF-16.
segments = st.text().map(lambda text: text.translate(dict.fromkeys([*range(11), 13, 0xFEFF], "")))


@given(texts=st.lists(st.tuples(segments, segments)))
def test_files_and_rows_hold_the_same_pairs(
    texts: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pairs")
    corpus = Files(source=folder / "source", target=folder / "target.gz")
    rows = TsvFile(file=folder / "pairs.tsv")
    corpus.source.write_bytes("".join(f"{source}\n" for source, _ in texts).encode())
    with gzip.open(corpus.target, "wb") as target_file:
        target_file.write("".join(f"{target}\n" for _, target in texts).encode())
    rows.file.write_bytes("".join(f"{source}\t{target}\r\n" for source, target in texts).encode())
    expected = [Pair(number, *pair) for number, pair in enumerate(texts, start=1)]
    assert list(open_corpus(corpus)) == expected
    assert list(open_corpus(rows)) == expected
