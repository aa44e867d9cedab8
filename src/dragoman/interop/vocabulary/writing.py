"""Our tokenizers as ``AutoTokenizer`` of ``transformers`` loads them.

    write_vocabulary(folder, bundle.tokenizers)

``transformers`` finds special symbols in what users type unless ``split_special_tokens`` is set, so
it is: text gives the same ids there as here. What stands around a text is put there by a
post-processor, and ``decode(ids, skip_special_tokens=True)`` gives text.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from dragoman.atomic import write_text
from dragoman.errors import ConfigError
from dragoman.interop.vocabulary.folder import (
    LOSSLESS,
    SPECIAL_MAP,
    TARGET_FOLDER,
    TOKENIZER_CONFIG,
)
from dragoman.interop.vocabulary.marian_writing import fits_marian, write_marian
from dragoman.tokenization import ImportedTokenizer, Json, SpecialIds, Tokenizer
from dragoman.tokenization.foreign_file import OURS

_INPUTS = ["input_ids", "attention_mask"]
_NO_LIMIT = 10**30  # what transformers writes where there is none


def write_vocabulary(
    folder: Path,
    tokenizers: Sequence[Tokenizer],
    *,
    before: Sequence[int] = (),
    after: Sequence[int] | None = None,
    reads: bool = False,
    longest: int | None = None,
) -> None:
    """Write ``tokenizer.json``, ``tokenizer_config.json`` and ``special_tokens_map.json``.

    Vocabularies of Marian, whose ids are those of a list, become the files of Marian again.

    Args:
        folder: is there; of two tokenizers, that of the target goes into ``target`` inside.
        tokenizers: of a bundle.
        before: ids that ``transformers`` puts before a text.
        after: ids that it puts behind; the end symbol unless given.
        reads: whether the model is an encoder alone. The symbols at both ends are then called
            ``cls_token`` and ``sep_token``; of ours, the one for unknown text is ``mask_token``.
        longest: pieces a text may have, symbols included.

    Raises:
        ConfigError: a vocabulary has no place in the format (place ``tokenizer``).
        OSError: the folder cannot be written, or the disk is full.
    """
    refuse_unwritable(tokenizers)
    listed = [each for each in tokenizers if isinstance(each, ImportedTokenizer) and _listed(each)]
    if listed:
        ends = (tokenizers[-1].special.end,)
        if tuple(before) or tuple(ends if after is None else after) != ends or reads:
            raise _no_place("a Marian tokenizer puts the end symbol behind text, and nothing else")
        write_marian(folder, listed, longest=longest)
        return
    for inside, tokenizer in zip(("", TARGET_FOLDER), tokenizers, strict=False):
        special = tokenizer.special
        behind = (special.end,) if after is None else after
        names = _special_names(tokenizer, reads=reads)
        settings = _settings(tokenizer, before, behind)
        config = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "clean_up_tokenization_spaces": _is_tidy(tokenizer),
            "split_special_tokens": True,
            "model_input_names": _INPUTS + ["token_type_ids"] * reads,
            "model_max_length": longest or _NO_LIMIT,
            **names,
        }
        path = folder / inside
        path.mkdir(exist_ok=True)
        write_text(path / "tokenizer.json", json.dumps(settings, ensure_ascii=False, indent=1))
        write_text(path / TOKENIZER_CONFIG, _table(config))
        write_text(path / SPECIAL_MAP, _table(names))


def refuse_unwritable(tokenizers: Sequence[Tokenizer]) -> None:
    """Refuse vocabularies that have no place in the format.

    Raises:
        ConfigError: ids are those of a list, and what cuts text is no model as Marian has (place
            ``tokenizer``).
    """
    if any(map(_listed, tokenizers)) and not all(map(fits_marian, tokenizers)):
        raise _no_place("its ids are those of a list, for which tokenizer.json has no place")


def _no_place(problem: str) -> ConfigError:
    return ConfigError("tokenizer", problem, "use the vocabulary of the folder it came from")


def _listed(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer, ImportedTokenizer) and tokenizer.imported.names is not None


def _table(table: Json) -> str:
    return json.dumps(table, ensure_ascii=False, indent=2) + "\n"


def _is_tidy(tokenizer: Tokenizer) -> bool:
    return isinstance(tokenizer, ImportedTokenizer) and tokenizer.imported.tidy


def _special_names(tokenizer: Tokenizer, *, reads: bool) -> Json:
    """Name special pieces in the words of ``transformers``; those that are missing are left out."""
    special, names = tokenizer.special, tokenizer.names()
    found: Json = {"pad_token": names[special.padding], "eos_token": names[special.end]}
    if special.start != special.padding:
        found["bos_token"] = names[special.start]
    if _knows_unknown(special):
        found["unk_token"] = names[special.unknown]
    if reads:
        found |= {"cls_token": names[special.start], "sep_token": names[special.end]}
    if not isinstance(tokenizer, ImportedTokenizer):
        found |= {"mask_token": names[special.unknown]} if reads else {}
    else:
        masks = [name for name in ("[MASK]", "<mask>") if name in tokenizer.controls]
        found |= {"mask_token": masks[0]} if masks else {}
    others = [names[number] for number in tokenizer.languages.values()]
    return found | ({"additional_special_tokens": others} if others else {})


def _knows_unknown(special: SpecialIds) -> bool:
    return special.unknown not in (special.padding, special.start, special.end)


def _settings(tokenizer: Tokenizer, before: Sequence[int], after: Sequence[int]) -> Json:
    settings: Json = json.loads(tokenizer.to_json())
    names = tokenizer.names()
    if isinstance(tokenizer, ImportedTokenizer):
        controls = {
            name: number
            for name, number in tokenizer.controls.items()
            if not name.startswith("<unused-id-")
        }
    else:
        special = tokenizer.special
        first = (special.padding, special.start, special.end, special.unknown)
        controls = {names[number]: number for number in (*first, *tokenizer.languages.values())}
        settings["model"][OURS] = LOSSLESS
    known = {each["content"]: each for each in settings["added_tokens"]}
    for name, number in controls.items():
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        known[name] = {"id": number, "content": name, **flags, "special": True}
    settings["added_tokens"] = sorted(known.values(), key=lambda each: each["id"])
    settings["post_processor"] = _template(names, before, after)
    return settings


def _template(names: Sequence[str], before: Sequence[int], after: Sequence[int]) -> Json:
    """Put symbols around a text; of a pair, the second has those behind it only."""

    def symbols(ids: Sequence[int], side: int) -> list[Json]:
        return [{"SpecialToken": {"id": names[number], "type_id": side}} for number in ids]

    def text(name: str, side: int) -> Json:
        return {"Sequence": {"id": name, "type_id": side}}

    single = [*symbols(before, 0), text("A", 0), *symbols(after, 0)]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, text("B", 1), *symbols(after, 1)],
        "special_tokens": {
            names[number]: {"id": names[number], "ids": [number], "tokens": [names[number]]}
            for number in (*before, *after)
        },
    }
