import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.data import Text, encode_document, encode_rest, passages, read_text
from dragoman.errors import DataError
from dragoman.tokenization import Tokenizer, TokenizerConfig, learn_tokenizer
from tests.fixtures import ENGLISH
from tests.one_sided import Kind

KINDS: tuple[Kind, ...] = ("bpe", "wordpiece", "character", "word")
TOKENIZERS: dict[Kind, Tokenizer] = {
    kind: learn_tokenizer(ENGLISH * 4, TokenizerConfig(kind=kind, size=300)) for kind in KINDS
}
LINES = b"a b\n\n  \nc\r\nd\n\ne"


@pytest.mark.parametrize(
    ("documents", "expected", "numbers"),
    [
        ("line", ("a b", "c", "d", "e"), (1, 4, 5, 7)),
        ("blank-lines", ("a b", "c\nd", "e"), (1, 4, 7)),
        ("file", ("a b\n\n  \nc\nd\n\ne\n",), (1,)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_documents_are_lines_paragraphs_or_the_file(
    documents: str,
    expected: tuple[str, ...],
    numbers: tuple[int, ...],
    packed: bool,
    tmp_path: Path,
) -> None:
    path = tmp_path / ("text.gz" if packed else "text")
    path.write_bytes(gzip.compress(LINES) if packed else LINES)
    report = read_text(Text(text=path, documents=documents))  # type: ignore[arg-type]  # from a list
    assert (report.documents, report.numbers, report.lines) == (expected, numbers, 7)


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_file_without_text_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(data)
    with pytest.raises(DataError, match="holds no text"):
        read_text(Text(text=tmp_path / "text"))


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text("ab \n\tthe<é\u0301", max_size=40), longest=st.integers(1, 8))
def test_passages_make_the_document_and_its_ids(kind: Kind, text: str, longest: int) -> None:
    tokenizer = TOKENIZERS[kind]
    assert "".join(passages(text, longest)) == text
    assert encode_document(tokenizer, text, longest=longest) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", KINDS)
@given(text=st.text("ab \n\tthe<é\u0301", max_size=20))
def test_the_rest_of_a_text_gets_the_ids_it_has_after_a_line_break(kind: Kind, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    whole = tokenizer.encode(f"the\n{text}")
    assert tokenizer.encode("the\n") + encode_rest(tokenizer, text) == whole
