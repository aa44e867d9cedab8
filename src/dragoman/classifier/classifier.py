"""Classes, tags and gaps: what an encoder alone is good for.

Shapes: N texts or images, S positions, C classes, V vocabulary.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle, load_bundle
from dragoman.classifier.results import Classification, Filling, TaggedWord, Tagging
from dragoman.data import (
    FRAME,
    encode_document,
    encode_rest,
    frame,
    group_by_length,
    pad_rows,
    scale_images,
    tag_pieces,
)
from dragoman.device import choose_device, choose_dtype
from dragoman.errors import ModelError
from dragoman.models import ModelConfig
from dragoman.nn import CausalLM, ClassHead, EncoderOnly, PieceHead, TagHead

TEXT_LIMIT = 4096  # pieces of one text, where positions have no limit of their own
_IMAGES = 256  # in a batch

Numbers = NDArray[np.float32]


class Classifier:
    """A loaded encoder: it classifies texts or images, tags words, or fills gaps.

    Args:
        bundle: model, config and tokenizer; ``load`` reads them from a folder.
        name: of the folder, for messages.

    Raises:
        ModelError: the model is no encoder alone.
    """

    def __init__(self, bundle: Bundle, *, name: str = "this model") -> None:
        if not isinstance(bundle.model, EncoderOnly):
            kind = bundle.config.architecture
            use = "translate (dragoman.Translator in Python)"
            if isinstance(bundle.model, CausalLM):
                use = "generate (dragoman.LanguageModel in Python)"
            problem = f"a model of the kind {kind} does not classify or fill gaps"
            raise ModelError(f"{name}: {problem}; use dragoman {use}")
        assert isinstance(bundle.config, ModelConfig)
        self.bundle, self.model, self.config = bundle, bundle.model, bundle.config
        self.name = name
        self.classes = bundle.config.classes or ()
        self.text_limit = bundle.config.max_length or TEXT_LIMIT

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", dtype: str = "auto") -> "Classifier":
        """Read a model or run folder.

        Args:
            folder: holds ``config.json``, weights, and a tokenizer unless it is for images.
            device: ``auto`` takes a GPU when there is one.
            dtype: ``float32``, ``bfloat16`` or ``float16``; ``auto`` is float32.

        Raises:
            ModelError: a file is missing or damaged, or the model is of another kind.
            ConfigError: the device or dtype is not known or not here.
        """
        bundle = load_bundle(Path(folder), choose_device(device))
        bundle.model.to(choose_dtype(dtype))
        return cls(bundle, name=str(folder))

    def classify(
        self, inputs: Sequence[str] | NDArray[Any], *, batch_tokens: int = 4096
    ) -> list[Classification]:
        """Say which class each text or image belongs to.

        Args:
            inputs: raw texts, or images (N, height, width[, channels]): integers count from 0 to
                the type's largest value, floats from 0 to 1. Any: either.
            batch_tokens: most slots in a batch; the result does not depend on it.

        Raises:
            ModelError: the model has no classes for whole texts or images.
            ValueError: the images have another size than the model reads.
            TypeError: texts for a model of images, images for one of text, or one string.
        """
        self._need(ClassHead, "classify")
        if self.config.images is not None:
            return [self._classification(row, False) for row in self._of_images(inputs)]
        ids, shortened = self._cut(_texts(inputs))
        found = self._of_texts(ids, batch_tokens)
        return [self._classification(row, cut) for row, cut in zip(found, shortened, strict=True)]

    def tag(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> list[Tagging]:
        """Say what each word is; words are what stands between white space.

        Args:
            texts: raw text.
            batch_tokens: most slots in a batch; the result does not depend on it.

        Raises:
            ModelError: the model has no tags.
            TypeError: ``texts`` is one string, or no texts.
        """
        self._need(TagHead, "tag")
        tokenizer, longest = self.bundle.source_tokenizer, self.text_limit - FRAME
        words = [text.split() for text in _texts(texts)]
        # The number of a word stands where its tag would: at its first piece.
        numbered = [tag_pieces(tokenizer, " ".join(row), range(len(row))) for row in words]
        found = self._of_texts([ids[:longest] for ids, _ in numbered], batch_tokens)
        return [
            self._tagging(row, numbers[:longest], probabilities)
            for row, (_, numbers), probabilities in zip(words, numbered, found, strict=True)
        ]

    @torch.inference_mode()
    def fill(self, before: str, after: str = "", *, n_best: int = 5) -> list[Filling]:
        """Say which pieces fit a gap of one piece.

        Most pieces bring the space before a word along. Where ``before`` ends with a space, that
        space is taken for the piece's own: only pieces with one are looked at, and their ``text``
        is given without it. So ``before + text + after`` is always the whole.

        Args:
            before: text that ends at the gap.
            after: text that goes on behind it.
            n_best: how many to give; fewer when the vocabulary has not so many.

        Returns:
            The likeliest pieces, best first, with the probabilities that the model gives them.

        Raises:
            ModelError: the model does not fill gaps, or the text is longer than it takes.
            ValueError: ``n_best`` is less than 1.
        """
        self._need(PieceHead, "fill")
        if n_best < 1:
            raise ValueError(f"n_best: {n_best} is less than 1")
        tokenizer = self.bundle.source_tokenizer
        leads = (
            len(tokenizer.encode("\n")) > 1
        )  # a space before it; not where pieces are characters
        spaced = leads and before.endswith(" ")
        ids = encode_document(tokenizer, before.removesuffix(" ") if spaced else before)
        gap = len(ids) + 1
        asked = [*ids, tokenizer.gap, *encode_rest(tokenizer, after)]
        if len(asked) + FRAME > self.text_limit:
            raise ModelError(
                f"{self.name}: a text of {len(asked) + FRAME} pieces, added symbols included, is "
                f"longer than the {self.text_limit} that the model takes; shorten it"
            )
        x = torch.tensor([frame(asked, tokenizer.special)], device=self._device)
        assert isinstance(self.model.head, PieceHead)
        found = self.model.head(self.model.hidden(x)[0, gap]).float().softmax(-1)
        fillings = self._fillings(found.cpu().numpy(), ids, spaced=spaced)
        return list(islice(fillings, n_best))

    def encode(self, texts: Sequence[str], *, batch_tokens: int = 4096) -> Numbers:
        """Give each text a vector: the mean of what the stack makes of its pieces, (N, d_model).

        Start and end symbol are in the mean; so an empty text has a vector too. A text longer than
        ``text_limit`` is cut.

        Raises:
            ModelError: the model reads images.
            TypeError: ``texts`` is one string, or no texts.
        """
        if self.config.images is not None:
            raise ModelError(f"{self.name}: reads images, and gives no vectors of texts")
        ids, _ = self._cut(_texts(texts))
        vectors = np.zeros((len(ids), self.config.d_model), dtype=np.float32)
        for rows, x in self._batches(ids, batch_tokens):
            with torch.inference_mode():
                hidden = self.model.hidden(x).float()  # (rows, S, D)
                real = (x != self.model.padding)[..., None]
                vectors[rows] = ((hidden * real).sum(1) / real.sum(1)).cpu().numpy()
        return vectors

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _need(self, head: type[ClassHead | TagHead | PieceHead], wanted: str) -> None:
        """See that the model has a head for what is asked of it."""
        if isinstance(self.model.head, head):
            return
        uses = {ClassHead: "classify", TagHead: "tag", PieceHead: "fill"}
        use = next((uses[kind] for kind in uses if isinstance(self.model.head, kind)), "encode")
        raise ModelError(f"{self.name}: does not {wanted}; use {use}")

    def _cut(self, texts: Sequence[str]) -> tuple[list[list[int]], list[bool]]:
        """Turn texts into ids, cut to what the model takes; say which were longer."""
        longest = self.text_limit - FRAME
        ids = [encode_document(self.bundle.source_tokenizer, text) for text in texts]
        return [row[:longest] for row in ids], [len(row) > longest for row in ids]

    def _batches(
        self, ids: Sequence[list[int]], batch_tokens: int
    ) -> Iterator[tuple[list[int], torch.Tensor]]:
        """Put bare pieces of similar number together: which, and their ids with a frame."""
        special = self.bundle.source_tokenizer.special
        for group in group_by_length([len(row) + FRAME for row in ids], batch_tokens):
            rows = [int(row) for row in group]
            framed = [frame(ids[row], special) for row in rows]
            yield rows, pad_rows(framed, self.model.padding).to(self._device)

    def _of_texts(self, ids: Sequence[list[int]], batch_tokens: int) -> list[Numbers]:
        """Give each text its probabilities, (C,) or (S, C)."""
        found: dict[int, Numbers] = {}
        for rows, x in self._batches(ids, batch_tokens):
            found |= zip(rows, self._probabilities(x), strict=True)
        return [found[row] for row in range(len(ids))]

    def _of_images(self, images: Any) -> Iterator[Numbers]:  # Any: checked here
        if not isinstance(images, np.ndarray):
            raise TypeError("this model reads images: give an array (N, height, width, channels)")
        scaled, asked = scale_images(cast("NDArray[Any]", images)), self.config.images
        assert asked is not None
        expected = (asked.height, asked.width, asked.channels)
        if scaled.shape[1:] != expected:
            found, wanted = (" x ".join(map(str, s)) for s in (scaled.shape[1:], expected))
            raise ValueError(f"images of {found} are not the {wanted} that the model reads")
        for start in range(0, len(scaled), _IMAGES):
            x = torch.as_tensor(scaled[start : start + _IMAGES])
            yield from self._probabilities(x.to(self._device, next(self.model.parameters()).dtype))

    @torch.inference_mode()
    def _probabilities(self, x: torch.Tensor) -> Numbers:
        self.model.eval()
        return self.model(x).float().softmax(-1).cpu().numpy()

    def _classification(self, probabilities: Numbers, shortened: bool) -> Classification:
        best = int(probabilities.argmax())
        of_each = dict(zip(self.classes, map(float, probabilities), strict=True))
        return Classification(self.classes[best], float(probabilities[best]), of_each, shortened)

    def _tagging(
        self, words: Sequence[str], numbers: Sequence[int], probabilities: Numbers
    ) -> Tagging:
        """Read tags where the number of a word stands; behind the start symbol, (S, C)."""
        tagged: list[TaggedWord] = []
        for number, row in zip(numbers, probabilities[1:], strict=False):
            if number >= 0:
                best = int(row.argmax())
                tagged.append(TaggedWord(words[number], self.classes[best], float(row[best])))
        return Tagging(tuple(tagged), len(tagged) < len(words))

    def _fillings(
        self, probabilities: Numbers, before: Sequence[int], *, spaced: bool
    ) -> Iterator[Filling]:
        """Go through the pieces from the likeliest on; not through symbols and parts of characters.

        Args:
            probabilities: of each piece, (V,).
            before: pieces before the gap.
            spaced: whether only pieces that bring a space along are wanted, without it.
        """
        tokenizer = self.bundle.source_tokenizer
        start = len(tokenizer.decode(before))
        for piece in np.argsort(-probabilities, kind="stable").tolist():
            text = tokenizer.decode([*before, piece])[start:]
            (name,) = tokenizer.pieces([piece])
            if not text or "\N{REPLACEMENT CHARACTER}" in text:
                continue
            if spaced:
                if not name.startswith(" ") or name == " ":
                    continue
                text = name[1:]
            yield Filling(text, name, float(probabilities[piece]))


def _texts(inputs: Any) -> Sequence[str]:  # Any: checked here
    if isinstance(inputs, str | np.ndarray):
        what = "an array" if isinstance(inputs, np.ndarray) else "one string"
        raise TypeError(f"this model reads a list of strings, not {what}")
    return inputs
