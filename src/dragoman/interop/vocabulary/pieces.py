"""A tokenizer over a list of pieces, which alone does not say how text is cut.

Folders of CTranslate2 and checkpoints of fairseq, JoeyNMT and OpenNMT-py hold such lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Literal, cast

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_bytes, read_lines, read_value
from dragoman.interop.vocabulary.looking_up import by_characters, by_longest, by_spaces
from dragoman.interop.vocabulary.sentencepiece import read_model, sentencepiece_settings
from dragoman.interop.vocabulary.subword_nmt import codes_settings, read_codes
from dragoman.tokenization import Imported, ImportedTokenizer, Json, SpecialIds

_LOOKED_AT = 1000  # pieces that a file is tried on
Cut = Literal["characters", "longest", "pieces"]


def read_pieces(path: Path) -> list[str]:
    """Read a list of pieces in the order of their ids: one a line, or a JSON list.

    Raises:
        ModelError: the file is damaged, or two pieces have one name.
    """
    if path.suffix == ".json":
        value = read_value(path)
        listed = cast("list[object]", value) if isinstance(value, list) else []
        pieces = [each for each in listed if isinstance(each, str)]
        if not pieces or len(pieces) < len(listed):
            raise ModelError(f"{path}: is no list of pieces; fetch the folder again")
    else:
        pieces = read_lines(path)
    if not pieces or len({*pieces}) < len(pieces):
        seen: set[str] = set()
        twice = next((each for each in pieces if each in seen or seen.add(each)), None)
        problem = "holds no pieces" if twice is None else f"holds {twice!r} twice"
        raise ModelError(f"{path}: {problem}; fetch the folder again")
    return pieces


def tokenizer_of_pieces(
    pieces: Sequence[str],
    special: SpecialIds,
    *,
    cut: Path | Cut | None = None,
    controls: Sequence[int] = (),
    languages: Mapping[str, int] | None = None,
) -> ImportedTokenizer:
    """Make a tokenizer whose ids are places in a list.

    Args:
        pieces: in the order of their ids.
        special: ids in that list.
        cut: how text becomes pieces. A file: a SentencePiece model, or codes of subword-nmt or
            fastBPE. ``characters``: each is a piece. ``longest``: the longest piece at each place.
            ``pieces``: users give text as pieces between spaces, and get words. None chooses
            ``characters`` when no piece is longer, otherwise ``pieces``.
        controls: further ids that no text may give.
        languages: ids of tags that stand before a source, by the name of the language.

    Raises:
        ModelError: the file is damaged, ids are outside the list, or two pieces have one name.
    """
    taken = {*astuple(special), *controls, *(languages or {}).values()}
    texts = [piece for number, piece in enumerate(pieces) if number not in taken]
    if cut is None:
        single = all(len(piece) == 1 or is_symbol(piece) for piece in texts)
        cut = "characters" if single else "pieces"
    symbols = [
        number
        for number, piece in enumerate(pieces)
        if number not in taken and cut == "characters" and len(piece) > 1
    ]
    imported = Imported(
        special=special,
        names=tuple(pieces),
        controls=(*controls, *symbols),
        languages=languages or {},
    )
    tokenizer = ImportedTokenizer(_settings(texts, cut), imported)
    if isinstance(cut, Path) and not _is_codes(cut):  # a piece inside a word is none alone there
        _see_fitting(tokenizer, texts, cut)
    return tokenizer


def _see_fitting(tokenizer: ImportedTokenizer, texts: Sequence[str], cut: Path) -> None:
    """See that a file cuts text into pieces of a vocabulary: most pieces, as text, give known ones.

    Raises:
        ModelError: most do not, so it is not the file the model was trained with.
    """
    spelled = [text.replace("▁", " ").strip() for text in texts[:_LOOKED_AT]]
    typed = [text for text in spelled if text and not is_symbol(text)]
    special = tokenizer.special
    known = sum(
        all(each != special.unknown for each in ids) and len(ids) > 0
        for ids in tokenizer.encode_many(typed)
    )
    if 2 * known < len(typed):
        raise ModelError(
            f"{cut}: cuts text into other pieces than those of the vocabulary: of "
            f"{len(typed)} of its pieces, as text, {known} give known ones; name the file that "
            "the model was trained with"
        )


def is_symbol(piece: str) -> bool:
    """Whether a piece is written as symbols are: ``<blank>``, ``</s>``."""
    return len(piece) > 2 and piece[0] == "<" and piece[-1] == ">"


def _settings(texts: Sequence[str], cut: Path | Cut) -> Json:
    match cut:
        case "characters":
            return by_characters(texts)
        case "longest":
            return by_longest(texts)
        case "pieces":
            return by_spaces(texts)
        case Path():
            return _by_file(texts, cut)


def _by_file(texts: Sequence[str], cut: Path) -> Json:
    if _is_codes(cut):
        return codes_settings(read_codes(cut), texts)
    try:
        return sentencepiece_settings(read_model(cut))
    except ModelError as error:
        known = str(error).startswith(str(cut))
        raise ModelError(str(error) if known else f"{cut}: {error}") from None


def _is_codes(path: Path) -> bool:
    """Tell text from the protocol buffer of a SentencePiece model, which holds zero bytes."""
    begins = read_bytes(path)[:4096]
    return b"\0" not in begins and not begins.startswith(b"\n")
