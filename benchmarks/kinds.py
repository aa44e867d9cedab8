"""Where the time of a step goes, by kind of work, from PyTorch's profiler."""

from collections.abc import Iterator

from torch.profiler import ProfilerActivity, profile

KINDS = {
    "matrix products": ("aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm", "mkldnn"),
    "softmax, forward and backward": ("aten::_softmax",),
    "copies, casts, transposes": ("aten::copy_", "aten::cat", "aten::clone", "aten::index"),
    "random numbers, masks, dropout": ("aten::random_", "aten::ge", "aten::addcmul", "aten::mask"),
    "layer norms": ("aten::native_layer_norm",),
    "ReLU": ("aten::relu", "aten::clamp_min", "aten::threshold"),
    "optimizer and norm of the gradient": ("aten::_fused_adam", "aten::linalg_vector_norm"),
}


def kinds_of(steps: Iterator[float], warm_up: int) -> dict[str, float]:
    """Take all steps; share the time after the first ones out over kinds of work, in [0, 1]."""
    for _ in range(warm_up):
        next(steps)
    with profile(activities=[ProfilerActivity.CPU]) as found:
        for _ in steps:
            pass
    seconds = dict.fromkeys([*KINDS, "everything else"], 0.0)
    for event in found.key_averages():
        seconds[_kind(event.key)] += event.self_cpu_time_total
    total = sum(seconds.values())
    return {kind: spent / total for kind, spent in seconds.items()}


def _kind(name: str) -> str:
    return next(
        (kind for kind, starts in KINDS.items() if name.startswith(starts)), "everything else"
    )
