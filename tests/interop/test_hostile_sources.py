"""Folders that mislead: what differs from what the other program would do is refused by name."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers", reason="needs transformers: the extra hf")

from dragoman.bundle import save_bundle
from dragoman.errors import ConfigError, DragomanError, ModelError
from dragoman.interop import (
    PROOF,
    ExportOptions,
    export_bundle,
    import_model,
    probes,
    refuse_occupied,
)
from dragoman.interop.huggingface import open_huggingface, read_huggingface
from dragoman.interop.huggingface.pickles import refuse_pickles
from dragoman.models import Local
from dragoman.tokenization.foreign_soundness import refuse_unsound
from tests.fixtures import tiny_bundle
from tests.interop.huggingface.models import saved


@pytest.fixture(autouse=True)
def few_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "TEXTS", ("", "a"))
    monkeypatch.setattr(probes, "DRAWN", 3)


def changed(folder: Path, name: str = "config.json", **values: Any) -> None:
    """Change keys of a table; None takes one out."""
    path = folder / name
    table = json.loads(path.read_text()) | values
    path.write_text(json.dumps({k: v for k, v in table.items() if v is not None}))


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "generation_config.json"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused_and_not_read(name: str, kind: str, tmp_path: Path) -> None:
    folder = saved("gpt2", tmp_path / "model")
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero")
    with pytest.raises(ModelError, match=f"{name}: is no file but a pipe"):
        import_model(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("llama", {"rope_parameters": {"type": "dynamic", "factor": 4.0}}, "parameters.type"),
        ("llama", {"quantization_config": {"quant_method": "x"}}, "quantization_config: weights"),
        ("llama", {"attn_implementation": "someone/kernel"}, "a program to be fetched"),
        ("llama", {"_attn_implementation": "someone/kernel"}, "a program to be fetched"),
        ("bert", {"chunk_size_feed_forward": 7}, "chunk_size_feed_forward: 7 is not supported"),
        ("t5 1.0", {"relative_attention_num_buckets": 7}, "7 is not an even number"),
    ],
)
def test_what_the_other_program_reads_and_we_do_not_is_refused(
    name: str, values: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    folder = saved(name, tmp_path / "model")
    changed(folder, **values)
    with pytest.raises(DragomanError, match=reason):
        read_huggingface(folder, ())


def test_an_adapter_beside_the_weights_is_refused(tmp_path: Path) -> None:
    folder = saved("gpt2", tmp_path / "model")
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="an adapter is added"):
        read_huggingface(folder, ())


def test_a_mistral_that_says_nothing_has_the_window_of_its_library(tmp_path: Path) -> None:
    folder = saved("mistral", tmp_path / "model")
    attention = read_huggingface(folder, ()).config.attention  # pyright: ignore  # a Transformer
    assert attention.kind == "softmax"  # null is none
    changed(folder, sliding_window=None)
    attention = read_huggingface(folder, ()).config.attention  # pyright: ignore  # a Transformer
    assert isinstance(attention, Local)
    assert attention.keys == 2 * 4096 - 1


def test_settings_of_the_folder_do_not_change_what_is_given(tmp_path: Path) -> None:
    folder = saved("gpt2", tmp_path / "model")
    changed(folder, return_dict=False)
    bundle = read_huggingface(folder, ())
    other: Any = open_huggingface(folder, bundle)
    assert other.outputs([3, 4]).shape == (2, 50)


def test_a_source_that_its_tokenizer_frames_otherwise_than_our_choices_say_is_refused(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "model"
    export_bundle(tiny_bundle(), "huggingface", folder, ExportOptions())
    own = json.loads((folder / "config.json").read_text())["dragoman"]
    own["model"]["source_before"] = [9]
    changed(folder, dragoman=own)
    with pytest.raises(ModelError, match=r"puts the ids \[2\] around a source"):
        read_huggingface(folder)


def test_a_model_that_adds_nothing_to_a_source_goes_out(tmp_path: Path) -> None:
    bundle = tiny_bundle()
    bundle = replace(bundle, config=replace(bundle.config, source_after=()))  # pyright: ignore  # same
    export_bundle(bundle, "huggingface", tmp_path / "model", ExportOptions())
    import_model(tmp_path / "model", tmp_path / "again")


@pytest.mark.parametrize(
    "values", [{"decoder_start_token_id": 7}, {"forced_bos_token_id": 9}, {"target_before": [9]}]
)
def test_targets_that_begin_otherwise_than_our_choices_say_are_refused(
    values: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    export_bundle(tiny_bundle(), "huggingface", folder, ExportOptions())
    if "target_before" in values:
        own = json.loads((folder / "config.json").read_text())["dragoman"]
        own["model"] |= values
        changed(folder, dragoman=own)
    else:
        changed(folder, "generation_config.json", **values)
    with pytest.raises(ModelError, match="remove dragoman if the rest is right"):
        read_huggingface(folder)


@pytest.mark.parametrize(
    "named", [b"ctransformers.trainer_utils\nos.system\n", b"ctorch.storage\n_load_from_bytes\n"]
)
def test_a_program_behind_a_harmless_name_is_refused(named: bytes, tmp_path: Path) -> None:
    (tmp_path / "training_args.bin").write_bytes(b"\x80\x04" + named + b"(Vtrue\ntR.")
    with pytest.raises(ModelError, match="is a pickle that would run"):
        refuse_pickles(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [("dropout", 0.5, "cuts text at random"), ("unk_token", "<x>", "has no piece for unknown")],
)
def test_a_tokenizer_that_cuts_at_random_or_fails_later_is_refused(
    key: str, value: object, reason: str
) -> None:
    model = {"type": "BPE", "vocab": {"a": 0}, "merges": [], key: value}
    with pytest.raises(ModelError, match=reason):
        refuse_unsound({"normalizer": None, "decoder": None, "model": model})


def test_neither_the_source_nor_a_folder_with_some_certificate_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    export_bundle(tiny_bundle(), "huggingface", folder, ExportOptions())
    refuse_occupied(folder, "huggingface")
    with pytest.raises(ConfigError, match="holds"):
        import_model(folder, folder)
    with pytest.raises(ConfigError, match="holds"):
        refuse_occupied(folder, "huggingface", folder / "step")
    (folder / PROOF).write_text('{"issuer": "another"}')
    with pytest.raises(ConfigError, match="something else"):
        refuse_occupied(folder, "huggingface")


@pytest.mark.parametrize("name", [".", "..", ""])
def test_a_folder_without_a_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is no new folder"):
        refuse_occupied(Path(name), "huggingface")


def test_a_folder_behind_a_link_is_made_where_the_link_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    export_bundle(tiny_bundle(), "huggingface", tmp_path / "link", ExportOptions())
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / PROOF).is_file()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "real"]


def test_a_card_that_is_no_utf_8_does_not_stop_an_export(tmp_path: Path) -> None:
    import dragoman

    save_bundle(tmp_path / "model", tiny_bundle(), "# card\n")
    (tmp_path / "model" / "README.md").write_bytes(b"# caf\xe9\n")
    dragoman.export(tmp_path / "model", "huggingface", tmp_path / "out")
    assert "caf\ufffd" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
