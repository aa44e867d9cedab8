"""Read the vocabulary of a Hugging Face folder."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.files import read_ids, read_lines, read_object
from dragoman.interop.vocabulary.folder import (
    LOSSLESS,
    TARGET_FOLDER,
    TOKENIZER_CONFIG,
    Folder,
)
from dragoman.interop.vocabulary.marian import read_marian
from dragoman.interop.vocabulary.sentencepiece import read_model
from dragoman.interop.vocabulary.slow import SENTENCEPIECE, read_merges, slow_settings
from dragoman.interop.vocabulary.special import control_ids, special_ids, unknown_of
from dragoman.models import ModelConfig
from dragoman.tokenization import (
    Imported,
    ImportedTokenizer,
    Json,
    SpecialIds,
    Tokenizer,
    tokenizer_from_json,
)
from dragoman.tokenization.foreign_file import OURS, complete, names_of


def read_vocabulary(
    folder: Path, config: ModelConfig | None = None, *, special: SpecialIds | None = None
) -> tuple[Tokenizer, ...]:
    """Read the tokenizers of a folder; ids and the way to cut text stay as they are.

    Read are ``tokenizer.json``, the files of Marian, and those of the older classes of BERT, GPT-2,
    BART, T5, mBART, LLaMA and ALBERT. All files of a vocabulary that are there must agree.

    Args:
        folder: of a model, or of a tokenizer alone.
        config: says how many ids the model has; ``config.json`` of the folder unless given.
        special: taken instead of what the files say.

    Returns:
        One tokenizer, or two where source and target are cut in two ways.

    Raises:
        ModelError: a file is missing, damaged or no text, two files disagree, or there are more
            pieces than the model has ids.
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such folder")
    read = Folder.read(folder)
    sizes = (None, None) if config is None else (config.vocabulary, config.target_vocabulary)
    is_marian = (folder / "source.spm").exists() or read.model_type == "marian"
    if is_marian and not (folder / "tokenizer.json").exists():
        return read_marian(read, sizes)
    size = sizes[0] or read.size()
    made = _side(read, size, special)
    if not (folder / TARGET_FOLDER / "tokenizer.json").exists():
        return (made,)
    target = replace(read, path=folder / TARGET_FOLDER)
    return made, _side(target, sizes[1] or read.size("decoder_vocab_size") or size, special)


def _side(folder: Folder, size: int | None, special: SpecialIds | None) -> Tokenizer:
    path = folder.path / "tokenizer.json"
    settings = read_object(path) if path.exists() else None
    if settings is None:
        path, settings = slow_settings(folder)
    try:
        if OURS in settings["model"]:
            return _written(folder, settings, size)
        settings = with_added(folder, complete(settings))
        return _tokenizer(folder, path, settings, size, special)
    except ModelError as error:
        known = str(error).startswith(str(folder.path))
        raise ModelError(str(error) if known else f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        problem = f"not a tokenizer, or damaged ({error!r:.100})"
        raise ModelError(f"{path}: {problem}; fetch the folder again") from None


def _written(folder: Folder, settings: Json, size: int | None) -> Tokenizer:
    """Read what ``write_vocabulary`` wrote.

    Raises:
        ModelError: the files beside it say something else.
    """
    if settings["model"][OURS] == LOSSLESS:
        model = {key: each for key, each in settings["model"].items() if key != OURS}
        bare: Json = {**settings, "added_tokens": [], "post_processor": None, "model": model}
        made = tokenizer_from_json(json.dumps(bare))
    else:
        made = ImportedTokenizer.from_settings(settings)
    if size is not None and made.size != size:
        raise ModelError(f"has {made.size:,} pieces, and its model {size:,} ids")
    for role, number in (
        ("pad_token_id", made.special.padding),
        ("eos_token_id", made.special.end),
    ):
        for where, stated in folder.stated(role):
            if number not in stated:
                raise ModelError(f"has the id {number} where {where} says {stated[0]}")
    return made


def _tokenizer(
    folder: Folder, path: Path, settings: Json, size: int | None, special: SpecialIds | None
) -> ImportedTokenizer:
    names, _ = names_of(settings)
    ids = {name: number for number, name in enumerate(names)}
    if path.name == "tokenizer.json":
        _compare(folder.path, ids)
        _see_normal_form(folder, settings)
    if special is None:
        special = special_ids(folder, ids, unknown_of(settings, ids))
    tidy = folder.tokenizer.get("clean_up_tokenization_spaces") is True
    imported = Imported(
        special=special,
        size=size,
        controls=control_ids(folder, ids),
        # transformers does not do so with byte-pair encoding, whose spaces are text.
        tidy=tidy and settings["model"]["type"] != "BPE",
    )
    return ImportedTokenizer(settings, imported)


def _see_normal_form(folder: Folder, settings: Json) -> None:
    """See that BERT's text is prepared as ``tokenizer_config.json`` says: its class reads that.

    Raises:
        ModelError: the two say something else.
    """
    step: Json = settings["normalizer"] or {}
    if folder.tokenizer_class != "BertTokenizer" or step.get("type") != "BertNormalizer":
        return
    said, lower, apart = folder.tokenizer, step["lowercase"], step["handle_chinese_chars"]
    strips = lower if step["strip_accents"] is None else step["strip_accents"]
    stated = said.get("strip_accents")
    for key, theirs, ours in (
        ("do_lower_case", said.get("do_lower_case"), lower),
        ("strip_accents", said.get("do_lower_case") if stated is None else stated, strips),
        ("tokenize_chinese_chars", said.get("tokenize_chinese_chars"), apart),
    ):
        if theirs is not None and theirs != ours:
            raise ModelError(
                f"{folder.path / TOKENIZER_CONFIG}: {key} is {theirs}, but {ours} in "
                "tokenizer.json; mend the wrong one"
            )


def with_added(folder: Folder, settings: Json) -> Json:
    """Add the pieces that side files add to a vocabulary.

    Raises:
        ModelError: a side file gives another id to a piece.
    """
    names, _ = names_of(settings)
    ids = {name: number for number, name in enumerate(names)}
    listed: dict[str, tuple[int, bool, str]] = {}
    file = folder.path / "added_tokens.json"
    if file.exists():
        listed |= {piece: (number, False, file.name) for piece, number in read_ids(file).items()}
    decoder = cast("dict[str, Json]", folder.tokenizer.get("added_tokens_decoder") or {})
    for number, each in decoder.items():
        special = bool(each.get("special", False))
        listed[each["content"]] = (int(number), special, TOKENIZER_CONFIG)
    added: list[Json] = list(settings["added_tokens"])
    known = {each["content"] for each in added}
    for piece, (number, special, where) in sorted(listed.items(), key=lambda item: item[1][0]):
        if ids.get(piece, number) != number:
            raise ModelError(
                f"{folder.path / where}: {piece!r} has the id {number}, but {ids[piece]} in the "
                "vocabulary; use the files that belong together"
            )
        if piece not in known:
            added.append(
                {"id": number, "content": piece, "special": special, "normalized": False}
                | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
            )
    return {**settings, "added_tokens": sorted(added, key=lambda each: each["id"])}


def _compare(folder: Path, ids: Mapping[str, int]) -> None:
    """See that the older files beside a ``tokenizer.json`` say the same.

    Raises:
        ModelError: one is damaged, or says something else.
    """
    lists: dict[Path, Mapping[str, int]] = {}
    if (folder / "vocab.txt").exists():
        lines = read_lines(folder / "vocab.txt")
        lists[folder / "vocab.txt"] = {piece: number for number, piece in enumerate(lines)}
    if (folder / "vocab.json").exists():
        lists[folder / "vocab.json"] = read_ids(folder / "vocab.json")
    if (folder / "merges.txt").exists():
        parts = {piece for pair in read_merges(folder / "merges.txt") for piece in pair}
        lists[folder / "merges.txt"] = {piece: ids.get(piece, -1) for piece in parts}
    for path, listed in lists.items():
        for piece, number in listed.items():
            if ids.get(piece) != number:
                raise ModelError(
                    f"{path}: the id of {piece[:40]!r} is {number}, but {ids.get(piece)} in "
                    "tokenizer.json; use the files that belong together"
                )
    for name in SENTENCEPIECE:
        if (folder / name).exists():
            pieces = read_model(folder / name).pieces
            if not any(piece.text in ids for piece in pieces if piece.type == "normal"):
                raise ModelError(f"{folder / name}: has no piece of tokenizer.json")
