"""What users of ``transformers`` do with a folder that we wrote gives what we give."""

from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import Bundle, load_bundle, save_bundle
from dragoman.classifier import Classifier
from dragoman.interop.certificate import certify_reader
from dragoman.interop.huggingface import open_huggingface, read_huggingface, write_huggingface
from dragoman.interop.huggingface.clients import TransformersReader
from dragoman.language_model import LanguageModel
from tests.interop.huggingface.models import transformers
from tests.interop.huggingface.test_refusals import ALBERT, BERT, BLOOM, GPT2, LLAMA, MISTRAL, QWEN2
from tests.interop.models import random_bundle

TEXTS = ["Two men stand.", "", "a <pad> b </s> c", "Ein Mann \N{SNOWMAN} läuft", " x  y\n"]
WRITERS = {"gpt2": GPT2, "llama": LLAMA, "qwen2": QWEN2, "bloom": BLOOM, "mistral": MISTRAL}
READERS = {
    "classes": {**BERT, "head": "class", "classes": ["a", "b", "c"], "segments": 2},
    "tags": {**BERT, "head": "tags", "classes": ["a", "b", "c"]},
    "vectors": {**BERT, "head": "pooled"},
    "pieces": {**BERT, "output_bias": True},
    "ALBERT": {**ALBERT, "head": "pooled"},
}


def written(choices: dict[str, Any], folder: Path) -> Bundle:
    """Write a random model with our own vocabulary."""
    transformers.utils.logging.disable_progress_bar()
    bundle = random_bundle({key: each for key, each in choices.items() if key != "vocabulary"})
    if choices.get("embedding_projection") == "last":
        model: Any = bundle.model
        model.encoder.layers[1].load_state_dict(model.encoder.layers[0].state_dict())
    write_huggingface(folder, bundle)
    return bundle


def theirs(kind: str, folder: Path) -> tuple[Any, Any]:
    model = getattr(transformers, kind).from_pretrained(folder)
    return transformers.AutoTokenizer.from_pretrained(folder), model.eval()


@pytest.mark.parametrize("name", WRITERS)
def test_generate_continues_text_as_we_do(name: str, tmp_path: Path) -> None:
    bundle = written(WRITERS[name], tmp_path / "out")
    ours = LanguageModel(bundle).generate(TEXTS, temperature=0.0, max_length=12)
    tokenizer, model = theirs("AutoModelForCausalLM", tmp_path / "out")
    special = bundle.source_tokenizer.special
    for text, (found,) in zip(TEXTS, ours, strict=True):
        asked = tokenizer(text, return_tensors="pt")
        # Nothing but pieces of text and the end may be written, as in ours.
        never = [[special.padding], [special.start], [special.unknown]]
        settings = {"max_new_tokens": 12, "do_sample": False, "bad_words_ids": never}
        said = model.generate(**without_segments(asked), **settings)[0]
        new = said[asked["input_ids"].size(1) :].tolist()
        assert tokenizer.convert_ids_to_tokens(new) == names(bundle, found.tokens, new)
        assert bundle.source_tokenizer.encode(text) == asked["input_ids"][0, 1:].tolist()


def without_segments(asked: Any) -> dict[str, Any]:
    return {name: each for name, each in asked.items() if name != "token_type_ids"}


def names(bundle: Bundle, shown: tuple[str, ...], ids: list[int]) -> list[str]:
    """See that ids are those shown, and name them as the file does."""
    tokenizer = bundle.source_tokenizer
    assert tokenizer.pieces(ids) == list(shown)
    return [tokenizer.names()[number] for number in ids]


@pytest.mark.parametrize("name", READERS)
@torch.no_grad()
def test_texts_in_a_padded_batch_are_read_as_we_do(name: str, tmp_path: Path) -> None:
    bundle = written(READERS[name], tmp_path / "out")
    kinds = {"classes": "ForSequenceClassification", "tags": "ForTokenClassification"}
    kind = {**kinds, "pieces": "ForMaskedLM"}.get(name, "")
    tokenizer, model = theirs(f"AutoModel{kind}", tmp_path / "out")
    asked = tokenizer(TEXTS, padding=True, return_tensors="pt")
    given = model(**asked)
    classifier = Classifier(bundle)
    real = asked["attention_mask"][..., None]
    match name:
        case "classes":
            chances = given.logits.softmax(-1)
            for row, found in zip(chances, classifier.classify(TEXTS), strict=True):
                assert model.config.id2label[int(row.argmax())] == found.label
                close(row, torch.tensor(list(found.probabilities.values())))
        case "tags":
            for row, text, found in zip(given.logits, TEXTS, classifier.tag(TEXTS), strict=True):
                assert len(found.words) == len(text.split())
                if found.words and text == " ".join(text.split()):
                    assert found.words[0].label == model.config.id2label[int(row[1].argmax())]
        case "pieces":
            mine: Any = bundle.model
            close(given.logits * real, mine(asked["input_ids"]) * real)
        case _:
            mean = (given.last_hidden_state * real).sum(1) / real.sum(1)
            close(mean, torch.tensor(classifier.encode(TEXTS)))


def close(found: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", [*WRITERS, *READERS])
def test_a_certificate_is_given(name: str, tmp_path: Path) -> None:
    bundle = written({**WRITERS, **READERS}[name], tmp_path / "out")
    client = open_huggingface(tmp_path / "out", bundle)
    assert isinstance(client, TransformersReader)
    given = certify_reader(bundle, client)
    assert given.client == client.name
    assert given.largest < 1e-5


@pytest.mark.parametrize("name", [*WRITERS, *READERS])
def test_the_whole_folder_comes_back_with_its_vocabulary(name: str, tmp_path: Path) -> None:
    bundle = written({**WRITERS, **READERS}[name], tmp_path / "out")
    again = read_huggingface(tmp_path / "out")
    assert again.config == bundle.config
    ours, same = bundle.source_tokenizer, again.source_tokenizer
    assert same.special == ours.special
    assert same.encode_many(TEXTS) == ours.encode_many(TEXTS)
    save_bundle(tmp_path / "saved", again, "")
    loaded = load_bundle(tmp_path / "saved")
    assert loaded.source_tokenizer.encode_many(TEXTS) == ours.encode_many(TEXTS)
    both = zip(loaded.model.parameters(), bundle.model.parameters(), strict=True)
    assert all(torch.equal(weight, other) for weight, other in both)
