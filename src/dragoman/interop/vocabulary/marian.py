"""The vocabulary of a Marian folder: two SentencePiece models cut, ``vocab.json`` has the ids.

A piece that the model knows and the list does not is unknown; text that the model does not know may
still be a piece of the list, as the other language brings its own.
"""

import re
from pathlib import Path

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_ids
from dragoman.interop.vocabulary.folder import CONFIG, Folder
from dragoman.interop.vocabulary.sentencepiece import read_model, sentencepiece_settings
from dragoman.interop.vocabulary.special import control_ids, special_ids
from dragoman.tokenization import Imported, ImportedTokenizer, Json
from dragoman.tokenization.foreign_file import unused

_LANGUAGE = re.compile(r">>(.+)<<")


def read_marian(
    folder: Folder, sizes: tuple[int | None, int | None]
) -> tuple[ImportedTokenizer, ...]:
    """Read the two tokenizers of a Marian folder; one when both sides are cut alike.

    Args:
        folder: with ``source.spm``, ``target.spm``, ``vocab.json`` and, for two vocabularies,
            ``target_vocab.json``.
        sizes: ids of the model, of source and target; None for those of ``config.json``.

    Raises:
        ModelError: a file is missing or damaged, or they do not fit each other.
    """
    path = folder.path
    source_ids = read_ids(path / "vocab.json")
    separate = (path / "target_vocab.json").exists()
    target_ids = read_ids(path / "target_vocab.json") if separate else source_ids
    stated = sizes[0] or folder.size(), sizes[1] or folder.size("decoder_vocab_size")
    target_size = stated[1] or stated[0] if separate else stated[0]
    source = _side(folder, path / "source.spm", source_ids, stated[0])
    target = _side(folder, path / "target.spm", target_ids, target_size)
    for name in ("padding", "end"):
        ours = getattr(source.special, name), getattr(target.special, name)
        if ours[0] != ours[1]:
            raise ModelError(
                f"{path}: the id for {name} is {ours[0]} in vocab.json, but {ours[1]} in "
                "target_vocab.json, and a model here has one"
            )
    return (source,) if source.to_json() == target.to_json() else (source, target)


def _side(folder: Folder, path: Path, ids: dict[str, int], size: int | None) -> ImportedTokenizer:
    if "<unk>" not in ids:
        raise ModelError(f"{folder.path}: its list has no piece <unk> for unknown text")
    last = max(ids.values())
    if size is not None and last >= size:
        raise ModelError(
            f"{folder.path}: its list has an id {last}, and {CONFIG} says {size:,} ids; "
            "use the files that belong together"
        )
    by_id = {number: piece for piece, number in ids.items()}
    if last >= 2 * len(by_id) + 1024:
        raise ModelError(f"{folder.path}: its list has ids far beyond the number of its pieces")
    names = tuple(by_id.get(number, unused(number)) for number in range(last + 1))
    gaps = tuple(number for number in range(last + 1) if number not in by_id)
    languages = {
        match[1]: number for piece, number in ids.items() if (match := _LANGUAGE.fullmatch(piece))
    }
    marks = [ids[piece] for piece in ("<eop>", "<eod>") if piece in ids]
    imported = Imported(
        special=special_ids(folder, ids, ids["<unk>"]),
        size=size,
        controls=(*control_ids(folder, ids), *marks, *gaps),
        languages=languages,
        names=names,
    )
    try:
        return ImportedTokenizer(_cutter(path), imported)
    except ModelError as error:
        known = str(error).startswith(str(folder.path))
        raise ModelError(str(error) if known else f"{path}: {error}") from None


def _cutter(path: Path) -> Json:
    """Read how one side is cut; decoded text has no spaces at its ends."""
    settings = sentencepiece_settings(read_model(path))
    settings["decoder"]["decoders"] = [
        *(step for step in settings["decoder"]["decoders"] if step["type"] != "Strip"),
        {"type": "Replace", "pattern": {"Regex": r"\A\s+|\s+\z"}, "content": ""},
    ]
    return settings
