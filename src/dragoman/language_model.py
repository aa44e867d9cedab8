"""Text continued, and text weighed: what a decoder alone is good for."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from dragoman.bundle import Bundle, load_bundle
from dragoman.data import encode_document, group_by_length, pad_rows
from dragoman.decoding import Hypothesis, Sampling, continue_texts
from dragoman.device import choose_device, choose_dtype
from dragoman.errors import ConfigError, ModelError
from dragoman.evaluation import perplexity, target_log_probs
from dragoman.nn import CausalLM, EncoderOnly

_SAMPLE = 1 << 32  # between the seeds of two samples of a prompt; there are never so many prompts


@dataclass(frozen=True, slots=True)
class Continuation:
    """One continuation of a prompt.

    Args:
        prompt: as given.
        text: what follows it, without any special symbol; ``prompt + text`` is the whole.
        tokens: pieces drawn, the end symbol included unless truncated.
        log_probs: natural logarithms of what the model holds of each, one per piece.
        truncated: whether it reached its limit before it ended.
    """

    prompt: str
    text: str
    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    truncated: bool

    @property
    def log_prob(self) -> float:
        """Log-probability of all that follows the prompt."""
        return math.fsum(self.log_probs)


@dataclass(frozen=True, slots=True)
class TextScore:
    """How probable a text is to a model.

    Args:
        tokens: its pieces, the end symbol last.
        log_probs: natural logarithm of the probability of each piece, the end symbol last.
        characters: of the text; the end symbol is none.
    """

    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    characters: int

    @property
    def log_prob(self) -> float:
        """Log-probability of the whole text: the chain rule's sum."""
        return math.fsum(self.log_probs)

    @property
    def perplexity(self) -> float:
        """Exponential of the mean surprise per piece, the end symbol included."""
        return perplexity(-self.log_prob / len(self.log_probs))

    @property
    def bits_per_character(self) -> float:
        """Bits of the whole, the end symbol included, over characters; at least one is counted."""
        return -self.log_prob / math.log(2) / max(self.characters, 1)


class LanguageModel:
    """A loaded model that continues text and says how probable it is.

    Args:
        bundle: model, config and tokenizer; ``load`` reads them from a folder.

    Raises:
        ModelError: the model is no decoder alone.
    """

    def __init__(self, bundle: Bundle) -> None:
        if not isinstance(bundle.model, CausalLM):
            kind = bundle.config.architecture
            use = "translate (dragoman.Translator in Python)"
            if isinstance(bundle.model, EncoderOnly):
                use = "classify or fill (dragoman.Classifier in Python)"
            raise ModelError(
                f"a model of the kind {kind} does not continue text; use dragoman {use}"
            )
        self.bundle, self.model = bundle, bundle.model
        self.tokenizer = bundle.target_tokenizer
        self.special = self.tokenizer.special

    @classmethod
    def load(
        cls, folder: str | Path, *, device: str = "auto", dtype: str = "auto"
    ) -> "LanguageModel":
        """Read a model or run folder.

        Args:
            folder: holds ``config.json``, weights and the tokenizer.
            device: ``auto`` takes a GPU when there is one.
            dtype: ``float32``, ``bfloat16`` or ``float16``; ``auto`` is float32.

        Raises:
            ModelError: a file is missing or damaged, or the model is of another kind.
            ConfigError: the device or dtype is not known or not here.
        """
        bundle = load_bundle(Path(folder), choose_device(device))
        bundle.model.to(choose_dtype(dtype))
        try:
            return cls(bundle)
        except ModelError as error:
            raise ModelError(f"{folder}: {error}") from None

    def generate(
        self,
        prompts: Sequence[str],
        *,
        samples: int = 1,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        max_length: int = 256,
        seed: int = 1,
        batch_tokens: int = 4096,
    ) -> list[list[Continuation]]:
        """Continue prompts; what each gets does not depend on how they share batches.

        Args:
            prompts: raw text, which may be empty.
            samples: how many continuations of each prompt.
            temperature: below 1 favours likely pieces, above 1 unlikely ones; 0 is greedy.
            top_k: most pieces that may be drawn in a step; None means all.
            top_p: share in (0, 1] of the probability that stays at least; None means 1.
            min_p: least probability, as a share of the likeliest piece's; None means 0.
            max_length: most pieces drawn, the end symbol included.
            seed: decides the luck, together with the place of the prompt.
            batch_tokens: most pieces, drawn ones included, in a batch.

        Returns:
            For each prompt its continuations; the first does not depend on how many there are.

        Raises:
            ConfigError: a setting is impossible.
            ModelError: a prompt is longer than the positions of the model.
            TypeError: ``prompts`` is one string.
        """
        sampling = Sampling(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            max_length=max_length,
            seed=seed,
        )
        return self._generate(prompts, 0, sampling, samples, batch_tokens)

    def stream(
        self,
        prompts: Iterable[str],
        sampling: Sampling,
        *,
        samples: int = 1,
        at_once: int = 256,
        batch_tokens: int = 4096,
    ) -> Iterator[list[Continuation]]:
        """Continue an endless supply of prompts in order, as ``generate`` would all together.

        Args:
            prompts: raw text, which may be empty.
            sampling: how pieces are drawn.
            samples: how many continuations of each prompt.
            at_once: how many prompts are read before the first is continued.
            batch_tokens: most pieces, drawn ones included, in a batch.
        """
        supply, first = iter(prompts), 0
        while group := list(islice(supply, at_once)):
            yield from self._generate(group, first, sampling, samples, batch_tokens)
            first += len(group)

    def _generate(
        self,
        prompts: Sequence[str],
        first: int,
        sampling: Sampling,
        samples: int,
        batch_tokens: int,
    ) -> list[list[Continuation]]:
        """Continue prompts, the first of which is number ``first`` of all."""
        if isinstance(prompts, str):
            raise TypeError("prompts is a list of strings, not one string")
        if samples < 1:
            raise ConfigError("samples", f"{samples} is less than 1")
        ids = [encode_document(self.tokenizer, prompt) for prompt in prompts]
        self._check_lengths(ids, "prompt", first)
        numbers = range(first, first + len(prompts))
        found = iter(
            continue_texts(
                self.model,
                [pieces for pieces in ids for _ in range(samples)],
                sampling,
                self.special,
                seeds=[number + _SAMPLE * n for number in numbers for n in range(samples)],
                batch_tokens=batch_tokens,
            )
        )
        return [
            [self._continuation(text, pieces, next(found)) for _ in range(samples)]
            for text, pieces in zip(prompts, ids, strict=True)
        ]

    @torch.inference_mode()
    def score(
        self, texts: Sequence[str], *, batch_tokens: int = 4096, before: int = 0
    ) -> list[TextScore]:
        """Say how probable each text is, from its beginning to its end.

        Args:
            texts: raw text; an empty one is its end symbol alone.
            batch_tokens: most slots in a batch; the result does not depend on it.
            before: texts of the same supply that came before; an error counts on from them.

        Raises:
            ModelError: a text is longer than the positions of the model.
            TypeError: ``texts`` is one string.
        """
        if isinstance(texts, str):
            raise TypeError("texts is a list of strings, not one string")
        start, end, padding = self.special.start, self.special.end, self.model.padding
        device = self.model.generator.table.device
        ids = [encode_document(self.tokenizer, text) for text in texts]
        self._check_lengths(ids, "text", before)
        scores: list[TextScore | None] = [None] * len(ids)
        for group in group_by_length(np.array([len(row) + 1 for row in ids]), batch_tokens):
            rows = [int(row) for row in group]
            inputs = pad_rows([[start, *ids[row]] for row in rows], padding).to(device)
            targets = pad_rows([[*ids[row], end] for row in rows], padding).to(device)
            found = target_log_probs(self.model(inputs), targets).cpu().numpy()
            for row, log_probs in zip(rows, found, strict=True):
                pieces = [*ids[row], end]
                real = tuple(float(value) for value in log_probs[: len(pieces)])
                tokens = tuple(self.tokenizer.pieces(pieces))
                scores[row] = TextScore(tokens, real, len(texts[row]))
        return [score for score in scores if score is not None]

    def _check_lengths(self, rows: Sequence[Sequence[int]], what: str, first: int = 0) -> None:
        """See that every row fits with the start symbol, before any is run."""
        limit = self.model.max_length
        for number, row in enumerate(rows, start=first + 1):
            if limit is not None and len(row) + 1 > limit:
                raise ModelError(
                    f"{what} {number}: {len(row) + 1} pieces with the start symbol, the model has "
                    f"{limit} positions; shorten it"
                )

    def _continuation(self, prompt: str, pieces: Sequence[int], found: Hypothesis) -> Continuation:
        # Decoded together, so that only the space before a whole text comes off; a prompt is whole
        # characters, so what follows is decoded as it would be alone.
        before = self.tokenizer.decode(pieces)
        text = self.tokenizer.decode([*pieces, *found.ids])[len(before) :]
        ids = found.ids if found.truncated else (*found.ids, self.special.end)
        tokens = tuple(self.tokenizer.pieces(ids))
        return Continuation(prompt, text, tokens, found.log_probs, found.truncated)
