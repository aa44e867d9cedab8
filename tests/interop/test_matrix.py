"""Every choice of ``[model]`` against every format: out with a certificate, or refused by name.

Models of one stack are held to the formats in the folders of these.
"""

import json
from pathlib import Path

import pytest

from dragoman.bundle import Bundle, load_bundle, model_weights
from dragoman.errors import ConfigError
from dragoman.interop import FORMATS, PROOF, ExportOptions, export_bundle, import_model, probes
from dragoman.interop import certificate as certificates
from dragoman.interop.argos import certificate as argos_certificate
from dragoman.interop.argos import parts as argos_parts
from dragoman.models import build_model, read_config
from tests.interop.models import random_bundle, tokenizers
from tests.models.choices import BASELINE_SIZES, BASELINES, TRANSFORMERS

_ATTENTIONS = {
    **dict.fromkeys(["additive", "linear", "linear-grouped", "local", "local-rotary"], "attention"),
    **dict.fromkeys(["local-shaw", "sparse", "sparse-t5"], "attention"),
}
_ARCHITECTURES = dict.fromkeys(BASELINES, "architecture")
_CTRANSLATE2 = {
    **_ATTENTIONS,
    **_ARCHITECTURES,
    "additive-with-alibi": "attention positions",
    "alibi": "positions",
    "deepnorm": "initialization",
    "free-widths": "d_v",
    "free-widths-shaw": "d_v",
    "narrow-table": "embedding_width",
    "narrow-untied": "embedding_width",
}
# What the families of transformers hold: MarianMT, Pegasus, BART, T5.
_TRANSFORMERS = [
    *["paper", "all-dropouts", "biases-before-the-heads", "depth-scaled", "gelu", "gelu-tanh"],
    *["learned", "more-encoder-layers", "normal", "output-bias", "pre", "silu"],
    *["sinusoidal-halves", "t5-shape"],
]
REFUSED: dict[str, dict[str, str | None]] = {  # which choices are named; None is some
    "ctranslate2": {**_CTRANSLATE2},
    "argos": {**_CTRANSLATE2, "learned": "positions", "decoder-positions": "positions"},
    "onnx": {**_ARCHITECTURES},
    "huggingface": {
        name: None for name in [*TRANSFORMERS, *BASELINES] if name not in _TRANSFORMERS
    },
}
# Whose packages Argos Translate itself runs, which takes up to half a minute to start; those of the
# others are run by the two libraries in it, CTranslate2 and sentencepiece.
BY_ARGOS = ("paper", "pre", "shaw")
OPTIONS = {"argos": ExportOptions(source_language="de", target_language="en")}


def bundle_of(name: str) -> Bundle:
    if name not in BASELINES:
        return random_bundle(TRANSFORMERS[name])
    tokenizer = tokenizers()[0]
    config = read_config({**BASELINE_SIZES, **BASELINES[name], "vocabulary": tokenizer.size})
    return Bundle(config, build_model(config).eval(), (tokenizer,))


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep it short: all probes are run where each format has its own tests."""
    for module in (probes, argos_certificate):
        monkeypatch.setattr(module, "TEXTS", ("", "a"))
    monkeypatch.setattr(probes, "DRAWN", 3)
    monkeypatch.setattr(probes, "LONGEST", 12)
    monkeypatch.setattr(certificates, "WRITTEN", 8)


def _find_none(_: str) -> None:
    return None


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("name", [*TRANSFORMERS, *BASELINES])
def test_a_choice_goes_out_proven_and_comes_back_or_is_refused_by_name(
    name: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name not in BY_ARGOS:
        monkeypatch.setattr(argos_certificate, "find_spec", _find_none)
        for module in (argos_certificate, argos_parts):
            monkeypatch.setattr(module, "LONGEST", 24)
    bundle, folder = bundle_of(name), tmp_path / "out"
    options = OPTIONS.get(to, ExportOptions())
    if name in REFUSED[to]:
        with pytest.raises(ConfigError) as refused:
            export_bundle(bundle, to, folder, options)
        named = " ".join(m.place.removeprefix("model.") for m in refused.value.mistakes)
        assert named == (REFUSED[to][name] or named)
        assert all(m.place.startswith("model.") for m in refused.value.mistakes)
        assert list(tmp_path.iterdir()) == []
        return
    certificate = export_bundle(bundle, to, folder, options)
    assert certificate.largest <= certificate.tolerance <= 1e-3
    for searched in certificate.searches:
        assert searched.equal + searched.ties == searched.probes > 0
    assert json.loads((folder / PROOF).read_text())["client"] == certificate.client
    assert certificate.client in (folder / "README.md").read_text()
    if to == "onnx":  # nothing reads it back
        return
    source = next(folder.glob("*.argosmodel")) if to == "argos" else folder
    import_model(source, tmp_path / "back")
    back = load_bundle(tmp_path / "back")
    assert back.config == bundle.config
    theirs, ours = model_weights(back.model), model_weights(bundle.model)
    assert theirs.keys() == ours.keys()
    for weight in ours:
        assert theirs[weight].numpy().tobytes() == ours[weight].numpy().tobytes(), weight
    assert [each.to_json() for each in back.tokenizers] == [
        each.to_json() for each in bundle.tokenizers
    ]
