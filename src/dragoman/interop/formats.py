"""The formats that models go out to: each writes a folder, and its own program proves it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError
from dragoman.interop.argos import certify_argos, write_argos
from dragoman.interop.certificate import TOLERANCE, Certificate, Reader, certify, certify_reader
from dragoman.interop.ctranslate2 import open_ctranslate2, write_ctranslate2
from dragoman.interop.huggingface import open_huggingface, write_huggingface
from dragoman.interop.onnx import open_onnx, write_onnx

THEIR_EPS = 1e-5  # of the layer norms of transformers' encoder-decoders, whatever was trained with
OTHER_EPS = 1e-3  # tolerance where that differs from ours


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """What only some formats ask.

    Args:
        quantization: how weights are kept: ``float32``, or what else the format has.
        source_language: code of the language that is read, such as ``de``.
        target_language: code of the language that is written.
    """

    quantization: str = "float32"
    source_language: str | None = None
    target_language: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A format that models go out to.

    Args:
        write: fills a new folder, once the model is known to have a place there.
        prove: runs the program of the format on that folder.
        asks: names of the options it knows.
        use: how it is used, for the card.
    """

    write: Callable[[Path, Bundle, ExportOptions], None]
    prove: Callable[[Path, Bundle, ExportOptions], Certificate]
    asks: tuple[str, ...]
    use: str


def _write_ctranslate2(folder: Path, bundle: Bundle, options: ExportOptions) -> None:
    quantization: Any = options.quantization  # is looked at there
    write_ctranslate2(folder, bundle, quantization=quantization)


def _prove_ctranslate2(folder: Path, bundle: Bundle, options: ExportOptions) -> Certificate:
    exact = options.quantization == "float32"
    kind = options.quantization if options.quantization in ("int8", "int16") else "float32"
    other = open_ctranslate2(folder, bundle, compute_type=kind)
    if isinstance(other, Reader):
        return certify_reader(bundle, other, exact=exact)
    return certify(bundle, other, exact=exact)


def _write_huggingface(folder: Path, bundle: Bundle, _: ExportOptions) -> None:
    write_huggingface(folder, bundle)


def _prove_huggingface(folder: Path, bundle: Bundle, _: ExportOptions) -> Certificate:
    other = open_huggingface(folder, bundle)
    if isinstance(other, Reader):
        return certify_reader(bundle, other)
    return certify(bundle, other, tolerance=tolerance_of_transformers(bundle))


def tolerance_of_transformers(bundle: Bundle) -> float:
    """Say what may differ of an encoder-decoder there, whose layer norms have an eps of theirs."""
    config = bundle.config
    fixed = getattr(config, "norm", "") == "layer" and getattr(config, "norm_eps", 0) != THEIR_EPS
    return OTHER_EPS if fixed else TOLERANCE


def _write_onnx(folder: Path, bundle: Bundle, options: ExportOptions) -> None:
    quantization: Any = options.quantization  # is looked at there
    write_onnx(folder, bundle, quantization=quantization)


def _prove_onnx(folder: Path, bundle: Bundle, options: ExportOptions) -> Certificate:
    exact = options.quantization == "float32"
    other = open_onnx(folder, bundle)
    if isinstance(other, Reader):
        return certify_reader(bundle, other, exact=exact)
    return certify(bundle, other, exact=exact)


def _package(options: ExportOptions) -> str:
    return f"translate-{options.source_language}_{options.target_language}-1_0.argosmodel"


def _write_argos(folder: Path, bundle: Bundle, options: ExportOptions) -> None:
    if options.source_language is None or options.target_language is None:
        problem = "a package is of one pair of languages, and it was not said which"
        hint = "give --source-language de --target-language en"
        raise ConfigError("--source-language, --target-language", problem, hint)
    quantization: Any = options.quantization  # is looked at there
    write_argos(
        folder / _package(options),
        bundle,
        source_language=options.source_language,
        target_language=options.target_language,
        quantization=quantization,
    )


def _prove_argos(folder: Path, bundle: Bundle, options: ExportOptions) -> Certificate:
    exact = options.quantization == "float32"
    return certify_argos(folder / _package(options), bundle, exact=exact)


FORMATS: Mapping[str, Format] = {
    "ctranslate2": Format(
        _write_ctranslate2,
        _prove_ctranslate2,
        ("quantization",),
        'Load it with `ctranslate2.Translator("FOLDER")`, or `Generator` or `Encoder`: pieces go '
        "in and come out, and the library adds the symbols around a source itself. The pieces of "
        "a text are `tokens` of "
        '`tokenizers.Tokenizer.from_file("FOLDER/tokenizer.json").encode(text, '
        "add_special_tokens=False)`. As the folder "
        "`ctranslate2` inside a model folder, `dragoman translate --engine ctranslate2` runs it.",
    ),
    "huggingface": Format(
        _write_huggingface,
        _prove_huggingface,
        (),
        "Load it with `AutoTokenizer` and the Auto class of its task, such as "
        '`AutoModelForSeq2SeqLM.from_pretrained("FOLDER")`, of the library transformers.',
    ),
    "onnx": Format(
        _write_onnx,
        _prove_onnx,
        ("quantization",),
        "Run it with onnxruntime.",
    ),
    "argos": Format(
        _write_argos,
        _prove_argos,
        ("quantization", "source_language", "target_language"),
        "Install the package with `argospm install FILE`, or "
        "`argostranslate.package.install_from_path`.",
    ),
}
