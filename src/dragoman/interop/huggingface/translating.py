"""An encoder-decoder of ``transformers`` as a client: it scores and translates, ids in and out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

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
        candidates of a step can end in ours too, and so much is never exhausted.

        Args:
            source: bare piece ids.
            beam: hypotheses kept; 1 is greedy.
            max_length: most pieces written, the end symbol included.

        Returns:
            Bare piece ids.
        """
        from transformers import GenerationConfig  # pyright: ignore  # optional

        special, read = self.frame.special, torch.tensor([self.frame.source(source)])
        begun = torch.tensor([self.frame.target_before])
        search: Any = GenerationConfig(
            do_sample=False,
            num_beams=beam,
            **({"early_stopping": "never", "length_penalty": 1.0} if beam > 1 else {}),
            num_return_sequences=beam,
            max_new_tokens=max_length,
            suppress_tokens=list(self.banned),
            pad_token_id=special.padding,
            eos_token_id=special.end,
            decoder_start_token_id=self.frame.target_before[0],
        )
        found = self._plain().generate(
            read,
            attention_mask=torch.ones_like(read),
            decoder_input_ids=begun,
            generation_config=search,
        )
        best = [ids[begun.size(1) :] for ids in found.tolist()]
        # Theirs mixes what is cut off with what has ended; ours gives the former only if it must.
        written: list[int] = next((ids for ids in best if special.end in ids), best[0])
        return written[: written.index(special.end)] if special.end in written else written

    def _plain(self) -> Any:
        """Give the model without the settings of its folder, which would be mixed in."""
        from transformers import GenerationConfig  # pyright: ignore  # optional

        self.model.generation_config = GenerationConfig()
        return self.model
