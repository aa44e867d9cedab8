"""Special ids in ``config.json``: padding, the start and the end."""

from collections.abc import Sequence

from dragoman.interop.huggingface.family import Json, Settings
from dragoman.models import ModelConfig
from dragoman.tokenization import Tokenizer


def padding_of(theirs: Settings) -> Json:
    """Say which id fills up batches, as our choices.

    A language model often has none. Its end symbol then serves, and stays a piece like any other.
    """
    named = theirs.optional_id("pad_token_id")
    end, start = theirs.optional_id("eos_token_id"), theirs.optional_id("bos_token_id")
    if named is not None and named not in (end, start):
        return {"padding": named}
    padding = next((each for each in (named, end, start) if each is not None), 0)
    return {"padding": padding, "starts_with_padding": True}


def ids_of(config: ModelConfig, tokenizers: Sequence[Tokenizer]) -> Json:
    """Say our special ids in their words."""
    if not tokenizers:
        return {"pad_token_id": config.padding, "bos_token_id": None, "eos_token_id": None}
    special = tokenizers[-1].special
    return {
        "pad_token_id": special.padding,
        "bos_token_id": special.start,
        "eos_token_id": special.end,
    }
