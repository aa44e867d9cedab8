"""The symbols of encoder-decoders: what stands around their sources and before their targets.

``config.json`` and ``generation_config.json`` say with what a target begins, and which piece must
come first. The rest is known of each family: Marian and T5 read ``X </s>``, BART ``<s> X </s>``,
mBART the language as well.
"""

import re
from collections.abc import Mapping, Sequence

from dragoman.bundle import frame_of
from dragoman.configfile import suggest
from dragoman.errors import ConfigError
from dragoman.interop.huggingface.family import Json, Languages, Settings
from dragoman.interop.huggingface.folder import read_json
from dragoman.models import ModelConfig
from dragoman.tokenization import ImportedTokenizer, Tokenizer

GENERATION = "generation_config.json"
_LONGEST = 256  # pieces that ``generate`` writes at most; its bound looks as far ahead
_LANGUAGE = re.compile(r"[a-z]{2,3}_[A-Z]{2}")  # as mBART names them


def generation_settings(theirs: Settings) -> Settings:
    """Read what says how the model writes, over what ``config.json`` says of it."""
    path = theirs.path.with_name(GENERATION)
    written = read_json(path) if path.exists() else {}
    stated = {key: value for key, value in written.items() if value is not None}
    return Settings({**theirs.table, **stated}, theirs.path, theirs.architecture)


def padding_of(theirs: Settings, default: int) -> Json:
    """Say which id fills up batches, and whether targets begin with it."""
    named = theirs.optional_id("pad_token_id")
    padding = default if named is None else named
    return {"padding": padding, "starts_with_padding": _start(theirs) in (None, padding)}


def usual_symbols(
    theirs: Settings, tokenizers: Sequence[Tokenizer], languages: Languages
) -> dict[str, tuple[int, ...] | None]:
    """Frame sources with the end symbol alone, as Marian and T5.

    Raises:
        ConfigError: a language is asked for.
    """
    languages.refuse("this model knows one pair of languages")
    return {"target_before": _begun(theirs, tokenizers, None)}


def bart_symbols(
    theirs: Settings, tokenizers: Sequence[Tokenizer], languages: Languages
) -> dict[str, tuple[int, ...] | None]:
    """Frame sources as ``<s> X </s>``; a target is read as ``</s> <s> X``.

    Raises:
        ConfigError: a language is asked for.
    """
    languages.refuse("this model knows one pair of languages")
    first = theirs.optional_id("bos_token_id")
    first = 0 if first is None else first
    return {"source_before": (first,), "target_before": _begun(theirs, tokenizers, first)}


def mbart_symbols(
    theirs: Settings, tokenizers: Sequence[Tokenizer], languages: Languages
) -> dict[str, tuple[int, ...] | None]:
    """Frame sources with the language of each side.

    With 25 languages it stands behind a source, and a target begins with it; with 50 it stands
    before both, and a target begins with the end symbol.

    Raises:
        ConfigError: a language is not known, or not given and not fixed in the folder.
    """
    known = languages_of(tokenizers[0])
    if not known:
        languages.refuse("the vocabulary of this model names no languages")
        return usual_symbols(theirs, tokenizers, languages)
    path = theirs.path.with_name("tokenizer_config.json")
    told = Settings(read_json(path) if path.exists() else {}, path, theirs.architecture)
    start, forced = _start(theirs), generation_settings(theirs).optional_id("forced_bos_token_id")
    by_id = {number: name for name, number in known.items()}
    fixed = by_id.get(forced if forced is not None else -1, by_id.get(start or -1))
    source = _language("source", languages.source or told.table.get("src_lang"), known)
    target = _language("target", languages.target or fixed or told.table.get("tgt_lang"), known)
    end = tokenizers[-1].special.end
    if _before_both(theirs, told, start, end):
        return {"source_before": (source,), "target_before": (end, target)}
    return {"source_after": (end, source), "target_before": (target,)}


def languages_of(tokenizer: Tokenizer) -> dict[str, int]:
    """List the languages that a vocabulary has control pieces for, by name."""
    controls = tokenizer.controls if isinstance(tokenizer, ImportedTokenizer) else {}
    return {name: number for name, number in controls.items() if _LANGUAGE.fullmatch(name)}


def written_ids(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    """Say our symbols in the words of their ``config.json``."""
    if not tokenizers:
        return {}
    frame = frame_of(config, tokenizers[-1].special)
    return {
        "pad_token_id": frame.special.padding,
        "bos_token_id": frame.special.start,
        "eos_token_id": frame.special.end,
        "decoder_start_token_id": frame.target_before[0],
    }


def generation_of(
    config: ModelConfig, tokenizers: Sequence[Tokenizer], longest: int | None
) -> Json:
    """Say in their words how we search: ``generate`` then does what our search by average does.

    Args:
        config: of the model.
        tokenizers: of the model.
        longest: positions of a target on their side; None is no limit.
    """
    frame = frame_of(config, tokenizers[-1].special)
    forced = frame.target_before[1] if len(frame.target_before) == 2 else None
    most = _LONGEST if longest is None else min(_LONGEST, longest + 1 - frame.target_added)
    return {
        **written_ids(config, tokenizers),
        "forced_bos_token_id": forced,
        "forced_eos_token_id": None,
        "suppress_tokens": [each for each in frame.never_written if each != forced],
        "do_sample": False,
        "num_beams": 4,
        "early_stopping": "never",
        "length_penalty": 1.0,
        "max_new_tokens": most,
    }


def _start(theirs: Settings) -> int | None:
    return generation_settings(theirs).optional_id("decoder_start_token_id")


def _begun(
    theirs: Settings, tokenizers: Sequence[Tokenizer], first: int | None
) -> tuple[int, ...] | None:
    """Say what targets begin with; None where it is the start symbol of the tokenizer."""
    forced = generation_settings(theirs).optional_id("forced_bos_token_id")
    start = _start(theirs)
    special = tokenizers[-1].special
    start = special.start if start is None else start
    second = first if forced is None else forced
    begun = (start,) if second is None else (start, second)
    return None if begun == (special.start,) else begun


def _before_both(theirs: Settings, told: Settings, start: int | None, end: int) -> bool:
    """Say whether languages stand before both sides, as with 50 of them."""
    for table in (told.table, theirs.table):
        named = str(table.get("tokenizer_class") or "")
        if named.startswith("MBart"):
            return named.startswith("MBart50")
    return start == end


def _language(side: str, named: object, known: Mapping[str, int]) -> int:
    """Find the id of a language; ``de`` will do for ``de_DE``."""
    place = f"{side}_language"
    if named is None:
        problem = f"is not given, and this model knows {len(known)} languages"
        raise ConfigError(place, problem, f"choose from {', '.join(known)}")
    name = str(named)
    found = [each for each in known if name == each or each.startswith(f"{name}_")]
    if len(found) != 1:
        hint = suggest(name, [*known])
        if not hint.startswith("choose"):
            hint += f"; there are {', '.join(known)}"
        raise ConfigError(place, f"{name[:80]!r} is no language of this model", hint)
    return known[found[0]]
