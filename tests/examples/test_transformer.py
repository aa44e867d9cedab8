"""The tutorial runs as it stands, and what it prints and learns is right."""

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.nn import EncoderDecoder

FILE = Path(__file__).parents[2] / "examples" / "transformer.py"


@pytest.fixture(scope="module")
def tutorial() -> dict[str, Any]:  # Any: what a script defines
    return runpy.run_path(str(FILE))


def test_it_is_short_enough_to_be_read_at_once() -> None:
    assert len(FILE.read_text("utf-8").splitlines()) < 150


def test_it_learns_to_reverse_words_that_it_has_not_seen(
    tutorial: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    share = tutorial["main"]()
    out = capsys.readouterr().out
    assert share > 0.95  # by chance 1 in 10⁸
    # By hand: the second value, and the mean of the first and the third.
    assert "read [20.0, 35.0] of 10, 20, 60" in out
    assert "causal mask [[1, 0, 0], [1, 1, 0], [1, 1, 1]]" in out
    assert "2. heads      4 of 8: (2, 5, 32) -> (2, 5, 32)" in out
    assert "decoder (2, 4, 32), (2, 9, 32) -> (2, 4, 32)" in out
    # By hand: 13 x 32 for the table; a network 2 x 32 x 64 + 96; attention 4 x 32 x 32; a norm 64.
    weights = 13 * 32 + 2 * ((4096 + 4192 + 2 * 64) + (2 * 4096 + 4192 + 3 * 64))
    assert f"4. model      (2, 9), (2, 9) -> (2, 9, 13); {weights:,} weights" in out
    (line,) = [line for line in out.splitlines() if line.startswith("6. writing")]
    pairs = [pair.split(" -> ") for pair in line.removeprefix("6. writing").strip().split(", ")]
    assert len(pairs) == 3
    assert sum(a == b[::-1] for a, b in pairs) >= 2


def test_without_training_it_does_not(tutorial: dict[str, Any]) -> None:
    torch.manual_seed(1)
    model: EncoderDecoder = tutorial["build"]()
    source, target = tutorial["draw_words"](100, torch.Generator().manual_seed(2), 8)
    written = tutorial["write"](model, source)
    assert written.shape == target.shape == (100, 9)
    spell = tutorial["spell"]
    assert not any(spell(a) == spell(b) for a, b in zip(written, target, strict=True))


def test_words_are_drawn_with_their_mirror_image(tutorial: dict[str, Any]) -> None:
    source, target = tutorial["draw_words"](50, torch.Generator().manual_seed(3))
    spell = tutorial["spell"]
    words = [spell(ids) for ids in source]
    assert [spell(ids) for ids in target] == [word[::-1] for word in words]
    assert {len(word) for word in words} == {3, 4, 5, 6, 7, 8}
    ends = (source == 2).sum(1)
    assert ends.tolist() == [1] * 50
    assert tutorial["shift"](target)[:, 0].tolist() == [1] * 50
    assert torch.equal(tutorial["shift"](target)[:, 1:], target[:, :-1])
