"""The real client: ``transformers`` on a folder, ids in and numbers out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.errors import MissingExtraError, ModelError
from dragoman.interop.huggingface.folder import read_json
from dragoman.interop.huggingface.pickles import refuse_pickles
from dragoman.interop.huggingface.reading import find_family
from dragoman.interop.huggingface.translating import TransformersTranslator
from dragoman.models import ModelConfig


@dataclass(frozen=True)
class TransformersReader:
    """A model of ``transformers`` that reads one text: a language model or an encoder.

    Args:
        model: Any, as the library is optional.
        name: what it is called in a certificate.
        longest: pieces a text may have, symbols included; None is no limit.
        pooled: whether the one vector of a whole text is wanted from a bare stack.
    """

    model: Any
    name: str
    longest: int | None
    pooled: bool = False

    @torch.no_grad()
    def outputs(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Give what the model computes for ids, symbols included.

        Returns:
            Logits (L, V) of a language model or of what fills in pieces, (L, C) of tags; the
            logits (C,) of classes; otherwise hidden states (L, D), or the pooled vector (D,).
        """
        given = self.model(
            input_ids=torch.tensor([list(ids)]), attention_mask=torch.ones(1, len(ids))
        )
        if "logits" in given:
            found = given.logits
        else:
            found = given.pooler_output if self.pooled else given.last_hidden_state
        return found[0].float().numpy()


def open_huggingface(folder: Path, bundle: Bundle) -> TransformersReader | TransformersTranslator:
    """Load a folder with ``transformers``, as its users do.

    Args:
        folder: with ``config.json`` and weights.
        bundle: what it was written from or read as.

    Raises:
        ModelError: it makes up weights or leaves some out, or cannot load the folder.
        MissingExtraError: ``transformers`` is not installed.
    """
    refuse_pickles(folder)
    path = folder / "config.json"
    family, architecture = find_family(read_json(path), path)
    assert isinstance(bundle.config, ModelConfig)
    longest = bundle.config.max_length
    if family.symbols is not None:
        architecture = family.architectures[0]  # of the bare stack, the one with an output
        model = load_transformers(folder, architecture)
        rows = getattr(model.config, "max_position_embeddings", longest)
        name = f"transformers {architecture}"
        frame = bundle.frame
        # Without symbols around it nothing is left of an empty source for theirs to read.
        reads_empty = bool(frame.source_before or frame.source_after)
        return TransformersTranslator(model, name, rows, frame, reads_empty=reads_empty)
    model = load_transformers(folder, architecture)
    pooled = bundle.config.architecture == "encoder-only" and bundle.config.head == "pooled"
    return TransformersReader(model, f"transformers {architecture}", longest, pooled)


def load_transformers(folder: Path, architecture: str) -> Any:
    """Load a model of one class in float32, and see that all of its weights come from the folder.

    Raises:
        ModelError: some do not, or the folder cannot be loaded.
        MissingExtraError: ``transformers`` is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    make: Any = getattr(transformers, architecture)
    logging: Any = transformers.utils.logging
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()  # what is said to users is said by whoever asked for this
    try:
        model, told = make.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as error:  # whatever the library stumbles over, in whatever version
        problem = str(error).splitlines()[0][:200] if str(error) else repr(error)
        raise ModelError(f"{folder}: transformers cannot load it: {problem}") from None
    finally:
        if shown:
            logging.enable_progress_bar()
    made_up = [*told["missing_keys"], *told["mismatched_keys"]]
    if made_up:
        raise ModelError(
            f"{folder}: transformers makes up weights: {', '.join(map(str, made_up[:3]))}"
        )
    model.config.return_dict = True  # as usual, whatever config.json says
    return model.eval()


def auto_tokenizer_ids(folder: Path, texts: Sequence[str]) -> list[list[int]] | None:
    """Cut texts as ``AutoTokenizer`` does, typed symbols as text and none around; None if it fails.

    Raises:
        MissingExtraError: ``transformers`` is not installed.
    """
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    try:
        auto: Any = transformers.AutoTokenizer
        loaded = auto.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        asked = {"add_special_tokens": False, "split_special_tokens": True}
        cut: Any = [loaded(text, **asked)["input_ids"] for text in texts]
        return [[int(number) for number in ids] for ids in cut]
    except Exception:  # whatever it stumbles over: the folder may hold files of older releases
        return None
