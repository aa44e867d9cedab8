"""The folders we write, run by CTranslate2 itself."""

import sys
from pathlib import Path
from typing import Any, get_args

import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch
from dragoman.decoding.fused.dot_products import AVX512, vectors_of
from dragoman.errors import ConfigError, MissingExtraError
from dragoman.evaluation import score_targets
from dragoman.interop import Quantization, write_ctranslate2
from dragoman.models import build_model, read_config
from dragoman.nn import EncoderDecoder
from tests.interop.models import SPECIAL, our_search, random_bundle, sources, tokenizers
from tests.models.choices import BASELINES, TRANSFORMERS

ctranslate2 = pytest.importorskip("ctranslate2", reason="needs ctranslate2: the extra ct2")

LIMIT = 14  # pieces of a translation
END = "</s>"

# By hand, from what the format has variables for.
REFUSED = {
    "alibi": "positions",
    "additive": "attention",
    "additive-with-alibi": "attention",
    "linear": "attention",
    "linear-grouped": "attention",
    "local": "attention",
    "local-rotary": "attention",
    "local-shaw": "attention",
    "sparse": "attention",
    "sparse-t5": "attention",
    "free-widths": "d_v",
    "free-widths-shaw": "d_v",
    "narrow-table": "embedding_width",
    "narrow-untied": "embedding_width",
    "deepnorm": "initialization",
}
EXTRA: dict[str, dict[str, Any]] = {
    "biases": {"attention_bias": True, "output_bias": True},
    "pre-rms-gated": {"norm": "rms", "norm_order": "pre", "feedforward": "gated"},
    "rms-eps": {"norm": "rms", "norm_eps": 1e-2},
    "eps": {"norm_eps": 1e-2},
    "relu-gated-bias": {"feedforward": "gated", "activation": "relu", "feedforward_bias": True},
}
IN_TRAINING = ("all-dropouts", "shaw-dropout", "depth-scaled")  # the same model as another
LEFT_OUT = {*REFUSED, *IN_TRAINING}
HELD = {name: table for name, table in TRANSFORMERS.items() if name not in LEFT_OUT} | EXTRA


def theirs(folder: Path, **options: Any) -> Any:
    return ctranslate2.Translator(str(folder), intra_threads=1, **options)


def names(bundle: Bundle, ids: list[int], *, target: bool = False) -> list[str]:
    tokenizer = bundle.target_tokenizer if target else bundle.source_tokenizer
    return [tokenizer.names()[number] for number in ids]


def assert_same_translations(bundle: Bundle, folder: Path) -> None:
    """Hold greedy and beam search and forced scoring of the folder to ours."""
    translator = theirs(folder)
    texts = [names(bundle, source) for source in sources()]
    for beam in (1, 4):
        config = BeamSearch(beam=beam, length_penalty="average", alpha=1.0, n_best=beam)
        results = translator.translate_batch(
            texts,
            beam_size=beam,
            num_hypotheses=beam,
            length_penalty=1.0,
            max_decoding_length=LIMIT,
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
        )
        for source, result in zip(sources(), results, strict=True):
            ours = {
                tuple(names(bundle, [*h.ids, *[SPECIAL.end] * (not h.truncated)], target=True)): h
                for h in our_search(bundle, source, config, LIMIT)
            }
            first = next(iter(ours))
            found = dict(zip(map(tuple, result.hypotheses), result.scores, strict=True))
            assert beam == 4 or found.keys() == ours.keys()
            for pieces in found.keys() & ours.keys():
                assert found[pieces] == pytest.approx(ours[pieces].score, abs=2e-4)
            # Its beams are ours, but it stops earlier and mixes those cut off with the others.
            ended = [score for pieces, score in found.items() if pieces[-1] == END]
            assert ours[first].score > max(ended, default=-1e9) - 2e-4
            assert ours[first].truncated <= (not ended)
            assert not ours[first].truncated or first == next(iter(found))
    assert_same_scores(bundle, translator)


def assert_same_scores(bundle: Bundle, translator: Any) -> None:
    assert isinstance(bundle.model, EncoderDecoder)
    targets = sources(seed=6)
    ours = score_targets(bundle.model, sources(), targets, SPECIAL, batch_tokens=4096)
    results = translator.score_batch(
        [names(bundle, source) for source in sources()],
        [names(bundle, target, target=True) for target in targets],
    )
    for score, result in zip(ours, results, strict=True):
        assert list(score.log_probs) == pytest.approx(result.log_probs, abs=2e-4)


@pytest.mark.parametrize("name", HELD)
def test_it_translates_and_scores_as_we_do(name: str, tmp_path: Path) -> None:
    bundle = random_bundle(HELD[name])
    write_ctranslate2(tmp_path / "model", bundle)
    assert_same_translations(bundle, tmp_path / "model")


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_format_has_not_is_refused_before_anything_is_written(
    name: str, tmp_path: Path
) -> None:
    bundle = random_bundle(TRANSFORMERS[name])
    with pytest.raises(ConfigError, match=rf"model\.{REFUSED[name]}: the CTranslate2 format has"):
        write_ctranslate2(tmp_path / "model", bundle)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("choices", BASELINES.values(), ids=str)
def test_other_architectures_are_refused(choices: dict[str, Any], tmp_path: Path) -> None:
    config = read_config({"layers": 1, "d_model": 32, "vocabulary": 290, **choices})
    bundle = Bundle(config, build_model(config), tokenizers()[:1])
    with pytest.raises(ConfigError, match=r"model\.architecture: .* is not written as a CTr"):
        write_ctranslate2(tmp_path / "model", bundle)


def test_two_vocabularies_keep_their_order(tmp_path: Path) -> None:
    bundle = random_bundle({}, joint=False)
    write_ctranslate2(tmp_path / "model", bundle)
    assert_same_translations(bundle, tmp_path / "model")


@pytest.mark.parametrize("quantization", get_args(Quantization))
def test_writing_leaves_the_model_as_it_was(quantization: Any, tmp_path: Path) -> None:
    bundle = random_bundle({})
    before = {name: weight.clone() for name, weight in bundle.model.state_dict().items()}
    write_ctranslate2(tmp_path / "model", bundle, quantization=quantization)
    for name, weight in bundle.model.state_dict().items():
        assert torch.equal(weight, before[name]), name


# Products of int8 are the library's and the processor's: without VNNI pairs of them are summed in
# 16 bits, which do not hold the largest; with these weights that came to 1.7 nats on one with AVX2.
EXACT = pytest.mark.skipif(
    vectors_of("int8") is not AVX512,
    reason="this processor has no VNNI, so int8 overflows in CTranslate2",
)


@pytest.mark.parametrize(
    ("quantization", "limit"), [("float16", 0.02), pytest.param("int8", 0.6, marks=EXACT)]
)
def test_fewer_bits_change_little(quantization: Any, limit: float, tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_ctranslate2(tmp_path / "whole", bundle)
    write_ctranslate2(tmp_path / "small", bundle, quantization=quantization)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("whole", "small")]
    # The table of positions keeps float32 in an int8 model, and is the largest part here.
    assert sizes[1] < 0.6 * sizes[0] or quantization == "int8"
    assert sizes[1] < sizes[0]
    texts = [names(bundle, source) for source in sources()]
    targets = [names(bundle, target) for target in sources(seed=6)]
    whole, small = (
        theirs(tmp_path / name).score_batch(texts, targets) for name in ("whole", "small")
    )
    for one, other in zip(whole, small, strict=True):
        assert other.log_probs == pytest.approx(one.log_probs, abs=limit)


def test_an_unknown_quantization_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"quantization: 'int4' is not a choice; choose from fl"):
        write_ctranslate2(tmp_path / "model", random_bundle({}), quantization="int4")  # pyright: ignore  # tested


def test_positions_begin_at_the_first_row_and_end_where_asked(tmp_path: Path) -> None:
    bundle = random_bundle({})
    write_ctranslate2(tmp_path / "model", bundle, positions=8)
    translator = theirs(tmp_path / "model")
    seven, eight = (names(bundle, list(range(4, 4 + count))) for count in (7, 8))
    translator.translate_batch([seven], max_decoding_length=8)  # and the end symbol
    with pytest.raises(RuntimeError, match="position"):
        translator.translate_batch([eight], max_decoding_length=8)


def test_a_folder_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "old").write_text("old")
    write_ctranslate2(tmp_path / "model", random_bundle({}))
    assert sorted(file.name for file in (tmp_path / "model").iterdir()) == [
        "config.json",
        "model.bin",
        "shared_vocabulary.json",
        "tokenizer.json",
    ]
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_model_without_the_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[ct2\]'"):
        write_ctranslate2(tmp_path / "model", random_bundle({}))
