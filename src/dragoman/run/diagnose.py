"""What this machine has and what of Dragoman works on it: ``dragoman doctor``."""

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version

import torch

from dragoman.bundle import library_versions
from dragoman.decoding import engines_here

_SIZES = 128, 8192  # least and largest square matrices whose product is timed
_LONG = 0.005  # seconds of a product that the time to start it does not matter to
_FOR = 0.25  # seconds
_EXTRAS = {  # library: the extra that installs it, and what it is for
    "numba": ("fast", "translate --engine fused, --dtype int8"),
    "ctranslate2": ("ct2", "translate --engine ctranslate2, import and export of CTranslate2"),
    "sentencepiece": ("argos", "import and export of packages of Argos Translate"),
    "onnx": ("onnx", "export to ONNX"),
    "onnxruntime": ("onnx", "export to ONNX"),
    "polib": ("formats", "catalogues (PO, MO)"),
    "lxml": ("formats", "corpora in TMX, XLIFF, Qt TS"),
    "backports.zstd": ("formats", "files packed with zstd"),
    "pyarrow": ("parquet", "Parquet files"),
    "datasets": ("datasets", "data sets of Hugging Face"),
    "matplotlib": ("plot", "pictures"),
    "tensorboard": ("tensorboard", "training.tensorboard"),
    "py3langid": ("language", "texts in another language"),
    "fastapi": ("serve", "dragoman serve"),
    "transformers": ("hf", "import and export of models of Hugging Face"),
    "sacremoses": ("moses", "the BLEU of the paper"),
    "bitsandbytes": ("adam8bit", "the optimizer adam8bit"),
}


def diagnose() -> dict[str, dict[str, str]]:
    """Look at versions, devices, precisions and extras; try what can be tried.

    Returns:
        Sections of names and findings, for printing or JSON.
    """
    return {
        "versions": library_versions(),
        "machine": _machine(),
        "devices": _devices(),
        "speed (matrix products)": _speeds(),
        "engines of translate": engines_here(),
        "optional libraries": _optional(),
    }


def _machine() -> dict[str, str]:
    return {
        "system": platform.platform(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "cores": str(os.cpu_count()),
        "torch threads": str(torch.get_num_threads()),
    }


def _devices() -> dict[str, str]:
    found = {"cpu": "works"}
    for index in range(torch.cuda.device_count()):
        found[f"cuda:{index}"] = torch.cuda.get_device_name(index)
    if torch.backends.mps.is_available():
        found["mps"] = "works"
    if len(found) == 1:
        found["gpu"] = "none found; training and translating run on the processor"
    return found


def _speeds() -> dict[str, str]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found: dict[str, str] = {}
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        name = str(dtype).removeprefix("torch.")
        try:
            found[f"{name} on {device}"] = f"{_gigaflops(dtype, device):,.0f} GFLOP/s"
        except RuntimeError as error:
            found[f"{name} on {device}"] = f"does not work: {error}"
    return found


def _gigaflops(dtype: torch.dtype, device: str) -> float:
    """Time products of two square matrices, the smallest that take long enough."""
    size, largest = _SIZES
    while size < largest and _seconds(size, dtype, device, 0.0) < _LONG:
        size *= 2
    return 2 * size**3 / _seconds(size, dtype, device, _FOR) / 1e9


def _seconds(size: int, dtype: torch.dtype, device: str, least: float) -> float:
    """Multiply until a time has passed, once at least; give the seconds of one product."""
    left, right = torch.randn(2, size, size, device=device).to(dtype)
    (left @ right)[0, 0].item()  # the first product also loads the library
    count, start = 0, time.perf_counter()
    while not count or time.perf_counter() - start < least:
        (left @ right)[0, 0].item()
        count += 1
    return (time.perf_counter() - start) / count


def _optional() -> dict[str, str]:
    return {name: _library(name, extra, use) for name, (extra, use) in _EXTRAS.items()}


def _library(name: str, extra: str, use: str) -> str:
    try:
        return f"{version(name)}, for {use}"
    except PackageNotFoundError:
        return f"not installed; for {use}: pip install 'dragoman[{extra}]'"
