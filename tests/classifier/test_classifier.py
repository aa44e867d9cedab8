from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.classifier import Classifier
from dragoman.data import frame
from dragoman.errors import ModelError
from dragoman.nn import PieceHead
from tests.fixtures import ENGLISH, GERMAN, tiny_folder
from tests.one_sided import (
    LABELS,
    Kind,
    classifier,
    encoder_bundle,
    folder_of,
    image_bundle,
    language_bundle,
)

TEXTS = [*GERMAN, "", *ENGLISH, "hund " * 40, "日本"]


def test_probabilities_are_the_softmax_of_the_model_alone_on_the_text() -> None:
    model = classifier()
    tokenizer = model.bundle.source_tokenizer
    for text, found in zip(TEXTS, model.classify(TEXTS, batch_tokens=200), strict=True):
        ids = torch.tensor([frame(tokenizer.encode(text), tokenizer.special)])
        with torch.no_grad():
            expected = model.model(ids)[0].double().softmax(-1).tolist()
        assert [*found.probabilities] == [*LABELS]
        assert [*found.probabilities.values()] == pytest.approx(expected, abs=1e-5)
        assert found.probability == max(found.probabilities.values())
        assert found.probabilities[found.label] == found.probability
        assert not found.shortened


@pytest.mark.parametrize("batch_tokens", [1, 64, 4096])
def test_tags_stand_at_the_first_piece_of_each_word(batch_tokens: int) -> None:
    model = classifier("tags")
    tokenizer = model.bundle.source_tokenizer
    for text, found in zip(TEXTS, model.tag(TEXTS, batch_tokens=batch_tokens), strict=True):
        assert [word.word for word in found.words] == text.split()
        assert not found.shortened
        ids, firsts = [tokenizer.special.start], list[int]()
        for word in text.split():
            firsts.append(len(ids))
            ids += tokenizer.encode(word)
        with torch.no_grad():
            expected = model.model(torch.tensor([[*ids, tokenizer.special.end]]))[0].softmax(-1)
        for place, word in zip(firsts, found.words, strict=True):
            assert word.probability == pytest.approx(float(expected[place].max()), abs=1e-5)
            assert word.label == LABELS[int(expected[place].argmax())]


def test_long_text_is_cut_and_the_result_says_so() -> None:
    classes, tags = classifier(learned=10), classifier("tags", learned=10)
    long = "hund " * 40
    cut, whole = classes.classify([long, "hund"])
    assert (cut.shortened, whole.shortened) == (True, False)
    tagged, short = tags.tag([long, "hund"])
    assert tagged.shortened
    assert 1 <= len(tagged.words) <= 8  # ten positions, two of them for the frame
    assert (short.shortened, len(short.words)) == (False, 1)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "character", "word"])
@pytest.mark.parametrize("before", ["", "der ", "der", "der hund ", "  "])
def test_a_gap_is_filled_with_what_the_model_finds_likely_there(kind: Kind, before: str) -> None:
    model = classifier("pieces", tokenizer=kind)
    tokenizer, special = model.bundle.source_tokenizer, model.bundle.source_tokenizer.special
    after = " trinkt milch ."
    found = model.fill(before, after, n_best=4)
    assert len(found) == 4
    assert [f.probability for f in found] == sorted((f.probability for f in found), reverse=True)
    spaced = kind != "character" and before.endswith(" ")
    for filling in found:
        # The pieces of the whole text, in which the one filled in is replaced by the gap.
        whole = before + filling.text + after
        head = tokenizer.encode(before.removesuffix(" ") if spaced else before)
        (piece,) = (n for n in range(tokenizer.size) if tokenizer.pieces([n]) == [filling.piece])
        tail = tokenizer.encode("x" + after)[len(tokenizer.encode("x")) :]
        assert tokenizer.decode([*head, piece, *tail]) == whole
        ids = frame([*head, special.unknown, *tail], special)
        with torch.no_grad():
            logits = model.model(torch.tensor([ids]))[0, 1 + len(head)]
        expected = float(logits.double().softmax(-1)[piece])
        assert filling.probability == pytest.approx(expected, abs=1e-5)
        assert filling.text


def test_the_best_filling_is_the_best_piece_of_all_that_are_text() -> None:
    model = classifier("pieces")
    assert isinstance(model.model.head, PieceHead)
    tokenizer = model.bundle.source_tokenizer
    everything = model.fill("der", " .", n_best=tokenizer.size)
    names = [filling.piece for filling in everything]
    assert len(names) == len({*names})
    assert not {"<pad>", "<s>", "</s>", "<unk>", "<0xE2>"} & {*names}
    assert {" .", "<0x41>"} <= {*names}  # a byte that is a character is one
    assert [f.piece for f in model.fill("der", " .", n_best=3)] == names[:3]


def test_gaps_beyond_the_positions_are_refused() -> None:
    model = classifier("pieces", learned=8)
    with pytest.raises(ModelError, match="the 8 that the model takes; shorten it"):
        model.fill("der hund " * 9)
    with pytest.raises(ValueError, match="n_best: 0 is less than 1"):
        model.fill("der", n_best=0)


def test_a_vector_is_the_mean_over_the_positions_of_a_text() -> None:
    for head in ("none", "class"):
        model = classifier(head)
        tokenizer = model.bundle.source_tokenizer
        vectors = model.encode(TEXTS, batch_tokens=100)
        assert vectors.shape == (len(TEXTS), 16)
        for text, vector in zip(TEXTS, vectors, strict=True):
            ids = torch.tensor([frame(tokenizer.encode(text), tokenizer.special)])
            with torch.no_grad():
                expected = model.model.hidden(ids)[0].mean(0)
            assert vector == pytest.approx(expected.numpy(), abs=1e-4)


def test_images_of_any_number_type_are_classified() -> None:
    model = Classifier(image_bundle())
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (5, 4, 6), dtype=np.uint8)
    bytes_, floats, channels = (
        model.classify(images)
        for images in (pixels, pixels / 255, pixels[..., None].astype(np.float64) / 255)
    )
    with torch.no_grad():
        expected = model.model(torch.tensor(pixels[..., None] / 255).float()).softmax(-1)
    for number, found in enumerate(bytes_):
        assert [*found.probabilities.values()] == pytest.approx(expected[number].tolist(), abs=1e-5)
        assert found.label == floats[number].label == channels[number].label
    assert model.classify(np.zeros((0, 4, 6))) == []


def test_images_of_another_size_and_the_wrong_kind_of_input_are_refused() -> None:
    images, texts = Classifier(image_bundle()), classifier()
    with pytest.raises(ValueError, match="images of 6 x 4 x 1 are not the 4 x 6 x 1"):
        images.classify(np.zeros((2, 6, 4)))
    with pytest.raises(TypeError, match="this model reads images"):
        images.classify(["der hund"])
    with pytest.raises(TypeError, match="a list of strings, not an array"):
        texts.classify(np.zeros((2, 4, 6)))
    with pytest.raises(TypeError, match="a list of strings, not one string"):
        texts.classify("der hund")
    with pytest.raises(ModelError, match="reads images"):
        images.encode(["der hund"])


@pytest.mark.parametrize(
    ("head", "use"),
    [("pieces", "fill"), ("class", "classify"), ("tags", "tag"), ("none", "encode")],
)
def test_each_head_says_what_it_is_for(head: str, use: str) -> None:
    model = classifier(head)  # type: ignore[arg-type]  # from a list
    calls = {
        "fill": lambda: model.fill("der"),
        "classify": lambda: model.classify(["der"]),
        "tag": lambda: model.tag(["der"]),
    }
    for name, call in calls.items():
        if name != use:
            with pytest.raises(ModelError, match=f"this model: does not {name}; use {use}"):
                call()


def test_a_folder_is_loaded_and_other_kinds_are_refused_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "c", encoder_bundle("class"))
    loaded = Classifier.load(folder, device="cpu", dtype="bfloat16")
    assert loaded.classify(["der hund"])[0].label in LABELS
    images = Classifier.load(folder_of(tmp_path / "i", image_bundle()), dtype="bfloat16")
    assert images.classify(np.zeros((1, 4, 6)))[0].label in LABELS
    translator = tiny_folder(tmp_path / "t")
    with pytest.raises(ModelError, match=f"{translator}: .* fill gaps; use dragoman translate"):
        Classifier.load(translator)
    with pytest.raises(ModelError, match="use dragoman generate"):
        Classifier.load(folder_of(tmp_path / "l", language_bundle()))
