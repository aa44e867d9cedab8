"""Which ids of a foreign vocabulary are padding, start, end and unknown: all files must agree."""

from collections.abc import Mapping, Sequence

from dragoman.errors import ModelError
from dragoman.interop.vocabulary.folder import Folder
from dragoman.tokenization import Json, SpecialIds

# What is taken where no file says it; pieces of these names are special in every family.
_USUAL = {
    "pad_token": ("<pad>", "[PAD]", "<blank>"),
    "bos_token": ("<s>", "<|endoftext|>", "<|begin_of_text|>"),
    "eos_token": ("</s>", "<|endoftext|>", "<|end_of_text|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "cls_token": ("[CLS]",),
    "sep_token": ("[SEP]",),
}
_NAMED = (*_USUAL, "mask_token")
_Found = list[tuple[str, tuple[int, ...]]]  # where, and the ids allowed there


def special_ids(folder: Folder, ids: Mapping[str, int], unknown: int | None) -> SpecialIds:
    """Find the special ids of a vocabulary.

    A target begins with ``decoder_start_token_id``, text of an encoder alone with ``cls_token``,
    of a decoder alone with ``bos_token``. Padding that is not named is the end symbol.

    Args:
        folder: what its files say.
        ids: of pieces by name.
        unknown: id of what has no piece, where the vocabulary itself says it.

    Raises:
        ModelError: two files disagree, or nothing ends a text.
    """
    encodes = not folder.translates and _has(folder, ids, "cls_token")
    end = _one(folder, "end", _sought(folder, ids, "sep_token" if encodes else "eos_token"))
    padding = _one(folder, "padding", _sought(folder, ids, "pad_token"))
    missing = _one(folder, "unknown", _by_name(folder, ids, "unk_token"))
    unknown = missing if unknown is None else unknown
    if folder.translates:
        start = _one(folder, "start", folder.stated("decoder_start_token_id"))
        if start is None:
            start = end if folder.model_type in ("bart", "mbart", "m2m_100") else padding
    else:
        start = _one(folder, "start", _sought(folder, ids, "cls_token" if encodes else "bos_token"))
    end = start if end is None else end
    if end is None:
        hint = "say eos_token in tokenizer_config.json, or eos_token_id in config.json"
        raise ModelError(f"{folder.path}: no piece ends a text; {hint}")
    return SpecialIds(
        padding=end if padding is None else padding,
        start=end if start is None else start,
        end=end,
        unknown=end if unknown is None else unknown,
    )


def control_ids(folder: Folder, ids: Mapping[str, int]) -> tuple[int, ...]:
    """Give the ids of all pieces that files call special."""
    names = [name for role in _NAMED for _, name in folder.named(role)]
    names += [name for role, usual in _USUAL.items() if not folder.named(role) for name in usual]
    return tuple(sorted({ids[name] for name in (*names, *folder.additional()) if name in ids}))


def unknown_of(settings: Json, ids: Mapping[str, int]) -> int | None:
    """Give the id of what has no piece, as ``tokenizer.json`` says it."""
    model = settings["model"]
    return model.get("unk_id", ids.get(model.get("unk_token") or ""))


def _has(folder: Folder, ids: Mapping[str, int], role: str) -> bool:
    return bool(_by_name(folder, ids, role))


def _sought(folder: Folder, ids: Mapping[str, int], role: str) -> _Found:
    """Give what files say by id and by name; no id of a model is that of ``[CLS]`` or ``[SEP]``."""
    stated = folder.stated(f"{role}_id") if role not in ("cls_token", "sep_token") else []
    return [*stated, *_by_name(folder, ids, role, usual=not stated)]


def _by_name(folder: Folder, ids: Mapping[str, int], role: str, *, usual: bool = True) -> _Found:
    named = [(where, name) for where, name in folder.named(role) if name in ids]
    if not named and usual and not folder.named(role):
        named = [("the vocabulary", name) for name in _USUAL[role] if name in ids][:1]
    return [(where, (ids[name],)) for where, name in named]


def _one(folder: Folder, what: str, found: Sequence[tuple[str, tuple[int, ...]]]) -> int | None:
    """Give the id that all allow.

    Raises:
        ModelError: there is none.
    """
    if not found:
        return None
    first, allowed = found[0]
    for where, others in found[1:]:
        both = tuple(each for each in others if each in allowed)
        if not both:
            said = " or ".join(map(str, allowed)), " or ".join(map(str, others))
            raise ModelError(
                f"{folder.path}: the id for {what} is {said[0]} in {first}, but {said[1]} in "
                f"{where}; mend the wrong one"
            )
        first, allowed = where, both
    return allowed[0]
