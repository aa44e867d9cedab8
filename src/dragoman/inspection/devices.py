"""What devices can do, by public figures; each with where it comes from, and where else it stands.

Peaks are dense (without sparsity), with sums in float32 (the P100's fp16 in float16). ``link`` is
what one device of a machine sends and receives at once, one direction, to the others in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dragoman.errors import ConfigError

Format = Literal["fp32", "tf32", "bf16", "fp16"]

NETWORK = 12.5e9  # bytes/s between machines for each device: 100 Gbit/s, assumed
IN_A_MACHINE = 8  # devices that have ``link`` between them; more go over the network

LAUNCH = 5e-6  # seconds to start an operator on a GPU: microseconds (modal.com/gpu-glossary)
PROCESSOR = "cpu"  # this machine's, which is timed and has no figures here

_LARGE = "what large models reach: 21 to 46 % (Chowdhery et al. 2022, arXiv 2204.02311, table 3)"
_DELL = "Dell EMC Ready Solutions for AI, reference guide v1.0, page 17"
_VOLTA = "maosong.website/p/nvidia-gpu-specs"
_AMPERE = "glennklockwood.com/garden/processors/A100"
_HOPPER = "glennklockwood.com/garden/processors/h100"
_PEAKS = (
    "peak tables of public training code (bf16 in H100 989, A100 312, RTX 4090 165, RTX 3090 71)"
)
_PCIE = "dev.to, Multi-GPU for local AI in 2026: PCIe 4.0 x16 64 GB/s both directions together"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device.

    Args:
        title: in words.
        memory: bytes.
        bandwidth: bytes/s between it and its memory.
        link: bytes/s to other devices of the machine; 0 for processors, whose memory is shared.
        peak: FLOP/s in each number format it multiplies in.
        utilization: share of the peak that a whole update reaches, a guess; None where ``peak`` and
            ``bandwidth`` are what products and all else were timed to reach.
        utilization_source: where that share comes from.
        operator_seconds: to start an operator, however small.
        reserved: bytes of memory that PyTorch and its libraries take for themselves.
        rounding: bytes that the allocator takes for each byte of activations: it rounds up, and
            cannot use all that was given back to it. What stays for the whole run is not rounded.
        kept: share of what an update holds in small pieces that the allocator keeps after it.
        source: where the figures come from.
        confirmed: for each figure by its name (``memory``, ``bandwidth``, ``link`` and the formats
            of ``peak``), a second place that gives the same.
    """

    title: str
    memory: float
    bandwidth: float
    link: float
    peak: Mapping[Format, float]
    utilization: float | None
    utilization_source: str
    operator_seconds: float = 0.0
    reserved: float = 0.6 * 2**30
    rounding: float = 1.1
    kept: float = 0.0
    source: str
    confirmed: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def processor(self) -> bool:
        """Whether it is a thread of a processor, whose threads share all that is said of it."""
        return self.link == 0

    def format_for(self, asked: str) -> Format:
        """Say what a run multiplies in on this device when its recipe asks for ``asked``.

        ``auto`` is bf16 where the device is much faster with it. Float32 stays float32: a run does
        not take TF32 unasked.

        Raises:
            ConfigError: the device has no units for that format.
        """
        if asked == "auto":
            return "bf16" if "bf16" in self.peak else "fp32"
        for name in ("fp32", "bf16", "fp16"):
            if name == asked and name in self.peak:
                return name
        names = ", ".join(name for name in self.peak if name != "tf32")
        raise ConfigError(
            "training.precision",
            f"a {self.title} has no fast {asked}",
            f"with --set training.precision=auto it would compute in one of {names}",
        )


def _gpu(
    title: str,
    *,
    gigabytes: float,
    bandwidth: float,
    link: float,
    peak: Mapping[Format, float],
    source: str,
    confirmed: Mapping[str, str],
    utilization: float = 0.30,
    utilization_source: str = _LARGE,
) -> Device:
    """Make a GPU: memory in 10⁹ bytes, bandwidths in 10⁹ bytes/s, peaks in 10¹² FLOP/s."""
    return Device(
        title=title,
        memory=gigabytes * 1e9,
        bandwidth=bandwidth * 1e9,
        link=link * 1e9,
        peak={name: tera * 1e12 for name, tera in peak.items()},
        utilization=utilization,
        utilization_source=utilization_source,
        operator_seconds=LAUNCH,
        source=source,
        confirmed=confirmed,
    )


def devices() -> dict[str, Device]:
    """Give all devices with public figures by the names that ``--hardware`` takes."""
    return {
        "p100": _gpu(
            "NVIDIA Tesla P100 SXM2",
            gigabytes=16,
            bandwidth=732,
            link=80,
            peak={"fp32": 10.6, "fp16": 21.2},
            utilization=0.33,
            utilization_source="fitted to the paper's two runs (section 5.2), which reach 28 % "
            "(base) and 38 % (big) of 10.6 TFLOP/s by our count of operations",
            source="NVIDIA Tesla P100 data sheet and GP100 whitepaper WP-08019-001",
            confirmed=_all(
                "memory fp32 fp16",
                "tech4gamers.com/nvidia-tesla-p100-will-be-available-in-two-variants-of-16gb-12gb-hbm2",
                bandwidth=_DELL,
                link=_DELL,
            ),
        ),
        "v100": _gpu(
            "NVIDIA V100 SXM2 32 GB",
            gigabytes=32,
            bandwidth=900,
            link=150,
            peak={"fp32": 15.7, "fp16": 125},
            source="NVIDIA V100 data sheet",
            confirmed=_all(
                "fp32 fp16",
                _VOLTA,
                memory="huggingface.co/RajBhope/gpu-runtime-predictor, gpu_catalog.json",
                bandwidth=_DELL,
                link=_DELL,
            ),
        ),
        "a100": _gpu(
            "NVIDIA A100 SXM 80 GB",
            gigabytes=80,
            bandwidth=2039,
            link=300,
            peak={"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312},
            source="NVIDIA A100 data sheet",
            confirmed=_all("memory bandwidth link fp32 tf32 bf16 fp16", _AMPERE),
        ),
        "h100": _gpu(
            "NVIDIA H100 SXM",
            gigabytes=80,
            bandwidth=3350,
            link=450,
            peak={"fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4},
            source="NVIDIA H100 architecture whitepaper, dense figures",
            confirmed=_all("memory bandwidth link fp32 tf32 bf16 fp16", _HOPPER),
        ),
        "h200": _gpu(
            "NVIDIA H200 SXM",
            gigabytes=141,
            bandwidth=4800,
            link=450,
            peak={"fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4},
            source="NVIDIA H200 data sheet; computes as an H100 does",
            confirmed=_all(
                "memory bandwidth link",
                "www.aiminingco.com/gpu/h200/specs",
                **_all("fp32 tf32 bf16 fp16", _HOPPER),
            ),
        ),
        "rtx3090": _gpu(
            "NVIDIA GeForce RTX 3090",
            gigabytes=24,
            bandwidth=936,
            link=32,
            peak={"fp32": 35.6, "bf16": 71, "fp16": 71},
            source="NVIDIA GA102 whitepaper; PCIe 4.0 x16 between cards",
            confirmed=_all(
                "memory bandwidth fp32",
                "gpu.spicedreamphone.com/en/gpu/a40-pcie-vs-geforce-rtx-3090",
                **_all("bf16 fp16", _PEAKS),
                link=_PCIE,
            ),
        ),
        "rtx4090": _gpu(
            "NVIDIA GeForce RTX 4090",
            gigabytes=24,
            bandwidth=1008,
            link=32,
            peak={"fp32": 82.6, "tf32": 82.6, "bf16": 165.2, "fp16": 165.2},
            source="NVIDIA Ada whitepaper; PCIe 4.0 x16 between cards",
            confirmed=_all(
                "memory bandwidth fp32 tf32 bf16 fp16",
                "waredb.com/processor/nvidia-geforce-rtx-4090",
                link=_PCIE,
            ),
        ),
    }


def _all(names: str, source: str, **others: str) -> dict[str, str]:
    """Say that several figures stand in one place, and ``others`` elsewhere."""
    return {**dict.fromkeys(names.split(), source), **others}


def parse_hardware(text: str) -> tuple[str, int]:
    """Read ``h100:8``: a device and how many there are; of ``cpu``, threads.

    Raises:
        ConfigError: no such device, or no such number.
    """
    name, colon, count = text.strip().lower().partition(":")
    known = (*devices(), PROCESSOR)
    if name not in known:
        raise ConfigError("--hardware", f"{name!r} is not known", f"try {', '.join(known)}")
    if colon and not (count.isascii() and count.isdigit() and 0 < int(count) <= 100_000):
        raise ConfigError("--hardware", f"{count!r} is no number of devices", f"try {name}:8")
    return name, int(count) if colon else 1
