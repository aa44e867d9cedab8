"""Folders with model and tokenizer: text goes in and comes out as in their own library."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.translating import TransformersTranslator
from dragoman.nn import EncoderDecoder
from dragoman.translator import Translator
from tests.interop.huggingface.models import BART, stacks
from tests.interop.models import random_bundle

transformers = pytest.importorskip("transformers", reason="needs transformers: the extra hf")

PRETRAINED = Path(__file__).parents[4] / "shared/data/pretrained"
T5_FOLDER = "hf-tiny-T5ForConditionalGeneration"
WORDS = ["the", "cat", "sees", "a", "dog", "and", "then", "bed"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = ("the cat sees a dog", "bed", "and a zebra", "")
MBARTS = ("MBartTokenizer", "MBart50Tokenizer")  # of 25 languages, and of 50


def drawn(model: Any) -> Any:
    rng = torch.Generator().manual_seed(3)
    for name, weight in model.named_parameters():
        weight.data.normal_(
            1.0 if "norm" in name and "weight" in name else 0.0, 0.25, generator=rng
        )
    return model.eval()


def mbart(kind: str, folder: Path) -> Any:
    first = ("<s>", "<pad>", "</s>", "<unk>")[: 3 if "50" in kind else 4]  # it adds the last itself
    special = [(piece, 0.0) for piece in first]
    pieces = [*((f"▁{word}", -2.0 - n) for n, word in enumerate(WORDS))]
    letters = [(letter, -30.0) for letter in f"▁{LETTERS}"]
    made = getattr(transformers, kind)(
        vocab=[*special, *pieces, *letters], src_lang="de_DE", tgt_lang="en_XX"
    )
    made.save_pretrained(folder)
    start = 2 if "50" in kind else None
    head = "MBart-ForConditionalGeneration"
    drawn(stacks(head, vocab_size=len(made), decoder_start_token_id=start)).save_pretrained(folder)
    return made


@pytest.mark.parametrize("kind", MBARTS)
def test_mbart_reads_and_writes_between_the_symbols_of_its_tokenizer(
    kind: str, tmp_path: Path
) -> None:
    theirs = mbart(kind, tmp_path / "theirs")
    bundle = read_huggingface(tmp_path / "theirs", target_language="en_XX")
    assert_frames(theirs, bundle)
    write_huggingface(tmp_path / "ours", bundle)
    again = read_huggingface(tmp_path / "ours")
    assert again.config == bundle.config
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    for text in TEXTS:
        assert auto(text).input_ids == theirs(text).input_ids
    save_bundle(tmp_path / "folder", bundle, "# card\n")
    kept = load_bundle(tmp_path / "folder")
    found = Translator(kept).translate(["the cat"], beam=1, max_length=6)
    assert found[0].text == generated(tmp_path / "theirs", bundle, "the cat", 6)


def test_bart_reads_and_writes_between_the_symbols_of_its_tokenizer(tmp_path: Path) -> None:
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
    pieces = {each: number for number, each in enumerate([*"Ġ", *LETTERS, "th", "the"], start=4)}
    made = transformers.BartTokenizer(vocab=special | pieces, merges=[("t", "h"), ("th", "e")])
    made.save_pretrained(tmp_path / "theirs")
    drawn(stacks(BART, vocab_size=len(made))).save_pretrained(tmp_path / "theirs")
    bundle = read_huggingface(tmp_path / "theirs")
    assert bundle.frame.target_before == (2, 0)
    assert_frames(made, bundle)
    write_huggingface(tmp_path / "ours", bundle)
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert auto("the cat").input_ids == made("the cat").input_ids
    found = Translator(bundle).translate(["the cat"], beam=1, max_length=6)
    assert found[0].text == generated(tmp_path / "ours", bundle, "the cat", 6)


def assert_frames(theirs: Any, bundle: Bundle) -> None:
    """Our sources are their input, and what our targets read and say are their labels."""
    frame, tokenizer = bundle.frame, bundle.source_tokenizer
    for text in TEXTS:
        ids = tokenizer.encode(text)
        assert frame.source(ids) == theirs(text).input_ids
        labels = theirs(text_target=text).input_ids
        # Whatever the order in labels, the decoder reads the language, or <s>, before the text.
        assert {*frame.target_in(ids), *frame.target_out(ids)} - {1} == {*labels}


@torch.no_grad()
def generated(folder: Path, bundle: Bundle, text: str, longest: int) -> str:
    client = open_huggingface(folder, bundle)
    assert isinstance(client, TransformersTranslator)
    ids = client.translate(bundle.source_tokenizer.encode(text), beam=1, max_length=longest)
    return bundle.target_tokenizer.decode(ids)


@pytest.mark.parametrize("written_again", [False, True])
@torch.no_grad()
def test_the_t5_of_the_data_computes_what_its_own_library_did(
    written_again: bool, tmp_path: Path
) -> None:
    if not PRETRAINED.is_dir():
        pytest.skip("needs ../shared/data/pretrained")
    bundle = read_huggingface(PRETRAINED / T5_FOLDER)
    if written_again:
        write_huggingface(tmp_path / "ours", bundle)
        bundle = read_huggingface(tmp_path / "ours")
    assert isinstance(bundle.model, EncoderDecoder)
    for case in json.loads((PRETRAINED / "reference-outputs.json").read_text())[T5_FOLDER]:
        ids = bundle.frame.source(bundle.source_tokenizer.encode(case["text"]))
        assert [ids] == case["input_ids"]
        memory = bundle.model.encode(torch.tensor([ids]))
        target = torch.tensor(case["decoder_input_ids"])
        logits = bundle.model.generator(bundle.model.decode(target, memory))
        for found, name in ((memory.states, "encoder_last_hidden"), (logits, "logits")):
            wanted, flat = case[name], found.flatten().numpy()
            assert list(found.shape) == wanted["shape"]
            assert found.argmax(-1).tolist() == wanted["argmax"]
            # The weights are tiny, so the limit is relative to the largest number.
            limit = {"atol": 1e-4 * np.abs(flat).max(), "rtol": 0}
            np.testing.assert_allclose(flat[:8], wanted["first8"], **limit)
            np.testing.assert_allclose(flat[-8:], wanted["last8"], **limit)


def test_our_translator_and_its_tokenizer_are_loaded_by_the_automatic_classes(
    tmp_path: Path,
) -> None:
    bundle = random_bundle({})
    write_huggingface(tmp_path / "out", bundle)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    for text in ("der hund schläft", "</s> <pad> x"):
        given = tokenizer(text, return_tensors="pt")
        assert given.input_ids.tolist() == [
            bundle.frame.source(bundle.source_tokenizer.encode(text))
        ]
        (ids,) = model.generate(given.input_ids, num_beams=1, max_new_tokens=8)
        (ours,) = Translator(bundle).translate([text], beam=1, max_length=8)
        assert tokenizer.decode(ids, skip_special_tokens=True) == ours.text
