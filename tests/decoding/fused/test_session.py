"""A packed model gives the log-probabilities of its modules."""

from typing import Any

import pytest
import torch

from dragoman.decoding import FusedEngine, ModelSession
from dragoman.decoding.fused import FusedModel, FusedSession, Kind
from dragoman.errors import ConfigError
from dragoman.models import ModelConfig, build_model
from dragoman.nn import EncoderDecoder, causal_mask, reference_attention

SOURCES = [[5, 9, 11, 2], [7, 2], [20, 30, 8, 8, 8, 6, 2]]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm_order": "pre"},
    {"norm_order": "pre", "norm": "rms", "feedforward": "gated", "kv_heads": 2},
    {"attention_bias": True, "output_bias": True, "activation": "gelu", "tied": "none"},
    {"positions": {"kind": "learned", "max_length": 400}, "decoder_layers": 1, "heads": 2},
    {"positions": "none", "d_k": 6, "d_v": 10, "kv_heads": 1, "activation": "gelu_tanh"},
    {"initialization": "deepnorm", "embedding_scale": False, "target_vocabulary": 41},
    {"attention": {"kind": "softmax", "scale": 0.5}, "positions": {"kind": "sinusoidal"}},
]
TOLERANCE: dict[Kind, float] = {"float32": 1e-4, "bfloat16": 0.15, "int8": 0.3}


def made(**choices: Any) -> EncoderDecoder:
    torch.manual_seed(3)
    basis: dict[str, Any] = {"vocabulary": 50, "d_model": 32, "d_ff": 64, "heads": 4, "layers": 2}
    positions = choices.get("positions")
    if isinstance(positions, str):
        choices["positions"] = {"kind": positions}
    from dragoman.configfile import read_record

    model = build_model(read_record(ModelConfig, basis | choices, file="test"))
    assert isinstance(model, EncoderDecoder)
    with torch.no_grad():  # norms and biases that do something
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight) * 0.05)
    return model.eval()


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("choices", VARIANTS, ids=[" ".join(each) or "paper" for each in VARIANTS])
def test_log_probabilities_are_those_of_the_model(kind: Kind, choices: dict[str, Any]) -> None:
    model = made(**choices)
    vocabulary = model.generator.table.size(0)
    padded = torch.zeros((3, 7), dtype=torch.int64)
    for row, source in enumerate(SOURCES):
        padded[row, : len(source)] = torch.tensor(source)
    with torch.inference_mode():
        plain = ModelSession.start(model, padded)
        fused = FusedSession(FusedModel.of(model, kind), SOURCES)
        ids = torch.tensor([1, 1, 1])
        for step in range(6):
            expected, plain = plain.step(ids)
            found, fused = fused.step(ids)
            assert found.shape == (len(ids), vocabulary)
            assert (found - expected).abs().max() < TOLERANCE[kind]
            ids = torch.arange(len(ids)) * 3 + step + 4
            if step == 1:  # three hypotheses each, in another order
                rows = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2, 2])
                plain, fused, ids = plain.select(rows, None), fused.select(rows, None), ids[rows]
                ids = (ids + torch.arange(9)) % vocabulary
            if step == 3:  # the second sentence has ended
                rows, kept = torch.tensor([2, 0, 0, 7, 8, 6]), torch.tensor([0, 2])
                plain, fused, ids = plain.select(rows, kept), fused.select(rows, kept), ids[rows]
        assert fused.sentences == plain.sentences == 2


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
def test_processors_without_the_vectors_multiply_with_torch(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(kind: str, inputs: int) -> bool:
        return False

    model = made()
    monkeypatch.setattr("dragoman.decoding.fused.products.has_vectors", nowhere)
    found, _ = FusedSession(FusedModel.of(model, kind), SOURCES[:1]).step(torch.tensor([1]))
    with torch.inference_mode():
        expected, _ = ModelSession.start(model, torch.tensor(SOURCES[:1])).step(torch.tensor([1]))
    assert (found - expected).abs().max() < TOLERANCE[kind]


def test_long_translations_find_more_room() -> None:
    model = made()
    fused = FusedSession(FusedModel.of(model, "float32"), SOURCES[:1])
    ids = [1, *torch.randint(4, 50, (149,)).tolist()]
    found = torch.empty(0)
    with torch.inference_mode():
        for place, piece in enumerate(ids):
            found, fused = fused.step(torch.tensor([piece] * (1 if place < 100 else 2)))
            if place == 99:
                fused = fused.select(torch.tensor([0, 0]), None)
        logits = model(torch.tensor(SOURCES[:1]), torch.tensor([ids]))
    expected = logits[0, -1].log_softmax(-1)
    assert (found - expected).abs().max() < 1e-4


def test_rows_do_not_depend_on_those_beside_them_in_int8() -> None:
    packed = FusedModel.of(made(), "int8")
    together = FusedSession(packed, SOURCES).step(torch.tensor([1, 1, 1]))[0]
    for row, source in enumerate(SOURCES):
        alone = FusedSession(packed, [source]).step(torch.tensor([1]))[0]
        assert alone[0].equal(together[row])


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"positions": {"kind": "rotary"}}, "Rotary"),
        ({"positions": {"kind": "alibi"}}, "Alibi"),
        ({"positions": {"kind": "t5"}}, "T5"),
        ({"positions": {"kind": "shaw"}}, "Relative"),
        ({"attention": {"kind": "additive"}}, "kernel of its own"),
        ({"attention": {"kind": "linear"}}, "LinearAttention"),
        ({"attention": {"kind": "local", "keys": 5}}, "Local"),
        ({"embedding_norm": True}, "norm of embeddings"),
        ({"embedding_width": 8}, "narrower"),
        ({"final_norm": True}, "norms"),
    ],
)
def test_what_is_not_known_is_refused_by_name(choices: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        FusedEngine.of(made(**choices), "float32")
    assert "torch" in str(caught.value)


def test_a_kernel_that_records_is_not_passed_over() -> None:
    model = made()
    attention: Any = model.decoder.layers[0].cross_attention

    def kernel(*arguments: Any, **options: Any) -> Any:
        return reference_attention(*arguments, **options)

    attention.kernel = kernel
    with pytest.raises(ConfigError, match="kernel of its own"):
        FusedEngine.of(model, "float32")
    assert causal_mask(2, 2).sum() == 3


@pytest.mark.parametrize("piece", [-1, 50])
def test_ids_outside_the_vocabulary_are_refused(piece: int) -> None:
    packed = FusedModel.of(made(), "float32")
    with pytest.raises(IndexError, match="from 0 to 49"):
        FusedSession(packed, [[5, piece, 2]])
    with pytest.raises(IndexError, match="from 0 to 49"):
        FusedSession(packed, SOURCES[:1]).step(torch.tensor([piece]))


def test_threads_that_need_fewer_positions_take_none_away() -> None:
    class Contested(FusedModel):
        """Another thread puts three positions in place at any time."""

        @property
        def _source(self) -> Any:
            return self.packed.encoder.positions(3)

        @_source.setter
        def _source(self, positions: Any) -> None: ...

        _target = _source

    contested = Contested(FusedModel.of(made(), "float32").packed)
    assert len(contested.source_positions(20)) >= 20
    assert len(contested.target_positions(20)) >= 20
