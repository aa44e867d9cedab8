"""The tutorial's Transformer: a trained one from a package, and small ones beside PyTorch's own."""

import json
import pickletools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dragoman import Translator
from dragoman.bundle import save_bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.interop.checkpoints import Asked, read_checkpoint
from dragoman.interop.checkpoints.pytorch_seq2seq import pytorch_seq2seq_rows
from dragoman.interop.huggingface.weights import write_weights
from dragoman.models import ModelConfig
from tests.interop.checkpoints.drawn import drawn_state

OUTPUTS = Path(__file__).parents[3].parent / "shared/data/pretrained/reference-outputs.json"
PACKAGE = "package annalog 1.0.6 (encoder-decoder, post-norm)"
PIECES = ("<unk>", "<pad>", "<sos>", "<eos>", "C", "c", "(", ")", "=", "Cl", "[nH]")
D, INNER, HEADS, LONG = 8, 12, 2, 9


def shapes(*, layers: int = 2) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for stack in ("encoder", "decoder"):
        found[f"{stack}.tok_embedding.weight"] = [len(PIECES), D]
        found[f"{stack}.pos_embedding.weight"] = [LONG, D]
        attentions = ["self_attention", *["encoder_attention"] * (stack == "decoder")]
        norms = ["self_attn_layer_norm", "ff_layer_norm"]
        norms += ["enc_attn_layer_norm"] * (stack == "decoder")
        for layer in range(layers):
            name = f"{stack}.layers.{layer}"
            for each in norms:
                found |= {f"{name}.{each}.weight": [D], f"{name}.{each}.bias": [D]}
            for product in (f"{each}.fc_{letter}" for each in attentions for letter in "qkvo"):
                found |= {f"{name}.{product}.weight": [D, D], f"{name}.{product}.bias": [D]}
            inner = f"{name}.positionwise_feedforward"
            found |= {f"{inner}.fc_1.weight": [INNER, D], f"{inner}.fc_1.bias": [INNER]}
            found |= {f"{inner}.fc_2.weight": [D, INNER], f"{inner}.fc_2.bias": [D]}
    found |= {"decoder.fc_out.weight": [len(PIECES), D], "decoder.fc_out.bias": [len(PIECES)]}
    return found


def pytorch_layer(state: dict[str, Tensor], name: str) -> nn.Module:
    """Fill a layer of ``torch.nn``, which is an implementation of its own."""
    kind = nn.TransformerDecoderLayer if name.startswith("decoder") else nn.TransformerEncoderLayer
    layer = kind(D, HEADS, INNER, dropout=0.0, batch_first=True)
    own: dict[str, Tensor] = {}
    ends = {"self_attn": "self_attention", "multihead_attn": "encoder_attention"}
    for theirs, end in ends.items():
        if f"{name}.{end}.fc_q.weight" not in state:
            continue
        for kind_of in ("weight", "bias"):
            three = [state[f"{name}.{end}.fc_{letter}.{kind_of}"] for letter in "qkv"]
            own[f"{theirs}.in_proj_{kind_of}"] = torch.cat(three)
            own[f"{theirs}.out_proj.{kind_of}"] = state[f"{name}.{end}.fc_o.{kind_of}"]
    norms = ["self_attn_layer_norm", "enc_attn_layer_norm", "ff_layer_norm"]
    norms = [each for each in norms if f"{name}.{each}.weight" in state]
    for kind_of in ("weight", "bias"):
        for number, each in enumerate(norms, 1):
            own[f"norm{number}.{kind_of}"] = state[f"{name}.{each}.{kind_of}"]
        for number in (1, 2):
            inner = f"{name}.positionwise_feedforward.fc_{number}.{kind_of}"
            own[f"linear{number}.{kind_of}"] = state[inner]
    layer.load_state_dict(own)
    return layer.eval()


def pytorch_logits(state: dict[str, Tensor], source: Tensor, target: Tensor) -> Tensor:
    def read(stack: str, ids: Tensor) -> Tensor:
        table, positions = (state[f"{stack}.{name}_embedding.weight"] for name in ("tok", "pos"))
        return table[ids] * D**0.5 + positions[: ids.size(1)]

    memory, x = read("encoder", source), read("decoder", target)
    for layer in range(2):
        memory = pytorch_layer(state, f"encoder.layers.{layer}")(memory)
    later = nn.Transformer.generate_square_subsequent_mask(target.size(1))
    for layer in range(2):
        x = pytorch_layer(state, f"decoder.layers.{layer}")(x, memory, tgt_mask=later)
    return x @ state["decoder.fc_out.weight"].T + state["decoder.fc_out.bias"]


def write(folder: Path, **changed: Tensor) -> tuple[Path, Asked]:
    path, pieces = folder / "model.pt", folder / "pieces.txt"
    torch.save({**drawn_state(shapes(), {}), **changed}, path)
    pieces.write_text("".join(f"{piece}\n" for piece in PIECES))
    return path, Asked(heads=HEADS, norm_order="post", vocabulary=(pieces,), cut="smiles")


@torch.no_grad()
def test_logits_are_those_of_pytorchs_own_layers(tmp_path: Path) -> None:
    path, asked = write(tmp_path)
    model: Any = read_checkpoint(path, asked=asked).model
    source, target = torch.tensor([[2, 4, 6, 10, 3]]), torch.tensor([[2, 5, 4, 9]])
    expected = pytorch_logits(drawn_state(shapes(), {}), source, target)
    torch.testing.assert_close(model(source, target), expected, atol=1e-5, rtol=1e-5)


def test_the_table_of_names_gives_every_weight_back(tmp_path: Path) -> None:
    path, asked = write(tmp_path)
    bundle = read_checkpoint(path, asked=asked)
    assert isinstance(bundle.config, ModelConfig)
    rows = list(pytorch_seq2seq_rows(bundle.config))
    written = write_weights(dict(bundle.model.named_parameters()), rows, "pytorch-seq2seq")
    theirs = drawn_state(shapes(), {})
    assert written.keys() == theirs.keys()
    assert all(torch.equal(written[name], theirs[name]) for name in theirs)


def test_sources_stand_between_both_symbols_and_molecules_are_cut_into_atoms(
    tmp_path: Path,
) -> None:
    path, asked = write(tmp_path)
    bundle = read_checkpoint(path, asked=asked)
    assert (bundle.frame.source_before, bundle.frame.source_after) == ((2,), (3,))
    # Two letters of chlorine and what stands in brackets are one piece; "B" has none.
    assert bundle.source_tokenizer.encode("CCl(=c[nH])B") == [4, 9, 6, 8, 5, 10, 7, 0]
    assert bundle.source_tokenizer.decode([4, 9, 6, 8, 5, 10, 7]) == "CCl(=c[nH])"
    assert {2, 3, 1}.isdisjoint(bundle.source_tokenizer.encode("<sos><eos><pad>"))


def test_what_no_tensor_tells_is_asked_for_all_at_once(tmp_path: Path) -> None:
    path, _ = write(tmp_path)
    with pytest.raises(ConfigError) as caught:
        read_checkpoint(path)
    assert str(caught.value) == (
        "heads: cannot be told from this checkpoint; give it, such as --heads 8\n"
        "norm_order: cannot be told from this checkpoint; give it: --norm-order post or pre"
    )
    with pytest.raises(ConfigError, match="vocabulary: the checkpoint holds no list of pieces"):
        read_checkpoint(path, asked=Asked(heads=HEADS, norm_order="post"))
    with pytest.raises(ConfigError, match=r"model.pt: heads: 3 does not divide d_model 8"):
        read_checkpoint(path, asked=Asked(heads=3, norm_order="post", vocabulary=(path,)))


def test_weights_left_over_or_missing_are_named(tmp_path: Path) -> None:
    path, asked = write(tmp_path, **{"encoder.layers.0.gate": torch.zeros(2)})
    with pytest.raises(ModelError, match=r"1 weights are not known \(encoder.layers.0.gate\)"):
        read_checkpoint(path, asked=asked)
    state = drawn_state(shapes(), {})
    del state["decoder.layers.1.ff_layer_norm.bias"]
    torch.save(state, path)
    with pytest.raises(ModelError, match=r"missing \(decoder.layers.1.ff_layer_norm.bias\)"):
        read_checkpoint(path, asked=asked)


def test_a_list_of_another_length_is_refused(tmp_path: Path) -> None:
    path, asked = write(tmp_path)
    (tmp_path / "pieces.txt").write_text("".join(f"{piece}\n" for piece in PIECES[:-1]))
    with pytest.raises(ModelError, match=r"pieces.txt: has 10 pieces, and the table of the ch"):
        read_checkpoint(path, asked=asked)


def listed_in(pickle: Path) -> list[str]:
    """Take the strings of the list ``itos`` out of a pickle without running it."""
    strings = [
        str(argument)
        for opcode, argument, _ in pickletools.genops(pickle.read_bytes())
        if "UNICODE" in opcode.name
    ]
    return strings[strings.index("itos") + 1 : strings.index("stoi")]


@pytest.fixture(scope="module")
def annalog(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Asked]:
    spec = find_spec("annalog")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the package annalog (pip install --no-deps annalog==1.0.6)")
    folder = Path(next(iter(spec.submodule_search_locations))) / "ckpt_and_vocab"
    pieces = tmp_path_factory.mktemp("annalog") / "pieces.txt"
    listed = listed_in(folder / "stereo_experiment_vocab_ttf.pkl")
    pieces.write_text("".join(f"{piece}\n" for piece in listed))
    asked = Asked(heads=8, norm_order="post", vocabulary=(pieces,), cut="smiles")
    return folder / "Lev_extended.pt", asked


@pytest.mark.skipif(not OUTPUTS.is_file(), reason="needs ../shared/data/pretrained")
def test_annalog_gives_its_greedy_outputs(annalog: tuple[Path, Asked], tmp_path: Path) -> None:
    path, asked = annalog
    bundle = read_checkpoint(path, asked=asked)
    save_bundle(tmp_path / "ours", bundle, "card")
    translator = Translator.load(tmp_path / "ours")
    model: Any = bundle.model
    for expected in json.loads(OUTPUTS.read_text())[PACKAGE]:
        [[*ids]] = expected["src_ids"]
        source = [*bundle.frame.source_before, *bundle.source_tokenizer.encode(expected["smiles"])]
        assert [*source, *bundle.frame.source_after] == ids
        [result] = translator.translate([expected["smiles"]], beam=1, copy_without_letters=False)
        [best] = result.hypotheses
        assert best.text == expected["greedy"]
        assert best.token_log_probs == pytest.approx(expected["greedy_log_probs"], abs=1e-4)
        [argmax] = expected["logits"]["argmax"]
        with torch.no_grad():
            logits = model(torch.tensor([ids]), torch.tensor([[2, *argmax[:-1]]]))
        assert list(logits.shape) == expected["logits"]["shape"]
        first, last = expected["logits"]["first8"], expected["logits"]["last8"]
        assert logits.flatten()[:8].tolist() == pytest.approx(first, abs=1e-4)
        assert logits.flatten()[-8:].tolist() == pytest.approx(last, abs=1e-4)


def test_the_vocabulary_of_annalog_is_a_pickle_and_refused(annalog: tuple[Path, Asked]) -> None:
    path, asked = annalog
    pickle = path.parent / "stereo_experiment_vocab_ttf.pkl"
    with pytest.raises(ModelError, match=r"vocab_ttf.pkl: is no text in UTF-8; give a text file"):
        read_checkpoint(path, asked=Asked(heads=8, norm_order="post", vocabulary=(pickle,)))
    assert asked.vocabulary != (pickle,)
