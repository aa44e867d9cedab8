"""Norms, patches, residual wiring, dropout and embeddings."""

import torch
from torch import Tensor, nn

from dragoman.nn import (
    Dropout,
    Embedding,
    Generator,
    Residual,
    note_layer_norm,
    patchify,
    reference_layer_norm,
    sinusoids,
    standardize,
)
from dragoman.training.loss import reference_cross_entropy
from tests.golden.case import Case
from tests.golden.kinds.weights import norm_from


def layer_norm(case: Case) -> dict[str, Tensor]:
    """The module and its slow twin, which must agree, and the note's form."""
    x, weights = case.tensor("x"), {"gain": case.tensor("gain"), "bias": case.tensor("bias")}
    eps = case.inputs["eps_default"]
    slow = reference_layer_norm(x, weights["gain"], weights["bias"], eps)
    tolerance = case.raw["tolerance"]["float64" if case.dtype == torch.float64 else "float32"]
    fast = norm_from(weights, eps)(x)
    torch.testing.assert_close(fast, slow, atol=tolerance, rtol=tolerance, equal_nan=True)
    return {
        "default": fast,
        "default_eps_1e-6": norm_from(weights, 1e-6)(x),
        "note_form": note_layer_norm(x, weights["gain"], weights["bias"], case.inputs["eps_note"]),
    }


def batch_vs_layer(case: Case) -> dict[str, Tensor]:
    x, eps = case.tensor("x"), case.inputs["eps"]
    return {"layer_norm": standardize(x, 1, eps), "batch_norm": standardize(x, 0, eps)}


def patches(case: Case) -> dict[str, Tensor]:
    return {"patches": patchify(case.tensor("image"), case.inputs["patch"])}


def sublayer(case: Case) -> dict[str, Tensor]:
    norm = norm_from(case.reals(case.inputs["norm"]), case.inputs["eps"])
    x, matrix = case.tensor("x"), case.tensor("W")
    return {
        order: Residual(norm, dropout=0.0, order=order)(x, lambda t: t @ matrix)
        for order in ("post", "pre")
    }


def dropout(case: Case) -> dict[str, Tensor]:
    """Dropout draws its own mask: of many drawn, take for each element one that fits ``keep``."""
    x, keep, module = case.tensor("x"), case.tensor("keep") != 0, Dropout(case.inputs["p"])
    many = (4096, *x.shape)
    state = torch.manual_seed(0).get_state()
    kept = module(torch.ones(many, dtype=case.dtype)) != 0
    torch.set_rng_state(state)
    dropped = module(x.expand(many))
    fitting = (kept == keep).int().argmax(0, keepdim=True)
    return {"train": dropped.gather(0, fitting)[0], "eval": module.eval()(x)}


def log_softmax(logits: Tensor) -> Tensor:
    """Give the log-probability of every piece: minus its loss, without smoothing."""
    pieces = torch.arange(logits.size(-1)).expand(logits.shape)
    repeated = logits[..., None, :].expand(*logits.shape, logits.size(-1))
    return -reference_cross_entropy(repeated, pieces, smoothing=0.0)


def tied_embedding(case: Case) -> dict[str, Tensor]:
    table, tokens = case.tensor("table"), case.ids("tokens")
    embedding = Embedding(*table.shape).to(case.dtype)
    embedding.table.data.copy_(table)
    one_hot = torch.nn.functional.one_hot(tokens, table.size(0)).to(case.dtype)
    logits = Generator(embedding.table)(case.tensor("hidden"))
    return {
        "embedded": embedding(tokens),
        "one_hot_product": one_hot @ embedding.table * embedding.scale,
        "logits": logits,
        "log_probs": log_softmax(logits),
    }


def generator(case: Case) -> dict[str, Tensor]:
    table, bias = nn.Parameter(case.tensor("W").T), case.tensor("b")
    output = Generator(table, bias=True).to(case.dtype)
    assert output.bias is not None
    output.bias.data.copy_(bias)
    return {"log_probs": log_softmax(output(case.tensor("x")))}


def embedding_norm(case: Case) -> dict[str, Tensor]:
    """A row whose every element is the standard deviation has the root-mean-square length."""
    d_model = case.inputs["d_model"]
    embedding = Embedding(1, d_model).to(case.dtype)
    embedding.table.data.fill_(case.inputs["std"])
    return {
        "rms_norm": embedding.table.norm(),
        "rms_norm_scaled": embedding(torch.tensor([0])).norm(),
        "encoding_norm": sinusoids(torch.tensor([7]), d_model).to(case.dtype).norm(),
    }


KINDS = {
    "batch_vs_layer": batch_vs_layer,
    "dropout": dropout,
    "embedding_norm": embedding_norm,
    "generator": generator,
    "layer_norm": layer_norm,
    "patchify": patches,
    "sublayer": sublayer,
    "tied_embedding": tied_embedding,
}
