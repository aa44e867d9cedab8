"""Against logits that the trainers' own model code computed; see ``make_real.py``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from dragoman.bundle import load_bundle, save_bundle
from dragoman.errors import ModelError
from dragoman.interop.checkpoints import Asked, read_checkpoint
from dragoman.interop.checkpoints.fairseq import fairseq_rows
from dragoman.interop.checkpoints.joeynmt import joeynmt_rows
from dragoman.interop.checkpoints.opennmt_py import opennmt_rows
from dragoman.interop.checkpoints.torch_file import read_torch_file
from dragoman.interop.huggingface.weights import write_weights
from dragoman.models import ModelConfig
from dragoman.nn import EncoderDecoder
from tests.interop.checkpoints.conftest import Opened
from tests.interop.checkpoints.make_real import SOURCE, TARGET
from tests.interop.checkpoints.making import as_stored, cases, logits_of, state_of, write

ROWS = {"fairseq": fairseq_rows, "joeynmt": joeynmt_rows, "opennmt_py": opennmt_rows}
ALL = cases("fairseq", "joeynmt", "opennmt_py")


def logits(bundle: Any, source: list[int], target: list[int]) -> Tensor:
    """Score targets between what the bundle says stands around texts."""
    frame, model = bundle.frame, bundle.model
    assert isinstance(model, EncoderDecoder)
    read = [*frame.source_before, *source, *frame.source_after]
    with torch.no_grad():
        return model(torch.tensor([read]), torch.tensor([[*frame.target_before, *target]]))[0]


@pytest.mark.parametrize(("trainer", "case"), ALL)
def test_logits_are_those_of_the_trainers_own_code(trainer: str, case: str, opened: Opened) -> None:
    _, bundle = opened(trainer, case)
    expected = logits_of(trainer, case)
    torch.testing.assert_close(logits(bundle, SOURCE, TARGET), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize(("trainer", "case"), ALL)
def test_tables_of_names_give_every_weight_back(trainer: str, case: str, opened: Opened) -> None:
    _, bundle = opened(trainer, case)
    weights = dict(bundle.model.named_parameters())
    assert isinstance(bundle.config, ModelConfig)
    written = write_weights(weights, list(ROWS[trainer](bundle.config)), trainer)
    theirs = state_of(trainer, case)
    assert_same_where_read(written, theirs)
    computed = ("version", "_float_tensor", "pe.pe")
    copies = ("in_proj_weight", "in_proj_bias", "out_proj_weight", "out_proj_bias")
    copies += ("fc1_weight", "fc1_bias", "fc2_weight", "fc2_bias")
    tied = {name for name in theirs if any(torch.equal(theirs[name], x) for x in written.values())}
    left = {name for name in theirs.keys() - tied if not name.endswith(computed + copies)}
    assert left - {name for name in left if name.endswith("embed_positions.weight")} == set()


def assert_same_where_read(written: Mapping[str, Tensor], theirs: Mapping[str, Tensor]) -> None:
    for name, weight in written.items():
        skipped = 2 if name.endswith("embed_positions.weight") else 0  # rows of no position
        assert torch.equal(weight[skipped:], theirs[name][skipped:]), name


@pytest.mark.parametrize(("trainer", "case"), [each for each in ALL if each[1] != "swish"][::3])
def test_a_folder_of_ours_keeps_what_was_read(
    trainer: str, case: str, opened: Opened, tmp_path: Path
) -> None:
    _, bundle = opened(trainer, case)
    save_bundle(tmp_path / "ours", bundle, "card")
    loaded = load_bundle(tmp_path / "ours")
    assert loaded.config == bundle.config
    assert loaded.frame == bundle.frame
    assert torch.equal(logits(loaded, SOURCE, TARGET), logits(bundle, SOURCE, TARGET))
    text = "e3 e4 e3"
    ids = loaded.source_tokenizer.encode(text)
    assert ids == [7, 8, 7]  # four special pieces come before e0
    assert loaded.source_tokenizer.decode(ids) == text


@pytest.mark.parametrize(("trainer", "case"), [("joeynmt", "post"), ("opennmt_py", "concat")])
def test_stored_sinusoids_have_to_be_those_of_the_trainer(
    trainer: str, case: str, tmp_path: Path
) -> None:
    path = write(tmp_path, trainer, case)
    content = read_torch_file(path)
    state = content["model_state" if trainer == "joeynmt" else "model"]
    name = next(name for name in state if name.startswith("decoder.") and name.endswith(".pe"))
    state[name] = state[name].flip(-1)
    torch.save(content, path)
    with pytest.raises(ModelError, match="holds other positions than its trainer computes"):
        read_checkpoint(path)
    state[name] = torch.zeros(3, 3)
    torch.save(content, path)
    with pytest.raises(ModelError, match=r"\(3, 3\) are no positions of this model"):
        read_checkpoint(path)


def test_old_checkpoints_of_fairseq_join_products_number_norms_and_store_sinusoids(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "fairseq", "pre")
    content = read_torch_file(path)
    old = as_before_release_9(content["model"])
    # Its rows are positions, and the first real one is 2.
    waves = as_stored(True, length=30)
    waves[1] = 0
    old |= {f"{stack}.embed_positions.weights": waves for stack in ("encoder", "decoder")}
    torch.save({**content, "model": old}, path)
    expected = logits_of("fairseq", "pre")
    bundle = read_checkpoint(path)
    torch.testing.assert_close(logits(bundle, SOURCE, TARGET), expected, atol=1e-4, rtol=0)
    old["encoder.embed_positions.weights"] = waves.roll(1, 0)
    torch.save({**content, "model": old}, path)
    with pytest.raises(ModelError, match=r"encoder.embed_positions.weights: holds other"):
        read_checkpoint(path)


def as_before_release_9(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Name weights as fairseq did, by hand; its own ``upgrade_state_dict`` reads both alike."""
    norms = {
        "encoder": ["self_attn_layer_norm", "final_layer_norm"],
        "decoder": ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"],
    }
    old: dict[str, Tensor] = {}
    for name, weight in state.items():
        stack, _, rest = name.partition(".layers.")
        number, _, part = rest.partition(".")
        kind = part.rpartition(".")[2]
        if part.rpartition(".")[0] in norms.get(stack, []):
            place = norms[stack].index(part.rpartition(".")[0])
            old[f"{stack}.layers.{number}.layer_norms.{place}.{kind}"] = weight
        elif ".q_proj." in name:
            three = [state[name.replace(".q_proj.", f".{letter}_proj.")] for letter in "qkv"]
            old[name.replace(".q_proj.", ".in_proj_")] = torch.cat(three)
        elif name != "decoder.output_projection.weight" and not (
            ".k_proj." in name or ".v_proj." in name
        ):
            old[name] = weight
    return old


def test_settings_of_fairseq_may_lie_in_a_tree(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "pre")
    content = read_torch_file(path)
    args = vars(content["args"])
    model: dict[str, Any] = {key: each for key, each in args.items() if "coder_" not in key}
    for stack in ("encoder", "decoder"):
        start = f"{stack}_"
        model[stack] = {k.removeprefix(start): v for k, v in args.items() if k.startswith(start)}
    languages = {key: model.pop(key) for key in ("source_lang", "target_lang")}
    model["share_decoder_input_output_embed"] = True
    torch.save({**content, "args": None, "cfg": {"model": model, "task": languages}}, path)
    expected = logits_of("fairseq", "pre")
    bundle = read_checkpoint(path)
    torch.testing.assert_close(logits(bundle, SOURCE, TARGET), expected, atol=1e-4, rtol=0)


def test_weights_of_opennmt_may_lie_in_a_file_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path, "opennmt_py", "usual")
    content = read_torch_file(path)
    save_file(state_of("opennmt_py", "usual"), str(path.with_suffix(".safetensors")))
    kept = {key: each for key, each in content.items() if key not in ("model", "generator")}
    torch.save(kept, path)
    expected = logits_of("opennmt_py", "usual")
    bundle = read_checkpoint(path)
    torch.testing.assert_close(logits(bundle, SOURCE, TARGET), expected, atol=1e-4, rtol=0)


def test_weights_in_16_bits_are_read_in_32(tmp_path: Path) -> None:
    path = write(tmp_path, "joeynmt", "pre")
    whole = read_checkpoint(path)
    content = read_torch_file(path)
    content["model_state"] = {name: each.half() for name, each in content["model_state"].items()}
    torch.save(content, path)
    half = read_checkpoint(path)
    for ours, theirs in zip(half.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(ours, theirs.half().float())


def test_what_a_checkpoint_says_may_be_said_again_but_not_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path, "fairseq", "post")
    read_checkpoint(path, asked=Asked(heads=2, norm_order="post"), kind="fairseq")
    with pytest.raises(ValueError, match="heads: 4 was given, and the checkpoint says 2"):
        read_checkpoint(path, asked=Asked(heads=4))
    with pytest.raises(ValueError, match="is not of joeynmt but of fairseq"):
        read_checkpoint(path, kind="joeynmt")
