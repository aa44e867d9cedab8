"""What a model card says of tokenizers."""

from collections.abc import Sequence
from dataclasses import fields

from dragoman.tokenization import SpecialIds, Tokenizer


def vocabulary_lines(tokenizers: Sequence[Tokenizer]) -> list[str]:
    """Describe tokenizers in lines of Markdown, one each: size, special symbols, what comes back.

    Args:
        tokenizers: of a bundle; none for a model that reads images.
    """
    sides = ("vocabulary",) if len(tokenizers) == 1 else ("source vocabulary", "target vocabulary")
    return [
        f"- {side}: {tokenizer.size:,} pieces; {_symbols(tokenizer)}; {_promise(tokenizer)}"
        for side, tokenizer in zip(sides, tokenizers, strict=False)
    ]


def _symbols(tokenizer: Tokenizer) -> str:
    names, special = tokenizer.names(), tokenizer.special
    named = ((each.name, getattr(special, each.name)) for each in fields(SpecialIds))
    return ", ".join(f"{role} `{names[number]}` ({number})" for role, number in named)


def _promise(tokenizer: Tokenizer) -> str:
    if tokenizer.lossless:
        return f"lossless up to the form {tokenizer.normal_form}"
    return (
        "imported with the ids, the normal form and the cuts of its toolkit, so that text does not "
        "always come back; typed names of symbols stay text"
    )
