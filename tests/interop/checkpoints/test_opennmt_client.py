"""OpenNMT-py checkpoints as CTranslate2's own converter reads them, translated by CTranslate2."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.interop.checkpoints import open_checkpoint, read_checkpoint
from tests.interop.checkpoints.make_real import SOURCE, TARGET
from tests.interop.checkpoints.making import write

ctranslate2: Any = pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


def opened(path: Path, folder: Path) -> Any:
    from ctranslate2.converters import OpenNMTPyConverter  # pyright: ignore  # without types

    with torch.serialization.safe_globals([argparse.Namespace]):
        OpenNMTPyConverter(str(path)).convert(str(folder))
    return ctranslate2.Translator(str(folder), compute_type="float32")


# Those of the cases that its format has.
@pytest.mark.parametrize("case", ["usual", "joint", "inputs", "shaw"])
def test_ctranslate2_scores_and_translates_alike(case: str, tmp_path: Path) -> None:
    path = write(tmp_path / "theirs", "opennmt_py", case, self_attn_type="scaled-dot")
    client = opened(path, tmp_path / "converted")
    bundle = read_checkpoint(path)
    side = open_checkpoint(path, bundle)
    source = bundle.source_tokenizer.pieces(SOURCE)
    target = bundle.target_tokenizer.pieces(TARGET)
    source, target = ([piece.strip() for piece in side_of] for side_of in (source, target))
    [scored] = client.score_batch([source], [target])
    end = bundle.target_tokenizer.special.end
    rows = side.log_probs(SOURCE, TARGET)
    expected = [row[number] for row, number in zip(rows, [*TARGET, end], strict=True)]
    np.testing.assert_allclose(scored.log_probs, expected, atol=1e-4, rtol=1e-4)
    # What we never write either. Beams of drawn weights end nowhere, and then each side has a rule.
    options: dict[str, Any] = {"suppress_sequences": [["<s>"], ["<blank>"]], "disable_unk": True}
    options |= {"beam_size": 1, "min_decoding_length": 0, "max_decoding_length": 8}
    [result] = client.translate_batch([source], **options)
    found = side.translate(SOURCE, beam=1, max_length=8)
    pieces = [piece.strip() for piece in bundle.target_tokenizer.pieces(found)]
    assert result.hypotheses[0] == pieces
