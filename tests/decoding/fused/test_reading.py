"""A packed model reads several pieces at once as its session reads them one by one."""

from typing import Any

import pytest
import torch

from dragoman.decoding import (
    BeamSearch,
    CopyDrafts,
    FusedEngine,
    ModelDrafts,
    NoRoom,
    Speculation,
    decode,
    decode_drafted,
    reader_of,
)
from dragoman.decoding.fused import FusedModel, FusedReader, FusedSession, Kind
from dragoman.nn import EncoderDecoder
from dragoman.tokenization import SpecialIds
from tests.decoding.fused.test_session import SOURCES, VARIANTS, made

SPECIAL = SpecialIds()
IDS = [1, 9, 10, 11, 12, 13, 14]
KINDS: list[Kind] = ["float32", "bfloat16", "int8"]
CLOSE: dict[Kind, float] = {"float32": 1e-5, "bfloat16": 0.1, "int8": 0.0}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choices", VARIANTS, ids=[" ".join(each) or "paper" for each in VARIANTS])
def test_pieces_read_together_are_those_read_one_by_one_and_after_going_back(
    kind: Kind, choices: dict[str, Any]
) -> None:
    packed = FusedModel.of(made(**choices), kind)
    with torch.inference_mode():
        session = FusedSession(packed, [SOURCES[2]])
        rows: list[torch.Tensor] = []
        for piece in IDS:
            row, session = session.step(torch.tensor([piece]))
            rows.append(row.clone())
        reading = FusedReader(made(**choices), packed).begin(SOURCES[2], [1])
        first, reading = reading.read(IDS[:3])
        _, reading = reading.read([30, 31, 32])
        second, reading = reading.cut(3).read(IDS[3:4])
        third, reading = reading.read(IDS[4:])
    found = torch.cat((first, second, third))
    assert (found - torch.cat(rows)).abs().max() <= CLOSE[kind]


def test_a_long_text_finds_more_room() -> None:
    packed = FusedModel.of(made(), "int8")
    ids = [1, *torch.randint(4, 50, (299,)).tolist()]
    parts: list[torch.Tensor] = []
    with torch.inference_mode():
        whole, _ = FusedReader(made(), packed).begin(SOURCES[0], [1]).read(ids)
        reading = FusedReader(made(), packed).begin(SOURCES[0], ids[:101])
        for start in range(100, 300, 40):
            part, reading = reading.read(ids[start : start + 40])
            parts.append(part)
    assert torch.equal(torch.cat(parts), whole[100:])


@pytest.fixture(scope="module")
def models() -> tuple[EncoderDecoder, EncoderDecoder]:
    """Give a model and a smaller one, which end now and then."""
    large, small = made(norm_order="pre"), made(norm_order="pre", layers=1)
    for model in (large, small):
        with torch.no_grad():
            model.generator.table.mul_(2)
            model.generator.table[SPECIAL.end].mul_(1.3)
    return large, small


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("drafting", ["itself", "small", "copy"])
def test_greedy_text_with_a_draft_is_that_of_the_engine_alone(
    kind: Kind, drafting: str, models: tuple[EncoderDecoder, EncoderDecoder]
) -> None:
    engine = FusedEngine.of(models[0], kind)
    small = engine if drafting == "itself" else FusedEngine.of(models[1], "int8")
    drafts = ModelDrafts(reader_of(small), SPECIAL.end)
    speculation = Speculation(CopyDrafts() if drafting == "copy" else drafts, 3)
    sources = [source[:-1] for source in SOURCES]
    search = BeamSearch(beam=1, max_length=25)
    found, counts = decode_drafted(engine, sources, search, SPECIAL, speculation)
    expected = decode(engine, sources, search, SPECIAL)
    for answer, other in zip(found, expected, strict=True):
        assert not isinstance(answer, NoRoom)
        assert not isinstance(other, NoRoom)
        assert [(h.ids, h.truncated) for h in answer] == [(h.ids, h.truncated) for h in other]
        assert answer[0].score == pytest.approx(other[0].score, abs=1e-5 + CLOSE[kind])
    if drafting == "itself" and kind == "int8":
        assert counts.acceptance == 1
