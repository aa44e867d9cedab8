"""Which engines translate on this machine, and in which precisions: tried, not guessed."""

from importlib.util import find_spec
from typing import Any, get_args

import torch

from dragoman.errors import ConfigError

_MISSING = "not here; pip install 'dragoman[{extra}]' brings it"


def engines_here() -> dict[str, str]:
    """Say of each engine in which precisions it computes here, or what it lacks.

    Returns:
        Findings by name, and where the kernels of ``fused`` are kept.
    """
    found = {"torch": "every model and device; float32, bfloat16, float16"}
    try:
        found |= _fused()
    except ConfigError as error:
        lacking = find_spec("numba") is None
        found["fused"] = _MISSING.format(extra="fast") if lacking else f"does not work: {error}"
    found["ctranslate2"] = _ctranslate2()
    return found


def _fused() -> dict[str, str]:
    from dragoman.decoding.fused import KEPT_IN, Kind

    kinds = ", ".join(_tried(kind) for kind in get_args(Kind))
    kept = "nowhere, as no folder can be written; NUMBA_CACHE_DIR may name one"
    return {"fused": f"Transformers; {kinds}", "kernels of fused": f"kept {KEPT_IN or kept}"}


def _tried(kind: Any) -> str:  # Any: a Kind, which is not known without numba
    """Multiply a small matrix and say how it went; the first time it is compiled."""
    from dragoman.decoding.fused.dot_products import vectors_of
    from dragoman.decoding.fused.products import DTYPES, Product
    from dragoman.decoding.fused.room import Room, as_array

    twos = torch.full((8, 8), 2.0)
    product = Product.pack(twos, None, kind)
    ones = torch.ones(1, 8).to(DTYPES[kind])
    try:
        product.multiply((ones, as_array(ones)), Room())
    except (RuntimeError, NotImplementedError) as error:  # PyTorch has no such product here
        return f"not {kind} ({str(error).splitlines()[0]})"
    vectors = vectors_of(kind)
    return f"{kind} ({'by PyTorch' if vectors is None else vectors.name})"


def _ctranslate2() -> str:
    try:
        import ctranslate2  # pyright: ignore  # optional, and without types
    except ImportError:
        return _MISSING.format(extra="ct2")
    library: Any = ctranslate2
    kinds = sorted(library.get_supported_compute_types("cpu"))
    return f"models in its own format; {', '.join(kinds)}"
