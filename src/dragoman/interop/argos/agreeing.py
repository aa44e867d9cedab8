"""See that SentencePiece cuts text as the vocabulary does that a file was made of."""

import unicodedata
from collections.abc import Iterator
from typing import Any

from dragoman.errors import MissingExtraError, ModelError
from dragoman.tokenization import Tokenizer

_SENTENCES = (
    "Ein Mann in blauem Hemd steht auf einer Leiter und putzt ein Fenster.",
    "She said: \"It's 5:30 p.m., isn't it?\" - and left (for good); 1,234.56 EUR!",
    "Voilà… l'été, où ça? Ça va: «très bien», d'accord.",
    "Žluťoučký kůň úpěl ďábelské ódy; İstanbul'da çiğ köfte, żółw i źdźbło.",
    "Съешь ещё этих мягких французских булок. Πώς είστε; Καλά, ευχαριστώ!",
    "مرحبا بالعالم، كيف حالك؟ שלום עולם! नमस्ते दुनिया। สวัสดีชาวโลก",
    "今日はいい天気ですね。你好，世界！안녕하세요 세계.",
    "Mail: a.b@example.org, https://example.org/x?y=1&z=2 #tag 100% 50°C 👩‍👩‍👧 ☕",
    "  two  spaces\tand a tab ",
    "if a < b: print(</s>) <unk> <0x41> <pad>",
    "Tiếng Việt có dấu; ﬁne ＡＢＣ ｶﾞ ①",
)


def refuse_other_cuts(tokenizer: Tokenizer, model: bytes) -> None:
    """Compare on sentences in many languages, in the forms NFC and NFD, and on all pieces.

    Raises:
        ModelError: a text is cut otherwise.
        MissingExtraError: SentencePiece is not installed.
    """
    processor = _processor(model)
    texts = [*_texts(tokenizer)]
    ours, theirs = tokenizer.encode_many(texts), processor.encode(texts, out_type=int)
    for text, own, other in zip(texts, ours, theirs, strict=True):
        if own != other:
            raise ModelError(
                f"SentencePiece cuts {text!r} into {' '.join(tokenizer.pieces(other))!r}, the "
                f"vocabulary into {' '.join(tokenizer.pieces(own))!r}; export to another format"
            )


def _texts(tokenizer: Tokenizer) -> Iterator[str]:
    for sentence in _SENTENCES:
        yield from (sentence, unicodedata.normalize("NFD", sentence), sentence.upper())
    pieces = [content.decode("utf-8", "ignore") for content in tokenizer.piece_bytes().values()]
    yield from (f"{piece}{piece} {piece}" for piece in pieces if piece.isprintable())


def _processor(model: bytes) -> Any:  # Any: the library has no types
    try:
        import sentencepiece  # pyright: ignore  # optional, and without types
    except ImportError:
        raise MissingExtraError("the package of Argos Translate", "argos") from None
    return sentencepiece.SentencePieceProcessor(model_proto=model)
