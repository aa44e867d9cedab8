"""Models that want other symbols around a source and before a target than those of the paper."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.decoding import (
    BeamSearch,
    FusedEngine,
    Sampling,
    TorchEngine,
    decode,
    next_pieces_of,
)
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.ctranslate2 import beyond_ctranslate2
from dragoman.models import Learned, ModelConfig, Positions, Sinusoidal, build_model
from dragoman.nn import EncoderDecoder
from dragoman.translator import Draft, Translator
from dragoman.translator.joining import join_models
from tests.fixtures import ENGLISH, GERMAN, tiny_bundle

FRAMES = {  # ids 260 and 261 play the languages
    "bart": {"source_before": (1,), "target_before": (2, 1)},
    "mbart": {"source_after": (2, 260), "target_before": (261,)},
    "mbart50": {"source_before": (260,), "target_before": (2, 261)},
    "without an end": {"source_after": ()},
}
PAIR = (GERMAN[0], ENGLISH[0])


@cache
def framed(name: str, positions: Positions | None = None) -> Bundle:
    """Make a model with large random weights and a frame."""
    plain = tiny_bundle(layers=2)
    assert isinstance(plain.config, ModelConfig)
    config = replace(plain.config, positions=positions or Sinusoidal(), **FRAMES[name])  # type: ignore[arg-type]  # from a table
    model = build_model(config, torch.Generator().manual_seed(1)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2.0)
    return Bundle(config, model, plain.tokenizers)


def by_hand(bundle: Bundle, source: list[int], target: list[int]) -> torch.Tensor:
    """Give the log-probabilities of what follows each piece of a target, (T + 1, V)."""
    config, model = bundle.config, bundle.model
    assert isinstance(config, ModelConfig)
    assert isinstance(model, EncoderDecoder)
    before = (1,) if config.target_before is None else config.target_before
    after = (2,) if config.source_after is None else config.source_after
    read = torch.tensor([[*(config.source_before or ()), *source, *after]])
    with torch.no_grad():
        logits = model(read, torch.tensor([[*before, *target]]))
    return logits[0, len(before) - 1 :].log_softmax(-1)


@pytest.mark.parametrize("name", FRAMES)
def test_a_score_is_the_chain_rule_over_text_alone(name: str) -> None:
    bundle = framed(name)
    source, target = (bundle.source_tokenizer.encode(text) for text in PAIR)
    expected = by_hand(bundle, source, target)
    asked = [*target, 2]
    (found,) = Translator(bundle).score([PAIR[0]], [PAIR[1]])
    assert found.log_probs == pytest.approx(
        [float(expected[place, piece]) for place, piece in enumerate(asked)], abs=1e-5
    )


@pytest.mark.parametrize("name", FRAMES)
def test_greedy_search_writes_the_most_probable_allowed_pieces(name: str) -> None:
    bundle = framed(name)
    source = bundle.source_tokenizer.encode(PAIR[0])
    never, written = [*bundle.frame.never_written], list[int]()
    for _ in range(6):
        following = by_hand(bundle, source, written)[-1]
        following[never] = -torch.inf
        written.append(int(following.argmax()))
        if written[-1] == 2:
            break
    search = BeamSearch(beam=1, max_length=6)
    (found,) = decode(bundle.model, [source], search, bundle.frame)  # type: ignore[arg-type]  # it translates
    assert isinstance(found, list)
    assert list(found[0].ids) == [piece for piece in written if piece != 2]


@pytest.mark.parametrize("engine", ["torch", "fused"])
@pytest.mark.parametrize("name", FRAMES)
def test_what_a_search_says_of_a_translation_is_its_score(name: str, engine: str) -> None:
    bundle = framed(name)
    assert isinstance(bundle.model, EncoderDecoder)
    if engine == "fused":
        pytest.importorskip("numba", reason="needs numba: the extra fast")
    made = FusedEngine.of(bundle.model, "float32") if engine == "fused" else None
    found = decode(
        made or TorchEngine(bundle.model),
        [bundle.source_tokenizer.encode(text) for text in GERMAN],
        BeamSearch(beam=3, max_length=8, alpha=0.0),
        bundle.frame,
    )
    for text, each in zip(GERMAN, found, strict=True):
        assert isinstance(each, list)
        ids, source = list(each[0].ids), bundle.source_tokenizer.encode(text)
        rows = by_hand(bundle, source, ids)
        asked = [*ids] if each[0].truncated else [*ids, 2]
        total = sum(float(rows[place, piece]) for place, piece in enumerate(asked))
        assert each[0].score == pytest.approx(total, abs=1e-4)


@pytest.mark.parametrize("name", FRAMES)
def test_translations_drawn_drafted_and_completed_know_the_frame(name: str) -> None:
    bundle = framed(name)
    translator = Translator(bundle)
    ids = bundle.source_tokenizer.encode(PAIR[0])
    (greedy,) = translator.translate([PAIR[0]], beam=1, max_length=8)
    (drafted,) = translator.translate([PAIR[0]], beam=1, max_length=8, draft=Draft(None))
    (small,) = translator.translate([PAIR[0]], beam=1, max_length=8, draft=Draft(bundle))
    assert drafted.text == small.text == greedy.text
    assert next_pieces_of(translator.model, ids, bundle.frame, [], 1)[0][0] not in (
        bundle.frame.never_written
    )
    coldest = Sampling(temperature=1e-4, max_length=8)
    (drawn,) = translator.translate([PAIR[0]], sampling=coldest)
    assert drawn.text == greedy.text
    first = translator.alternatives(PAIR[0], "", 0, 1, search=BeamSearch(beam=1, max_length=8))
    assert first[0].text == greedy.text


@pytest.mark.parametrize("name", FRAMES)
def test_words_are_aligned_by_the_rows_and_columns_of_text(name: str) -> None:
    bundle = framed(name)
    translator = Translator(bundle)
    (maps,) = translator.attention([PAIR[0]], [PAIR[1]])
    source, target = (bundle.source_tokenizer.encode(text) for text in PAIR)
    frame = bundle.frame
    assert maps.source_pieces == tuple(bundle.source_tokenizer.pieces(frame.source(source)))
    assert maps.target_pieces == tuple(bundle.target_tokenizer.pieces(frame.target_in(target)))
    (found,) = translator.align([PAIR[0]], [PAIR[1]], heads=[(0, 0)])
    # By hand: a piece is written in the row before its own; a word is the sum of its columns.
    first, start = len(frame.source_before), frame.target_added - 1
    rows = torch.as_tensor(maps.cross)[0, 0][start : start + len(target)]
    columns = rows[:, first : first + len(source)]
    of_source, of_target = (words_of(bundle, text) for text in PAIR)
    best = [
        int(torch.stack([columns[w == each][:, of_source == s].sum() for s in range(top)]).argmax())
        for w in [of_target]
        for top in [int(of_source.max()) + 1]
        for each in range(int(of_target.max()) + 1)
    ]
    assert [link.source for link in found.links] == best


def words_of(bundle: Bundle, text: str) -> torch.Tensor:
    """Say to which word each piece of a text belongs; the space before a word is its own."""
    spans = bundle.source_tokenizer.spans(text)
    starts = [start + (text[start] == " ") for start, _ in spans]
    return torch.tensor([text[:start].count(" ") for start in starts])


def test_positions_leave_room_for_all_symbols() -> None:
    bundle = framed("mbart50", Learned(max_length=8))
    assert isinstance(bundle.model, EncoderDecoder)
    longest = [list(range(10, 16))]  # 6 pieces and two symbols
    search = BeamSearch(beam=1, max_length=50)
    (found,) = decode(bundle.model, longest, search, bundle.frame)
    assert isinstance(found, list)
    assert len(found[0].log_probs) <= 7  # the last of 8 positions is read to write the 7th piece
    with pytest.raises(ValueError, match="9 pieces with the end symbol, the model has 8"):
        decode(bundle.model, [[*longest[0], 16]], search, bundle.frame)
    with pytest.raises(
        ModelError, match=r"target 1: 11 pieces with the end symbol, the model has 8"
    ):
        Translator(bundle).score(["."], ["a b c d e f g"])
    (cut,) = Translator(bundle).translate(["a b c d e f g h"], beam=1, too_long="cut")
    assert cut.shortened


def test_a_model_folder_keeps_the_frame(tmp_path: Path) -> None:
    bundle = framed("mbart50")
    save_bundle(tmp_path, bundle, "# card\n")
    assert load_bundle(tmp_path).frame == bundle.frame


def test_models_with_other_frames_neither_draft_nor_join() -> None:
    one, other = framed("bart"), framed("mbart")
    with pytest.raises(ConfigError, match="draft: other symbols stand around its sources"):
        Draft(one).check(other)
    with pytest.raises(ModelError, match="other symbols stand around sources or before targets"):
        join_models([("one", one), ("other", other)])


def test_ctranslate2_refuses_two_symbols_before_a_target_by_name() -> None:
    config = framed("bart").config
    places = [mistake.place for mistake in beyond_ctranslate2(config)]
    assert places == ["target_before"]
