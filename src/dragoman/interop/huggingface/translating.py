"""An encoder-decoder of ``transformers`` as a client: it scores and translates, ids in and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.data import Frame


@dataclass(frozen=True)
class TransformersTranslator:
    """A model of ``transformers`` that reads a source and writes a target.

    Ids come in and go out bare; the symbols around them are those of ``frame``.

    Args:
        model: in evaluation mode; Any, as the library is optional.
        name: what it is called in a certificate.
        longest: pieces a source or target may have, symbols included; None is no limit.
        frame: what stands around sources and before targets.
    """

    model: Any
    name: str
    longest: int | None
    frame: Frame
    patience: float | None = 1e6  # see translate
    reads_empty: bool = True

    @property
    def banned(self) -> tuple[int, ...]:
        """Ids that the search never writes."""
        return self.frame.never_written

    @torch.no_grad()
    def log_probs(self, source: Sequence[int], target: Sequence[int]) -> NDArray[np.float32]:
        """Say how probable every piece is after each piece of a target, (T + 1, V).

        Args:
            source: bare piece ids.
            target: bare piece ids, T of them; what follows the last is the end symbol.
        """
        read = torch.tensor([self.frame.source(source)])
        logits = self.model(
            input_ids=read,
            attention_mask=torch.ones_like(read),
            decoder_input_ids=torch.tensor([self.frame.target_in(target)]),
        ).logits
        found = logits[0, self.frame.target_added - 1 :].float().log_softmax(-1)
        return found.numpy()

    @torch.no_grad()
    def translate(self, source: Sequence[int], *, beam: int, max_length: int) -> list[int]:
        """Translate with the library's own search.

        It ends and scores as ``BeamSearch(length_penalty="average", alpha=1.0, patience=1e6)``
        does, and writes no symbol that is no text: with any patience only the best ``beam``
        candidates of a step can end in ours too, and so much is never exhausted. Theirs
        prefers what is cut off at the limit, where that scores better, to what has ended; ours
        does not, so the search is then run again with no way over the limit.

        Args:
            source: bare piece ids.
            beam: hypotheses kept; 1 is greedy.
            max_length: most pieces written, the end symbol included.

        Returns:
            Bare piece ids.
        """
        end = self.frame.special.end
        written = self._generate(source, beam, max_length)
        room = self.longest is None or max_length + self.frame.target_added <= self.longest
        if beam > 1 and end not in written and room:
            ended = self._generate(source, beam, max_length + 1, wall=max_length)
            written = ended if end in ended[:max_length] else written
        return written[: written.index(end)] if end in written else written

    def _generate(
        self, source: Sequence[int], beam: int, longest: int, wall: int | None = None
    ) -> list[int]:
        """Write at most so many pieces; what goes on behind the wall scores worse than all else."""
        from transformers import GenerationConfig, LogitsProcessorList  # pyright: ignore  # optional

        frame, read = self.frame, torch.tensor([self.frame.source(source)])
        begun = torch.tensor([frame.target_before])
        search: Any = GenerationConfig(
            do_sample=False,
            num_beams=beam,
            **({"early_stopping": "never", "length_penalty": 1.0} if beam > 1 else {}),
            max_new_tokens=longest,
            suppress_tokens=list(self.banned) or None,
            pad_token_id=frame.special.padding,
            eos_token_id=frame.special.end,
            decoder_start_token_id=frame.target_before[0],
        )
        limits = [] if wall is None else [_Wall(begun.size(1) + wall)]
        # The settings of the folder would be mixed in.
        self.model.generation_config = GenerationConfig()
        (found,) = self.model.generate(
            read,
            attention_mask=torch.ones_like(read),
            decoder_input_ids=begun,
            generation_config=search,
            logits_processor=LogitsProcessorList(limits),
        ).tolist()
        return found[begun.size(1) :]


@dataclass(frozen=True)
class _Wall:
    """Makes every piece from a length on very improbable."""

    length: int

    def __call__(self, written: Tensor, scores: Tensor) -> Tensor:
        return scores - 1e4 if written.size(1) >= self.length else scores
