import math
from pathlib import Path

import numpy as np
import pytest
import torch

from dragoman.classifier import Classifier
from dragoman.data import AnyCorpus, Files, ImageFile, Text, TsvFile
from dragoman.errors import DataError, ModelError
from dragoman.language_model import LanguageModel
from dragoman.run import load_model, measure
from dragoman.translator import Translator
from tests.fixtures import tiny_folder
from tests.one_sided import (
    LABELS,
    classifier,
    encoder_bundle,
    folder_of,
    image_bundle,
    language_bundle,
    language_model,
)

TEXT = "the dog sleeps .\na cat drinks milk and we go\n\nwe go .\n"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    return tmp_path / "text"


def test_a_long_window_gives_the_loss_of_the_documents_one_after_the_other(text: Path) -> None:
    model = language_model()
    found = measure(model, Text(text=text), context=1000)
    special = model.special
    lines = [line for line in TEXT.split("\n") if line]
    stream = [
        piece
        for line in lines
        for piece in (special.start, *model.tokenizer.encode(line), special.end)
    ]
    with torch.no_grad():
        log_probs = model.model(torch.tensor([stream[:-1]]))[0].double().log_softmax(-1)
    nats = [
        -float(log_probs[place, piece])
        for place, piece in enumerate(stream[1:])
        if piece != special.start
    ]
    assert found.count == 3
    assert found.validation.loss_nats == pytest.approx(sum(nats) / len(nats), abs=1e-5)
    (bits,) = found.validation.scores
    assert bits.value == pytest.approx(sum(nats) / math.log(2) / sum(map(len, lines)), rel=1e-5)
    assert f"perplexity {math.exp(sum(nats) / len(nats)):.3f}" in found.lines()[-1]


@pytest.mark.parametrize("context", [1, 7, 1000])
def test_the_loss_does_not_depend_on_the_size_of_batches(context: int, text: Path) -> None:
    for model in (language_model(), language_model(learned=7), classifier("pieces")):
        one, other = (
            measure(model, Text(text=text), context=context, batch_tokens=tokens)
            for tokens in (1, 4096)
        )
        assert one.validation.loss_nats == pytest.approx(other.validation.loss_nats, abs=1e-5)


def test_a_whole_file_is_one_document_with_its_line_breaks(text: Path) -> None:
    found = measure(language_model(), Text(text=text, documents="file"))
    assert found.count == 1
    assert found.summary()["documents"] == 1


def test_labels_are_measured_with_texts_that_are_cut_counted(tmp_path: Path) -> None:
    file = tmp_path / "t.tsv"
    file.write_text(f"hund\tanimal\n{'hund ' * 30}\tother\n", encoding="utf-8")
    model = classifier(learned=12)
    found = measure(model, TsvFile(file=file))
    answers = model.classify(["hund", "hund " * 30])
    right = [a.label == b for a, b in zip(answers, ("animal", "other"), strict=True)]
    (accuracy,) = found.validation.scores
    assert accuracy.value == pytest.approx(50 * sum(right))
    asked = [answers[0].probabilities["animal"], answers[1].probabilities["other"]]
    loss = -sum(map(math.log, asked)) / 2
    assert found.validation.loss_nats == pytest.approx(loss, abs=1e-5)
    assert found.cut == found.summary()["cut"] == 1
    assert "1 texts longer than the model takes, cut" in found.lines()


def test_unknown_labels_and_other_sizes_are_refused_with_their_place(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("hund\tanimal\nhund\tplant\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.tsv: line 2: 'plant' is not a class"):
        measure(classifier(), TsvFile(file=tmp_path / "t.tsv"))
    np.savez(tmp_path / "i.npz", images=np.zeros((1, 6, 4)), labels=np.array([LABELS[0]]))
    with pytest.raises(DataError, match=r"i\.npz: images of 6 x 4 x 1, but model\.images says 4"):
        measure(Classifier(image_bundle()), ImageFile(images=tmp_path / "i.npz"))


MODELS: dict[str, LanguageModel | Classifier] = {
    "language": language_model(),
    "pieces": classifier("pieces"),
    "class": classifier("class"),
    "tags": classifier("tags"),
    "none": classifier("none"),
    "images": Classifier(image_bundle()),
}
CORPORA: dict[str, AnyCorpus] = {
    "text": Text(text=Path("t")),
    "files": Files(source=Path("a"), target=Path("b")),
    "tsv": TsvFile(file=Path("a")),
    "images": ImageFile(images=Path("i")),
}
FIT = {
    ("language", "text"),
    ("pieces", "text"),
    *(("class", "files"), ("class", "tsv"), ("tags", "files"), ("tags", "tsv")),
    ("images", "images"),
}


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_measured_on_its_own_kind_of_corpus_only(model: str, corpus: str) -> None:
    if (model, corpus) in FIT:  # the file is looked for
        with pytest.raises(DataError, match="no such file"):
            measure(MODELS[model], CORPORA[corpus])
    else:
        message = "not measured on .*; give " if model != "none" else "nothing to be measured by"
        with pytest.raises(ModelError, match=message):
            measure(MODELS[model], CORPORA[corpus])


def test_a_folder_is_loaded_as_what_it_is_good_for(tmp_path: Path) -> None:
    assert isinstance(load_model(tiny_folder(tmp_path / "t")), Translator)
    assert isinstance(load_model(folder_of(tmp_path / "l", language_bundle())), LanguageModel)
    for name, bundle in (("c", encoder_bundle("class")), ("i", image_bundle())):
        assert isinstance(load_model(folder_of(tmp_path / name, bundle)), Classifier)
