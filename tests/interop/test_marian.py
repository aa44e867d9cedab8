"""Our weights in MarianMT, run by transformers itself."""

from typing import Any

import pytest
import torch

from dragoman.data import pad_rows
from dragoman.decoding import BeamSearch
from dragoman.errors import ConfigError
from dragoman.evaluation import score_targets
from dragoman.interop import to_marian
from dragoman.nn import EncoderDecoder
from tests.interop.models import SPECIAL, our_search, random_bundle, sources

pytest.importorskip("transformers", reason="needs transformers: the extra hf")

LIMIT = 14  # pieces of a translation
HELD: dict[str, dict[str, Any]] = {
    "paper": {},
    "biases": {"attention_bias": True, "output_bias": True, "norm_eps": 1e-2},
    "halves-gelu": {
        "positions": {"kind": "sinusoidal", "layout": "halves"},
        "activation": "gelu",
    },
    "learned-silu": {"positions": {"kind": "learned", "max_length": 20}, "activation": "silu"},
    "gelu-tanh": {"activation": "gelu_tanh", "feedforward_bias": False},
    "unscaled": {"embedding_scale": False, "layers": 3, "decoder_layers": 1},
}
REFUSED: dict[str, dict[str, Any]] = {
    "norm_order": {"norm_order": "pre"},
    "norm": {"norm": "rms"},
    "final_norm": {"final_norm": True},
    "feedforward": {"feedforward": "gated"},
    "kv_heads": {"kv_heads": 1},
    "attention": {"attention": {"kind": "softmax", "scale": 1.0}},
    "positions": {"positions": {"kind": "rotary"}},
    "tied": {"tied": "none"},
    "embedding_norm": {"embedding_norm": True},
    "embedding_width": {"embedding_width": 16},
    "initialization": {"initialization": "deepnorm"},
}


@pytest.mark.parametrize("name", HELD)
def test_logits_are_ours(name: str) -> None:
    bundle = random_bundle(HELD[name])
    assert isinstance(bundle.model, EncoderDecoder)
    source = pad_rows([[*each, SPECIAL.end] for each in sources()], SPECIAL.padding)
    target = pad_rows([[SPECIAL.start, *each] for each in sources(seed=6)], SPECIAL.padding)
    with torch.inference_mode():
        ours = bundle.model(source, target)
        theirs = to_marian(bundle)(
            input_ids=source, attention_mask=(source != 0).long(), decoder_input_ids=target
        ).logits
    real = target != SPECIAL.padding
    torch.testing.assert_close(theirs[real], ours[real], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("beam", [1, 4])
def test_its_own_search_finds_what_ours_finds(beam: int) -> None:
    bundle = random_bundle({})
    assert isinstance(bundle.model, EncoderDecoder)
    marian = to_marian(bundle)
    for source in sources():
        # Without a length penalty both stop when no open hypothesis can win.
        config = BeamSearch(beam=beam, length_penalty="none")
        (ours,) = our_search(bundle, source, config, LIMIT)
        (theirs,) = marian.generate(
            torch.tensor([[*source, SPECIAL.end]]),
            num_beams=beam,
            length_penalty=0.0,
            early_stopping="never" if beam > 1 else False,
            do_sample=False,
            max_new_tokens=LIMIT,
        ).tolist()
        if beam == 1 or ours.truncated:
            assert theirs == [SPECIAL.start, *ours.ids, *[SPECIAL.end] * (not ours.truncated)]
        elif theirs[-1] == SPECIAL.end:  # it mixes those cut off with those that end
            (score,) = score_targets(bundle.model, [source], [theirs[1:-1]], SPECIAL)
            assert ours.log_prob > score.log_prob - 1e-4


@pytest.mark.parametrize("place", REFUSED)
def test_what_marian_has_not_is_refused_by_name(place: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.{place}: MarianMT has no place for "):
        to_marian(random_bundle(REFUSED[place]))


def test_two_vocabularies_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.target_vocabulary: MarianMT has no place"):
        to_marian(random_bundle({}, joint=False))


@pytest.mark.parametrize("choice", [{"first": 1}, {"rate": "tensor2tensor"}], ids=str)
def test_sinusoids_that_it_does_not_compute_are_refused(choice: dict[str, Any]) -> None:
    bundle = random_bundle({"positions": {"kind": "sinusoidal", **choice}})
    with pytest.raises(ConfigError, match=r"model.positions: MarianMT has no place for"):
        to_marian(bundle)
