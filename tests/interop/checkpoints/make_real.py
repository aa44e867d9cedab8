"""Ask the trainers' own model code: what it calls its weights, and which logits it computes.

    python -m tests.interop.checkpoints.make_real fairseq|joeynmt|opennmt_py

writes ``real/NAME.json``. Made with fairseq 0.12.2, JoeyNMT 2.3.0 and OpenNMT-py 3.5.1 under
PyTorch 2.13; their folders have to be importable. They are no dependencies: fairseq installs
nowhere today (its dataclasses need Python 3.10 or a patched module), and the other two ask for old
releases of others.
"""

import argparse
import copy
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from tests.interop.checkpoints.drawn import drawn

SPECIAL = {
    "fairseq": ["<s>", "<pad>", "</s>", "<unk>"],
    "joeynmt": ["<unk>", "<pad>", "<s>", "</s>"],
    "opennmt_py": ["<unk>", "<blank>", "<s>", "</s>"],
}
SOURCE, TARGET = [5, 6, 11, 4, 7], [8, 4, 5, 10]  # without any symbol
SIZES = {"encoder": (12, 1), "decoder": (13, 2)}  # pieces and layers


def pieces(trainer: str, side: str) -> list[str]:
    size, _ = SIZES[side]
    return [*SPECIAL[trainer], *(f"{side[0]}{number}" for number in range(size - 4))]


def fill(model: nn.Module) -> tuple[dict[str, list[int]], dict[str, str]]:
    """Draw all weights anew; give their shapes, and which names have the weight of another."""
    state = model.state_dict()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    first: dict[int, str] = {}
    same = {name: first.setdefault(id(each), name) for name, each in parameters.items()}
    for name, each in parameters.items():
        each.data.copy_(drawn(same[name], each.shape))
    model.eval()
    shapes = {name: list(each.shape) for name, each in state.items()}
    return shapes, {name: other for name, other in same.items() if name != other}


def fairseq() -> dict[str, Any]:
    transformer = import_module("fairseq.models.transformer.transformer_legacy")
    dictionary = import_module("fairseq.data").Dictionary
    base: dict[str, Any] = {"arch": "transformer", "source_lang": "de", "target_lang": "en"}
    for side, (_, layers) in SIZES.items():
        base |= {f"{side}_embed_dim": 8, f"{side}_ffn_embed_dim": 12, f"{side}_layers": layers}
        base |= {f"{side}_attention_heads": 2}
    base |= {"max_source_positions": 20, "max_target_positions": 24}
    full = argparse.Namespace(**base)
    transformer.base_architecture(full)
    pre = {"encoder_normalize_before": True, "decoder_normalize_before": True}
    learned = {"encoder_learned_pos": True, "decoder_learned_pos": True}
    cases: dict[str, dict[str, Any]] = {
        "post": {},
        "pre": {**pre, "share_decoder_input_output_embed": True},
        "learned": {**learned, "activation_fn": "gelu_accurate"},
        "one learned": {"decoder_learned_pos": True, "no_scale_embedding": True},
        "joint": {"share_all_embeddings": True, "activation_fn": "gelu"},
        "norm of embeddings": {"layernorm_embedding": True, **pre},
        "no positions": {"no_token_positional_embeddings": True},
    }

    def run(changed: dict[str, Any]) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
        dictionaries = []
        for side in ("encoder", "encoder" if "share_all_embeddings" in changed else "decoder"):
            made = dictionary()
            for piece in pieces("fairseq", side)[4:]:
                made.add_symbol(piece)
            dictionaries.append(made)
        task = SimpleNamespace(source_dictionary=dictionaries[0], target_dictionary=dictionaries[1])
        args = argparse.Namespace(**{**vars(full), **changed})
        model = transformer.TransformerModel.build_model(args, task)
        source, target = torch.tensor([[*SOURCE, 2]]), torch.tensor([[2, *TARGET]])
        return model, lambda: model(source, torch.tensor([source.size(1)]), target)[0]

    return {"release": "0.12.2", "settings": vars(full), "cases": all_of(cases, run)}


def joeynmt() -> dict[str, Any]:
    build = import_module("joeynmt.model").build_model
    vocabulary = import_module("joeynmt.vocabulary").Vocabulary
    names = ("unk", "pad", "bos", "eos")
    symbols: dict[str, Any] = {f"{name}_id": number for number, name in enumerate(names)}
    symbols |= {f"{n}_token": t for n, t in zip(names, SPECIAL["joeynmt"], strict=True)}
    symbols |= {"sep_token": None, "sep_id": None, "lang_tags": []}
    base: dict[str, Any] = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"}
    for side, (_, layers) in SIZES.items():
        base[side] = {"type": "transformer", "num_layers": layers, "num_heads": 2}
        base[side] |= {"hidden_size": 8, "ff_size": 12, "dropout": 0.1, "layer_norm": "post"}
        base[side]["embeddings"] = {"embedding_dim": 8, "scale": True, "dropout": 0.0}
    cases: dict[str, dict[str, Any]] = {
        "post": {},
        "pre": {"layer_norm": "pre", "tied_softmax": True},
        "swish": {"layer_norm": "pre", "activation": "swish"},
        "joint": {"tied_embeddings": True, "tied_softmax": True, "activation": "gelu"},
        "inputs": {"tied_embeddings": True, "scale": False},
    }

    def run(changed: dict[str, Any]) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
        settings = joeynmt_settings(base, changed)
        source = vocabulary(pieces("joeynmt", "encoder")[4:], SimpleNamespace(**symbols))
        target = vocabulary(pieces("joeynmt", "decoder")[4:], SimpleNamespace(**symbols))
        model = build(settings, source, source if "tied_embeddings" in changed else target)
        ids, before = torch.tensor([[*SOURCE, 3]]), torch.tensor([[2, *TARGET]])
        visible = torch.ones(1, 1, ids.size(1), dtype=torch.bool)
        length = torch.tensor([ids.size(1)])

        def logits() -> torch.Tensor:
            memory = model(return_type="encode", src=ids, src_length=length, src_mask=visible)[0]
            told = {"encoder_output": memory, "encoder_hidden": None, "src_mask": visible}
            told |= {"decoder_hidden": None, "unroll_steps": before.size(1)}
            mask = torch.ones(1, 1, before.size(1), dtype=torch.bool)
            return model(return_type="decode", trg_input=before, trg_mask=mask, **told)[0]

        return model, logits

    return {"release": "2.3.0", "settings": base, "cases": all_of(cases, run)}


def joeynmt_settings(base: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    """Put changes where they belong in a table of settings."""
    settings = copy.deepcopy(base)
    for key, value in changed.items():
        if key.startswith("tied"):
            settings[key] = value
            continue
        for side in SIZES:
            table = settings[side]["embeddings"] if key == "scale" else settings[side]
            table[key] = value
    return settings


def opennmt_py() -> dict[str, Any]:
    build = import_module("onmt.model_builder").build_base_model
    to_vocabularies = import_module("onmt.inputters.inputter").dict_to_vocabs
    parser = import_module("onmt.utils.parse").ArgumentParser()
    import_module("onmt.opts").train_opts(parser)
    needed = ["-data", "{}", "-src_vocab", "x", "-save_model", "model"]
    full, _ = parser.parse_known_args(needed)
    base = {**vars(full), "encoder_type": "transformer", "decoder_type": "transformer"}
    base |= {"enc_layers": SIZES["encoder"][1], "dec_layers": SIZES["decoder"][1], "heads": 2}
    widths = ("enc_hid", "dec_hid", "hidden", "src_word_vec", "tgt_word_vec", "word_vec")
    base |= {f"{name}_size": 8 for name in widths}
    base |= {"transformer_ff": 12, "position_encoding": True, "model_task": "seq2seq"}
    relative = {"position_encoding": False}
    cases: dict[str, dict[str, Any]] = {
        "usual": {},
        "concat": {"position_encoding_type": "SinusoidalConcat", "share_decoder_embeddings": True},
        "joint": {"share_embeddings": True, "share_decoder_embeddings": True, "share_vocab": True},
        "inputs": {"share_embeddings": True, "share_vocab": True, "pos_ffn_activation_fn": "gelu"},
        "shaw": {**relative, "max_relative_positions": 2},
        "alibi": {**relative, "max_relative_positions": -2, "num_kv": 1},
        "rms": {"layer_norm": "rms", "norm_eps": 1e-5, "add_qkvbias": True, "add_ffnbias": False},
        "silu": {"pos_ffn_activation_fn": "silu"},
        "gated-gelu": {"pos_ffn_activation_fn": "gated-gelu", "add_qkvbias": True},
    }

    def run(changed: dict[str, Any]) -> tuple[nn.Module, Callable[[], torch.Tensor]]:
        joint = changed.get("share_vocab", False)
        lists = {
            "src": pieces("opennmt_py", "encoder"),
            "tgt": pieces("opennmt_py", "encoder" if joint else "decoder"),
            "data_task": "seq2seq",
        }
        model = build(argparse.Namespace(**{**base, **changed}), to_vocabularies(lists))
        for part in model.modules():
            if hasattr(part, "dropout_p"):
                part.dropout_p = 0.0
        source, target = torch.tensor([SOURCE]), torch.tensor([[2, *TARGET, 3]])  # it cuts the last
        length = torch.tensor([source.size(1)])
        return model, lambda: model.generator(
            model(source[..., None], target[..., None], length)[0]
        )

    plain = {key: value for key, value in base.items() if is_plain(value)}
    return {"release": "3.5.1", "settings": plain, "cases": all_of(cases, run)}


def all_of(cases: dict[str, dict[str, Any]], run: Callable[[dict[str, Any]], Any]) -> Any:
    """Run every case with weights drawn by name."""
    found: dict[str, Any] = {}
    for name, changed in cases.items():
        model, logits = run(changed)
        shapes, same = fill(model)
        with torch.no_grad():
            rows = [[round(each, 6) for each in row] for row in logits()[0].tolist()]
        found[name] = {"changed": changed, "state": shapes, "same": same, "logits": rows}
    return found


def is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(is_plain(each) for each in value)
    return value is None or isinstance(value, bool | int | float | str)


if __name__ == "__main__":
    makers = {"fairseq": fairseq, "joeynmt": joeynmt, "opennmt_py": opennmt_py}
    for wanted in sys.argv[1:]:
        file = Path(__file__).parent / "real" / f"{wanted}.json"
        text = json.dumps(makers[wanted](), separators=(",", ":"))
        file.write_text(text.replace('"state"', '\n"state"') + "\n")
