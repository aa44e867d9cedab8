"""CTranslate2 behind our interface: the same ids and scores where both search alike."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.bundle import Bundle
from dragoman.decoding import (
    BannedPhrases,
    BeamSearch,
    CTranslate2Engine,
    NoRoom,
    PrefixTooLong,
    decode,
    load_ctranslate2,
)
from dragoman.errors import ConfigError, MissingExtraError, ModelError
from dragoman.evaluation import score_targets
from dragoman.interop import write_ctranslate2
from dragoman.nn import EncoderDecoder
from tests.interop.models import SPECIAL, random_bundle, sources

pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    """Make a model that all but never chooses padding, start or unknown."""
    made = random_bundle({"output_bias": True})
    assert isinstance(made.model, EncoderDecoder)
    bias = made.model.generator.bias
    assert bias is not None
    for piece in (SPECIAL.padding, SPECIAL.start, SPECIAL.unknown):
        bias.data[piece] = -40.0
    return made


@pytest.fixture(scope="module")
def model(bundle: Bundle, tmp_path_factory: pytest.TempPathFactory) -> CTranslate2Engine:
    folder = tmp_path_factory.mktemp("folder") / "ctranslate2"
    write_ctranslate2(folder, bundle, positions=64)
    assert isinstance(bundle.model, EncoderDecoder)
    return CTranslate2Engine(bundle.model, load_ctranslate2(folder, workers=2))


def both(bundle: Bundle, model: CTranslate2Engine, config: BeamSearch, **options: Any) -> Any:
    assert isinstance(bundle.model, EncoderDecoder)
    ours = decode(bundle.model, sources(), config, SPECIAL, **options)
    return ours, decode(model, sources(), config, SPECIAL, **options)


@pytest.mark.parametrize(
    "controls",
    [
        {"beam": 1},
        {"beam": 1, "min_length": 5},
        {"beam": 1, "no_repeat_ngram": 2},
        {"beam": 1, "max_length": 6},
        {"patience": 1.0, "length_penalty": "average", "alpha": 1.0},
        {"patience": 2.0, "length_penalty": "average", "alpha": 0.5},
        {"beam": 3, "patience": 1.0, "n_best": 2, "max_length": 9},
        {"beam": 2, "patience": 1.0, "word_reward": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("batch_tokens", [16, 4096])
def test_it_finds_what_we_find(
    controls: dict[str, Any], batch_tokens: int, bundle: Bundle, model: CTranslate2Engine
) -> None:
    config = BeamSearch(**controls)
    ours, theirs = both(bundle, model, config, batch_tokens=batch_tokens)
    for mine, other in zip(ours, theirs, strict=True):
        assert [h.ids for h in mine] == [h.ids for h in other]
        assert [h.truncated for h in mine] == [h.truncated for h in other]
        for one, two in zip(mine, other, strict=True):
            assert two.score == pytest.approx(one.score, abs=1e-4)
            assert two.log_probs == pytest.approx(one.log_probs, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_forced_prefixes_are_obeyed_and_count_in_the_score(
    beam: int, bundle: Bundle, model: CTranslate2Engine
) -> None:
    prefixes: list[tuple[int, ...]] = [() if n % 3 else (30 + n, 40) for n in range(12)]
    config = BeamSearch(beam=beam, patience=1.0, max_length=12)
    ours, theirs = both(bundle, model, config, prefixes=prefixes)
    assert isinstance(bundle.model, EncoderDecoder)
    for source, prefix, mine, other in zip(sources(), prefixes, ours, theirs, strict=True):
        assert other[0].ids[: len(prefix)] == prefix
        # With prefixes its beams overlook some ends, so theirs may be a worse translation.
        assert other[0].ids == mine[0].ids or (prefix and beam > 1)
        (score,) = score_targets(bundle.model, [source], [other[0].ids], SPECIAL)
        assert other[0].log_probs == pytest.approx(
            score.log_probs[: len(other[0].log_probs)], abs=1e-4
        )


def test_a_prefix_that_leaves_no_room_says_so(model: CTranslate2Engine) -> None:
    config = BeamSearch(max_length=3)
    found = decode(model, [[5], [6]], config, SPECIAL, prefixes=[(7, 8, 9), (7, 8)])
    assert found[0] == PrefixTooLong(3, 3)
    assert not isinstance(found[1], NoRoom)


def test_a_prefix_with_the_end_is_a_mistake_of_the_caller(model: CTranslate2Engine) -> None:
    with pytest.raises(ValueError, match="prefixes: one holds the end symbol"):
        decode(model, [[5]], BeamSearch(), SPECIAL, prefixes=[(SPECIAL.end,)])


def test_no_sources_and_empty_sources_have_answers(model: CTranslate2Engine) -> None:
    assert decode(model, [], BeamSearch(), SPECIAL) == []
    (found,) = decode(model, [[]], BeamSearch(), SPECIAL)
    assert not isinstance(found, NoRoom)
    assert (found[0].ids, len(found[0].log_probs), found[0].truncated) == ((), 1, False)


def test_a_source_beyond_the_positions_is_refused(model: CTranslate2Engine) -> None:
    with pytest.raises(ValueError, match="a source has 65 pieces with the end symbol, the CTr"):
        decode(model, [[5], [5] * 64], BeamSearch(beam=1), SPECIAL)


def test_controls_it_has_not_are_refused_by_name_and_together(model: CTranslate2Engine) -> None:
    config = BeamSearch(
        groups=2, coverage=0.1, repetition_penalty=1.2, min_length=2, no_repeat_ngram=3
    )
    with pytest.raises(ConfigError) as caught:
        decode(model, [[5]], config, SPECIAL, ban=BannedPhrases([[7]]))
    assert {mistake.place for mistake in caught.value.mistakes} == {
        "groups",
        "coverage",
        "repetition_penalty",
        "min_length",
        "no_repeat_ngram",
        "banned_words",
    }
    assert all(mistake.hint for mistake in caught.value.mistakes)


def test_a_damaged_folder_is_refused(tmp_path: Path, bundle: Bundle) -> None:
    folder = tmp_path / "ctranslate2"
    with pytest.raises(ModelError, match="is no CTranslate2 model"):
        load_ctranslate2(folder)
    write_ctranslate2(folder, bundle)
    (folder / "model.bin").write_bytes(b"nonsense")
    with pytest.raises(ModelError, match="cannot be read"):
        load_ctranslate2(folder)
    (folder / "shared_vocabulary.json").write_text(json.dumps(5))
    with pytest.raises(ModelError, match="is no CTranslate2 model"):
        load_ctranslate2(folder)


def test_an_unknown_way_to_compute_is_refused(tmp_path: Path, bundle: Bundle) -> None:
    write_ctranslate2(tmp_path / "ctranslate2", bundle)
    with pytest.raises(
        ConfigError, match=r"dtype: 'int3' is not a choice; choose from auto, .*int8"
    ):
        load_ctranslate2(tmp_path / "ctranslate2", compute_type="int3")


def test_without_the_extra_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[ct2\]'"):
        load_ctranslate2(tmp_path)
