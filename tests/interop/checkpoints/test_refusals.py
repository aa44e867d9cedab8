"""What is refused by name: programs, choices without a place here, and what does not fit."""

import argparse
import pickle
import sys
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.interop.checkpoints import Asked, read_checkpoint
from dragoman.interop.checkpoints.torch_file import read_torch_file
from tests.interop.checkpoints.making import save, state_of, write

TRAINERS = {"fairseq": "post", "joeynmt": "post", "opennmt_py": "usual"}


class Marker:
    """Leaves a file behind when a pickle of it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.touch, (self.path,)  # pyright: ignore[reportReturnType]  # as pickles are


def by_old_torch(content: object, path: Path) -> None:
    torch.save(content, path, _use_new_zipfile_serialization=False)


def by_pickle(protocol: int) -> Callable[[object, Path], None]:
    def write_pickle(content: object, path: Path) -> None:
        path.write_bytes(pickle.dumps(content, protocol=protocol))

    return write_pickle


PICKLES: dict[str, Callable[[object, Path], None]] = {
    "as text": by_pickle(0),
    "old": by_pickle(2),
    "new": by_pickle(4),
    "torch": lambda content, path: torch.save(content, path),
    "old torch": by_old_torch,
}


@pytest.mark.parametrize("how", PICKLES)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_file_of_a_folder_that_became_a_program_is_named_and_not_run(
    trainer: str, how: str, tmp_path: Path
) -> None:
    write(tmp_path / "model", trainer, TRAINERS[trainer])
    marker = tmp_path / "marker"
    for file in sorted((tmp_path / "model").iterdir()):
        good = file.read_bytes()
        PICKLES[how]({"model": Marker(marker), "args": None}, file)
        with pytest.raises(ModelError) as caught:
            read_checkpoint(tmp_path / "model")
        assert str(file) in str(caught.value)
        assert "weights_only=False" not in str(caught.value)
        assert not marker.exists()
        file.write_bytes(good)
    read_checkpoint(tmp_path / "model")  # all is as it was


@pytest.mark.parametrize("how", PICKLES)
def test_what_whoever_imports_names_is_not_run_either(how: str, tmp_path: Path) -> None:
    path = write(tmp_path / "model", "fairseq", "post")
    bad, marker = tmp_path / "bad", tmp_path / "marker"
    PICKLES[how]({"pieces": Marker(marker)}, bad)
    for asked in (Asked(vocabulary=(bad,)), Asked(tokenizer=(bad,))):
        with pytest.raises(ModelError) as caught:
            read_checkpoint(path, asked=asked)
        assert str(bad) in str(caught.value)
    assert not marker.exists()


def test_objects_of_packages_are_refused_with_what_to_do(tmp_path: Path) -> None:
    for package, advice in (
        ("omegaconf.dictconfig.DictConfig", "OmegaConf"),
        ("torchtext.data.field.Field", "tools/convertv2_v3.py"),
        ("nowhere.Thing", "save only its tensors"),
    ):
        module, _, name = package.rpartition(".")
        program = f"c{module}\n{name}\n(tR.".encode()
        path = tmp_path / "model.pt"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", b"\x80\x02" + program)
            archive.writestr("model/version", b"3\n")
            archive.writestr("model/byteorder", b"little")
        with pytest.raises(ModelError) as caught:
            read_checkpoint(path)
        assert f"{path}: holds {package}, and reading that could run code" in str(caught.value)
        assert advice in str(caught.value)


def test_notes_of_fairseq_on_training_are_passed_over_and_no_module_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "fairseq", "post")
    content = read_torch_file(path)
    meters = ModuleType("fairseq.meters")
    meter = type("TimeMeter", (), {"__module__": "fairseq.meters"})
    setattr(meters, "TimeMeter", meter)  # noqa: B010  # a module has no such name for pyright
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "fairseq", ModuleType("fairseq"))
        patched.setitem(sys.modules, "fairseq.meters", meters)
        note = meter()
        vars(note)["n"] = 3
        save(path, {**content, "extra_state": {"train_meters": {"wall": note}}})
    read_checkpoint(path)
    assert "fairseq" not in sys.modules
    [found] = read_torch_file(path)["extra_state"]["train_meters"].values()
    assert vars(found) == {}


def test_an_archive_that_grows_when_unpacked_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    packed = tmp_path / "packed.pt"
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(packed, "w", 8) as small:
        for part in whole.infolist():
            small.writestr(part.filename, whole.read(part))
        small.writestr("archive/data/99", bytes(1 << 22))
    with pytest.raises(ModelError, match=r"packed.pt: is packed tighter than torch.save does"):
        read_checkpoint(packed)


def test_a_tensor_that_claims_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    content = read_torch_file(path)
    content["model"]["encoder.embed_tokens.weight"] = torch.zeros(1).expand(1 << 20, 1 << 20)
    save(path, content)
    with pytest.raises(ModelError, match=r"embed_tokens.weight: claims more numbers than"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no checkpoint of PyTorch, or damaged"),
        (b"hello", "is no checkpoint of PyTorch, or damaged"),
        (b"PK\x03\x04" + bytes(60), "is no checkpoint of PyTorch, or damaged"),
    ],
)
def test_a_file_that_is_no_checkpoint_is_named(
    content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        read_checkpoint(path)
    assert str(path) in str(caught.value)


def test_what_is_of_no_known_trainer_is_listed(tmp_path: Path) -> None:
    path = save(tmp_path / "model.pt", {"epoch": 3, "weights": {"a": torch.zeros(2)}})
    with pytest.raises(ModelError, match="holds epoch, weights, and is of no trainer that is k"):
        read_checkpoint(path)
    with pytest.raises(ModelError, match="holds one list, not a dict of names"):
        read_checkpoint(save(path, [1]))
    with pytest.raises(ModelError, match="holds something under 5, which is no name"):
        read_checkpoint(save(path, {5: 1}))
    with pytest.raises(ModelError, match="no such file"):
        read_checkpoint(tmp_path / "other.pt")
    path.unlink()
    with pytest.raises(ModelError, match="holds no checkpoint"):
        read_checkpoint(tmp_path)
    for name in ("1.ckpt", "2.ckpt"):
        save(tmp_path / name, {})
    with pytest.raises(ModelError, match=r"2 checkpoints \(1.ckpt, 2.ckpt\); name one of them"):
        read_checkpoint(tmp_path)


FAIRSEQ: list[tuple[dict[str, Any], str]] = [
    ({"adaptive_softmax_cutoff": "10,20"}, "adaptive_softmax_cutoff: '10,20' has no place"),
    ({"adaptive_input": True}, "adaptive_input: True has no place"),
    ({"no_cross_attention": True}, "no_cross_attention: True has no place"),
    ({"cross_self_attention": True}, "cross_self_attention: True has no place"),
    ({"activation_fn": "tanh"}, "activation_fn: 'tanh' is not known; known are gelu,"),
    ({"encoder_attention_heads": 4}, "encoder_attention_heads: 4 and 2 in the decoder"),
    ({"encoder_normalize_before": True}, "encoder_normalize_before: True and False in the dec"),
]
OPENNMT: list[tuple[dict[str, Any], str]] = [
    ({"encoder_type": "brnn"}, "encoder_type: 'brnn' is not read here; only transformer is"),
    ({"decoder_type": "transformer_lm"}, "decoder_type: 'transformer_lm' is not read here"),
    ({"copy_attn": True}, "copy_attn: copying from the source has no place"),
    ({"self_attn_type": "average"}, "self_attn_type: 'average' has no place"),
    ({"parallel_residual": True}, "parallel_residual: sub-layers side by side has no place"),
    ({"num_experts": 4}, "num_experts: experts has no place"),
    ({"sliding_window": 64}, "sliding_window: a sliding window has no place"),
    ({"relative_positions_buckets": 32}, "relative_positions_buckets: a table of buckets"),
    ({"n_src_feats": 1}, "n_src_feats: features of source words has no place"),
    ({"lora_layers": ["linear_keys"]}, "lora_layers: low-rank layers that are not merged"),
    ({"quant_layers": ["w_1"]}, "quant_layers: layers that are quantized has no place"),
    ({"pos_ffn_activation_fn": "mish"}, "pos_ffn_activation_fn: 'mish' is not known"),
    ({"max_relative_positions": -1, "position_encoding": False}, "rotary positions in two st"),
    ({"max_relative_positions": 4}, "are both on or both off; one kind of positions is read"),
    ({"position_encoding": False}, "are both on or both off; one kind of positions is read"),
    ({"heads": "2"}, "heads: is no number"),
    ({"heads": 3}, "heads: 3 does not divide d_model 8"),
]
JOEYNMT: list[tuple[dict[str, Any], str]] = [
    ({"alpha": 1.2}, "model.encoder.alpha: 1.2 on the residual path has no place"),
    ({"activation": "tanh"}, "model.decoder.activation: 'tanh' is not known; known: relu,"),
    ({"type": "recurrent"}, "model.encoder.type: 'recurrent' is not read here"),
    ({"layer_norm": "pre"}, "model.decoder.layer_norm: is 'pre', and the weights are those of po"),
]
BEYOND = [
    (trainer, changed, message)
    for trainer, rows in (("fairseq", FAIRSEQ), ("joeynmt", JOEYNMT), ("opennmt_py", OPENNMT))
    for changed, message in rows
]


@pytest.mark.parametrize(("trainer", "changed", "message"), BEYOND)
def test_choices_without_a_place_here_are_refused_by_name(
    trainer: str, changed: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, trainer, TRAINERS[trainer], **changed)
    with pytest.raises(ConfigError) as caught:
        read_checkpoint(path)
    assert message in str(caught.value)
    file = tmp_path / "config.yaml" if trainer == "joeynmt" else path
    assert all(line.startswith(f"{file}: ") for line in str(caught.value).splitlines())


def test_all_choices_without_a_place_are_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "opennmt_py", "usual", copy_attn=True, num_experts=2)
    with pytest.raises(ConfigError) as caught:
        read_checkpoint(path)
    assert [each.place for each in caught.value.mistakes] == ["copy_attn", "num_experts"]


@pytest.mark.parametrize("trainer", TRAINERS)
def test_weights_left_over_missing_or_of_another_shape_are_named(
    trainer: str, tmp_path: Path
) -> None:
    path = write(tmp_path, trainer, TRAINERS[trainer])
    content = read_torch_file(path)
    state = content["model_state" if trainer == "joeynmt" else "model"]
    names = [name for name in state if ".layers.0." in name or ".transformer.0." in name]
    norm = next(name for name in names if name.endswith("layer_norm.weight"))
    kept = state.pop(norm)
    state["decoder.gate.weight"] = torch.zeros(2, 2)
    save(path, content)
    with pytest.raises(ModelError) as caught:
        read_checkpoint(path)
    said = str(caught.value)
    assert f"1 weights are missing ({norm}); 1 weights are not known (decoder.gate.weight)" in said
    assert "config.json" not in said
    del state["decoder.gate.weight"]
    state[norm] = kept[:-1]
    save(path, content)
    with pytest.raises(ModelError, match=r"is \(7,\) as .*, the model needs \(8,\)"):
        read_checkpoint(path)


def test_a_layer_that_is_missing_in_between_is_no_smaller_model(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    content = read_torch_file(path)
    for name in [name for name in content["model"] if name.startswith("decoder.layers.0.")]:
        del content["model"][name]
    save(path, content)
    with pytest.raises(ModelError, match=r"decoder.layers.0 and on: layers are missing; there ar"):
        read_checkpoint(path)


def test_a_checkpoint_of_fairseq_without_settings_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    save(path, {"model": state_of("fairseq", "post"), "args": None})
    with pytest.raises(ModelError, match="neither args nor cfg says how the model was made"):
        read_checkpoint(path)


def test_a_checkpoint_of_opennmt_without_lists_or_options_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "opennmt_py", "usual")
    content = read_torch_file(path)
    for key, changed, message in (
        ("vocab", {"src": ["<s>", 3]}, "vocab: src: is no list of pieces; before release 3"),
        ("vocab", [("src", 1)], "vocab: src: is no list of pieces"),
        ("opt", ["-heads", "8"], "opt: is no set of options; before release 3"),
        ("generator", None, "holds no weights by name"),
        ("model", {"a": 3}, "a: is of the type int, and no tensor"),
    ):
        save(path, {**content, key: changed})
        with pytest.raises(ModelError, match=message):
            read_checkpoint(path)
    del content["model"]
    save(path, content)
    with pytest.raises(ModelError, match=r"model_step_3.safetensors: no such file"):
        read_checkpoint(path)


def test_what_fairseq_does_not_say_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    content = read_torch_file(path)
    args = vars(content["args"])
    keys = ("encoder_attention_heads", "decoder_attention_heads", "source_lang")
    told = {key: value for key, value in args.items() if key not in keys}
    save(path, {**content, "args": argparse.Namespace(**told)})
    with pytest.raises(ConfigError, match="heads: the checkpoint does not say how many; give"):
        read_checkpoint(path)
    with pytest.raises(ConfigError, match="vocabulary: the checkpoint does not say its languages"):
        read_checkpoint(path, asked=Asked(heads=2))
    files = (tmp_path / "dict.de.txt", tmp_path / "dict.en.txt")
    read_checkpoint(path, asked=Asked(heads=2, vocabulary=files))
    with pytest.raises(ConfigError, match="vocabulary: 3 files are too many"):
        read_checkpoint(path, asked=Asked(heads=2, vocabulary=(*files, path)))


def test_a_language_that_names_another_folder_is_not_followed(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post", source_lang="../../x")
    with pytest.raises(ConfigError, match="vocabulary: the checkpoint does not say its languages"):
        read_checkpoint(path)


ODD = {
    "fairseq": ("encoder_attention_heads", "activation_fn", "source_lang", "dropout"),
    "joeynmt": ("num_heads", "activation", "layer_norm", "alpha"),
    "opennmt_py": ("heads", "pos_ffn_activation_fn", "max_relative_positions", "norm_eps"),
}


@pytest.mark.parametrize("odd", [[1], "x", -3, 10**30], ids=repr)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_settings_of_odd_types_never_end_in_a_traceback(
    trainer: str, odd: object, tmp_path: Path
) -> None:
    for name in ODD[trainer]:
        path = write(tmp_path, trainer, TRAINERS[trainer], **{name: odd})
        with suppress(DragomanError):
            read_checkpoint(path)
