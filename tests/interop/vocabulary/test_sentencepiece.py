import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.sentencepiece import read_model, sentencepiece_settings
from dragoman.tokenization import Imported, ImportedTokenizer, SpecialIds
from tests.interop.vocabulary.folders import OLD_PICKLE, PICKLE, shared
from tests.tokenization.foreign import LINES, sentencepiece_bytes, texts

library = pytest.importorskip("sentencepiece", reason="needs sentencepiece, which tests have")
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "identity": {"normalization_rule_name": "identity"},
    "lower case": {"normalization_rule_name": "nmt_nfkc_cf"},
    "bytes": {"byte_fallback": True, "size": 430},
    "all spaces": {"remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "user": {"user_defined_symbols": ("<sep>", "的")},
}
# Composed and decomposed letters, as the table of normalisation joins them.
forms = st.sampled_from(["", "한국어 ạ̈ ệ", unicodedata.normalize("NFKD", "한국어 ạ̈ ệ が")])
mixed = st.tuples(texts, forms).map("".join)


@cache
def both(kind: str, option: str, folder: Path) -> tuple[Any, ImportedTokenizer]:
    return _both(sentencepiece_bytes(kind, **OPTIONS[option]), folder)


def _both(content: bytes, folder: Path) -> tuple[Any, ImportedTokenizer]:
    processor = library.SentencePieceProcessor(model_proto=content)
    (folder / "m.model").write_bytes(content)
    settings = sentencepiece_settings(read_model(folder / "m.model"))
    end, unknown = processor.eos_id(), processor.unk_id()
    special = SpecialIds(padding=end, start=end, end=end, unknown=unknown)
    return processor, ImportedTokenizer(settings, Imported(special=special))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@given(
    kind=st.sampled_from(["unigram", "bpe"]),
    option=st.sampled_from([*OPTIONS]),
    text=mixed,
)
def test_text_is_cut_as_its_own_library_does(
    kind: str, option: str, text: str, folder: Path
) -> None:
    processor, tokenizer = both(kind, option, folder)
    assert tokenizer.encode(text) == processor.encode(text)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_text_is_put_together_as_its_own_library_does(kind: str, folder: Path) -> None:
    processor, tokenizer = both(kind, "plain", folder)
    for line in LINES:
        ids = [each for each in processor.encode(line) if each != processor.unk_id()]
        assert tokenizer.decode(ids) == processor.decode(ids)


@pytest.mark.parametrize(
    "name",
    ["botchan-1000.en", "ja-8000", "joeynmt-sp200.deen", "opennmt-sample"],
)
def test_published_models_cut_as_their_own_library_does(name: str, folder: Path) -> None:
    content = shared("sentencepiece").joinpath(f"{name}.model").read_bytes()
    processor, tokenizer = _both(content, folder)
    odd = (
        "",
        "▁",
        " a▁ ",
        "  two  spaces",
        "ﬁ ½ ㌔",
        "が が",
        "</s> <unk>",
        "吾輩は猫である。名前は",
    )
    for line in (*LINES, *odd):
        assert tokenizer.encode(line) == processor.encode(line)


def test_models_of_other_kinds_and_other_files_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.model"
    for content, message in (
        (PICKLE, "not a SentencePiece model"),
        (OLD_PICKLE, "not a SentencePiece model"),
        (b"", "holds no pieces"),
        (sentencepiece_bytes("word"), "of the kind word"),
    ):
        file.write_bytes(content)
        with pytest.raises(ModelError, match=f"^{file}: .*{message}"):
            read_model(file)


def test_a_control_symbol_that_is_a_piece_too_is_refused(folder: Path) -> None:
    (folder / "n.model").write_bytes(sentencepiece_bytes())
    model = read_model(folder / "n.model")
    with pytest.raises(ModelError, match="has a piece '▁', which is a control"):
        sentencepiece_settings(model, after=("▁",))
