"""Which engine finds translations: the one asked for, or the one measured to be faster here."""

import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, cast

import torch

from dragoman.data import Frame
from dragoman.decoding.engine import decode, most_written
from dragoman.decoding.engines import Engine, FusedEngine, TorchEngine
from dragoman.decoding.ensemble import Ensemble
from dragoman.decoding.settings import BeamSearch
from dragoman.device import choose_dtype
from dragoman.errors import ConfigError
from dragoman.machine import cache_file, machine_name, measured, remember
from dragoman.models import SequenceToSequence
from dragoman.tokenization import SpecialIds

ENGINES = ("auto", "torch", "fused")
KINDS = {"auto": "float32", "float32": "float32", "bfloat16": "bfloat16", "int8": "int8"}
WAY = 1  # of measuring; another one forgets what was found before
SENTENCES, PIECES, STEPS = 48, 16, 12  # of the measurement
ROUNDS = 3  # of which the fastest counts


def choose_engine(
    model: SequenceToSequence | Ensemble,
    special: SpecialIds | Frame,
    *,
    engine: str = "auto",
    dtype: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Engine:
    """Make an engine of a model, which goes to the dtype.

    ``auto`` is ``torch`` on a GPU, for models that ``fused`` does not know, where numba is not
    installed and where compiled kernels cannot be kept. Elsewhere it is the one that decoded
    made-up sentences faster, which is measured once for a machine and the shapes of a model.

    Args:
        model: on its device, in evaluation mode.
        special: ids that are never text, or how they stand around a source and before a target.
        engine: ``auto``, ``torch`` or ``fused``.
        dtype: ``auto``, ``float32``, ``bfloat16``, ``float16``; with ``fused`` also ``int8``.
        say: is told what takes long.

    Raises:
        ConfigError: an unknown name, or one that does not go with the others, the model or this
            machine.
    """
    if engine not in ENGINES:
        raise ConfigError(
            "engine",
            f"{engine!r} is not an engine",
            f"choose from {', '.join(ENGINES)}, ctranslate2",
        )
    if dtype != "int8":
        choose_dtype(dtype)  # is it known?
    on_cpu = next(model.parameters()).device.type == "cpu"
    if engine == "torch" or (engine == "auto" and dtype != "int8" and not _may_be_fused(on_cpu)):
        return _torch_engine(model, dtype)
    if not on_cpu:
        raise ConfigError("engine", "fused runs on a CPU", "set device to cpu or engine to torch")
    if dtype not in KINDS:
        hint = f"choose from {', '.join(KINDS)}"
        if engine == "auto":
            return _torch_engine(model, dtype)
        raise ConfigError("dtype", f"fused does not compute in {dtype}", hint)
    kind = cast("Any", KINDS[dtype])
    if engine == "fused" or dtype == "int8":
        return FusedEngine.of(model, kind, say=say)
    try:
        fused = FusedEngine.of(model, kind, say=say)
    except ConfigError:
        return _torch_engine(model, dtype)
    plain = _torch_engine(model, dtype)
    if not fused.keeps_kernels:  # compiling takes longer than most translations
        return plain
    return fused if _is_faster(fused, plain, kind, special, say) else plain


def _may_be_fused(on_cpu: bool) -> bool:
    return on_cpu and find_spec("numba") is not None


def _torch_engine(model: SequenceToSequence | Ensemble, dtype: str) -> TorchEngine:
    if dtype == "int8":
        hint = "leave engine out, or set dtype to float32"
        raise ConfigError("dtype", "the engine torch does not compute in int8", hint)
    model.to(choose_dtype(dtype))
    return TorchEngine(model)


def _is_faster(
    fused: FusedEngine,
    plain: TorchEngine,
    kind: str,
    special: SpecialIds | Frame,
    say: Callable[[str], None],
) -> bool:
    """Look up which engine was faster, or measure it now."""
    weights = ", ".join(
        f"{name} {'x'.join(map(str, weight.shape))}"
        for name, weight in plain.model.named_parameters()
    )
    device = torch.device("cpu")
    versions = f"torch {torch.__version__}, numba {version('numba')}"
    about = f"{fused.workers} workers, {kind}, {_digest(weights)}"
    key = f"way {WAY}, {versions}, {machine_name(device)}, {about}"
    file = cache_file("engines.json")
    known = measured(file)
    if known.get(key) not in ("fused", "torch"):
        say("measuring which engine is faster here, once for such a model; takes some seconds")
        speeds = {
            name: _seconds(engine, special) for name, engine in (("fused", fused), ("torch", plain))
        }
        known[key] = min(speeds, key=lambda name: speeds[name])
        remember(file, known)
    return known[key] == "fused"


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()[:16]


def _seconds(engine: Engine, special: SpecialIds | Frame) -> float:
    """Time how long made-up sentences take; the first round, which compiles, does not count."""
    frame = Frame.of(special)
    taken = {*frame.never_written, frame.special.end}
    piece = next(piece for piece in range(len(taken) + 1) if piece not in taken)
    most = engine.model.max_source_length
    pieces = PIECES if most is None else max(1, min(PIECES, most - frame.source_added))
    steps = min(STEPS, most_written(engine.model, frame))
    sources = [[piece] * pieces for _ in range(SENTENCES)]
    search = BeamSearch(beam=4, max_length=steps, min_length=steps)
    times: list[float] = []
    for _ in range(ROUNDS + 1):
        begin = time.perf_counter()
        decode(engine, sources, search, special)
        times.append(time.perf_counter() - begin)
    return min(times[1:])
