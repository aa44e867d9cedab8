"""What devices can do, by public figures; each with where it comes from.

Peaks are dense (without sparsity), with sums in float32. ``link`` is what one device of a machine
sends and receives at once, one direction, to the others in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dragoman.errors import ConfigError

Format = Literal["fp32", "tf32", "bf16", "fp16"]

PAPER_SUSTAINED = 9.5e12  # FLOP/s of a P100, footnote 5 of the paper
NETWORK = 12.5e9  # bytes/s between machines for each device: 100 Gbit/s, assumed
IN_A_MACHINE = 8  # devices that have ``link`` between them; more go over the network

_LARGE = "what large models reach: 21 to 46 % (Chowdhery et al. 2022, arXiv 2204.02311, table 3)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device.

    Args:
        title: in words.
        memory: bytes.
        bandwidth: bytes/s between it and its memory.
        link: bytes/s to other devices of the machine; 0 for processors, whose memory is shared.
        peak: FLOP/s in each number format it multiplies in.
        utilization: share of the peak that a whole update reaches.
        utilization_source: where that share comes from.
        reserved: bytes of memory that PyTorch and its libraries take for themselves.
        rounding: bytes that the allocator takes for each byte of activations: it rounds up, and
            cannot use all that was given back to it. What stays for the whole run is not rounded.
        source: where the figures come from.
    """

    title: str
    memory: float
    bandwidth: float
    link: float
    peak: Mapping[Format, float]
    utilization: float
    utilization_source: str
    reserved: float = 0.6 * 2**30
    rounding: float = 1.1
    source: str

    @property
    def processor(self) -> bool:
        """Whether it is a core of a processor; a count of them is a count of threads."""
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
) -> Device:
    """Make a GPU: memory in 10⁹ bytes, bandwidths in 10⁹ bytes/s, peaks in 10¹² FLOP/s."""
    return Device(
        title=title,
        memory=gigabytes * 1e9,
        bandwidth=bandwidth * 1e9,
        link=link * 1e9,
        peak={name: tera * 1e12 for name, tera in peak.items()},
        utilization=0.30,
        utilization_source=_LARGE,
        source=source,
    )


def devices() -> dict[str, Device]:
    """Give all known devices by the names that ``--hardware`` takes."""
    return {
        "p100": Device(
            title="NVIDIA Tesla P100 SXM2",
            memory=16e9,
            bandwidth=732e9,
            link=80e9,
            peak={"fp32": 10.6e12, "fp16": 21.2e12},
            utilization=0.33,
            utilization_source="the mean of the paper's two runs (section 5.2): base 28 %, big 38 %"
            " of 10.6 TFLOP/s by our count of operations",
            source="NVIDIA Tesla P100 data sheet and GP100 whitepaper WP-08019-001",
        ),
        "v100": _gpu(
            "NVIDIA V100 SXM2",
            gigabytes=32,
            bandwidth=900,
            link=150,
            peak={"fp32": 15.7, "fp16": 125},
            source="NVIDIA V100 data sheet",
        ),
        "a100": _gpu(
            "NVIDIA A100 SXM 80 GB",
            gigabytes=80,
            bandwidth=2039,
            link=300,
            peak={"fp32": 19.5, "tf32": 156, "bf16": 312, "fp16": 312},
            source="NVIDIA A100 data sheet",
        ),
        "h100": _gpu(
            "NVIDIA H100 SXM",
            gigabytes=80,
            bandwidth=3350,
            link=450,
            peak={"fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4},
            source="NVIDIA H100 architecture whitepaper, dense figures",
        ),
        "h200": _gpu(
            "NVIDIA H200 SXM",
            gigabytes=141,
            bandwidth=4800,
            link=450,
            peak={"fp32": 66.9, "tf32": 494.7, "bf16": 989.4, "fp16": 989.4},
            source="NVIDIA H200 data sheet; computes as an H100 does",
        ),
        "rtx3090": _gpu(
            "NVIDIA GeForce RTX 3090",
            gigabytes=24,
            bandwidth=936,
            link=32,
            peak={"fp32": 35.6, "tf32": 35.6, "bf16": 71, "fp16": 71},
            source="NVIDIA GA102 whitepaper; PCIe 4.0 x16 between cards",
        ),
        "rtx4090": _gpu(
            "NVIDIA GeForce RTX 4090",
            gigabytes=24,
            bandwidth=1008,
            link=32,
            peak={"fp32": 82.6, "tf32": 82.6, "bf16": 165.2, "fp16": 165.2},
            source="NVIDIA Ada whitepaper; PCIe 4.0 x16 between cards",
        ),
        "cpu": Device(
            title="core of an AMD EPYC (family 26, model 2)",
            memory=12 * 2**30,
            bandwidth=21.5e9,
            link=0,
            peak={"fp32": 224e9, "bf16": 470e9},
            utilization=0.53,
            utilization_source="benchmarks/results/train-2026-11-30: fp32 58 %, bf16 48 %",
            reserved=0.35 * 2**30,
            rounding=1.3,  # of glibc; 1.0 to 1.4 in four runs beside those of benchmarks/plan.py
            source="half of 2 cores and 23.5 GiB; products measured in the same file, bandwidth by "
            "copying 256 MiB",
        ),
    }


def parse_hardware(text: str) -> tuple[str, int]:
    """Read ``h100:8``: a device and how many there are.

    Raises:
        ConfigError: no such device, or no such number.
    """
    name, colon, count = text.strip().lower().partition(":")
    known = devices()
    if name not in known:
        raise ConfigError("--hardware", f"{name!r} is not known", f"try {', '.join(known)}")
    if colon and not (count.isascii() and count.isdigit() and 0 < int(count) <= 100_000):
        raise ConfigError("--hardware", f"{count!r} is no number of devices", f"try {name}:8")
    return name, int(count) if colon else 1
