"""Hand-made attention of a decoder with two layers of two heads, and the links that follow.

The tokenizer cuts "wir gehen ." into 3, 4 and 1 pieces (0 to 7, the end symbol is 8) and "the dog
sleeps ." into 2, 3, 6 and 1 (0 to 11, the step that writes the end symbol is 12).
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.bundle import Bundle
from dragoman.errors import ConfigError, ModelError
from dragoman.models import Linear, ModelConfig, RecurrentConfig, build_model
from dragoman.translator import Link, Translator, align_translations
from dragoman.translator.alignment import Array
from dragoman.translator.word_alignment import links_of
from tests.fixtures import ENGLISH, GERMAN, tiny_bundle, tiny_translator

SOURCE, TARGET = "wir gehen .", "the dog sleeps ."
WIR, GEHEN, DOT, END = 0, 4, 7, 8  # pieces of the source


@pytest.fixture(scope="module")
def translator() -> Translator:
    return tiny_translator(layers=2)


def steps_by_hand() -> Tensor:
    """Say what each step looks at, (13, 9): by the piece that it writes."""
    looks = torch.zeros(13, 9)
    looks[0:2, GEHEN] = 1  # the
    looks[2:5, WIR] = 1  # dog
    looks[5:8, DOT] = 1  # sleeps, its first half
    looks[8:11, WIR] = looks[8:11, END] = 0.5  # and its second
    looks[11, DOT] = 1  # .
    looks[12, WIR] = 1  # the end symbol
    return looks


def shown(monkeypatch: pytest.MonkeyPatch, weights: Tensor) -> None:
    """Let the model look as weights (N, H, T, S) say."""

    def look(model: object, source: Tensor, target_in: Tensor) -> Tensor:
        assert source.shape == (1, weights.size(3))
        assert target_in.shape == (1, weights.size(2))
        return weights[:, None]

    monkeypatch.setattr("dragoman.translator.alignment.cross_attention", look)


def evenly(layers: int = 2, heads: int = 2) -> Tensor:
    return torch.full((layers, heads, 13, 9), 1 / 9)


def test_a_word_is_linked_to_what_the_steps_that_write_it_look_at(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = evenly()
    weights[1, 0] = steps_by_hand()
    shown(monkeypatch, weights)
    (found,) = translator.align([SOURCE], [TARGET], heads=[(1, 0)])
    assert found.source_words == ("wir", "gehen", ".")
    assert found.target_words == ("the", "dog", "sleeps", ".")
    assert found.pharaoh() == "1-0 0-1 2-2 2-3"
    # By hand: of sleeps 3 of 6 steps look at the dot, a = 0.5, and 3 of 6 half at wir, a = 0.25;
    # the end symbol is no word, so the share is 0.5 / 0.75.
    assert [link.weight for link in found.links] == pytest.approx([1, 1, 2 / 3, 1], abs=1e-4)


def test_several_heads_count_by_their_mean(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = evenly()
    weights[1, 0] = steps_by_hand()
    weights[0, 1] = 0
    weights[0, 1, :, WIR] = 1
    shown(monkeypatch, weights)
    (found,) = translator.align([SOURCE], [TARGET], heads=[(0, 1), (1, 0)])
    # By hand: sleeps has (1 + 0.25) / 2 of wir and 0.5 / 2 of the dot. The first and last word are
    # half and half, and go to the word whose place is nearer.
    assert found.pharaoh() == "0-0 0-1 0-2 2-3"
    shares = [1 / 2, 1, 0.625 / 0.875, 1 / 2]
    assert [link.weight for link in found.links] == pytest.approx(shares, abs=1e-4)


def test_the_sharpest_layer_and_place_count_by_default(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = evenly()
    weights[1] = steps_by_hand()
    shown(monkeypatch, weights)
    assert translator.align([SOURCE], [TARGET])[0].pharaoh() == "1-0 0-1 2-2 2-3"
    # By hand: of even attention the words have 3/9, 4/9 and 1/9. Places are (w + 1/2) / words, and
    # trust falls as e^(-2 distance). the: 3/9 e^(-0.08) > 4/9 e^(-0.75); dog: 3/9 e^(-0.42) <
    # 4/9 e^(-0.25), and so sleeps; the dot: 1/9 e^(-0.08) < 4/9 e^(-0.75).
    shown(monkeypatch, evenly())
    assert translator.align([SOURCE], [TARGET])[0].pharaoh() == "0-0 1-1 1-2 1-3"


def test_real_attention_is_that_of_the_step_that_writes(translator: Translator) -> None:
    (maps,) = translator.attention([SOURCE], [TARGET])
    (found,) = translator.align([SOURCE], [TARGET], heads=[(1, 1)])
    words = maps.cross[1, 1]  # (13, 9); row 0 reads the start symbol and writes the first piece
    table = [
        [words[rows, columns].sum(1).mean() for columns in (slice(0, 3), slice(3, 7), slice(7, 8))]
        for rows in (slice(0, 2), slice(2, 5), slice(5, 11), slice(11, 12))
    ]
    for link, row in zip(found.links, table, strict=True):
        assert link.source == row.index(max(row))
        assert link.weight == pytest.approx(max(row) / sum(row), abs=1e-4)


def test_links_are_the_best_of_each_target_word() -> None:
    table: Array = torch.tensor([[1.0, 3.0], [2.0, 2.0], [0.5, 0.0]]).double().numpy()
    assert links_of(table) == (Link(1, 0, 0.75), Link(0, 1, 0.5), Link(0, 2, 1.0))
    assert links_of(table[:0]) == ()
    assert links_of(table[:, :0]) == ()


def test_words_stand_between_white_space_or_are_characters(translator: Translator) -> None:
    source, target = "die  猫は寝る.\u3000gut,\tja", "ภา t-shirt's 12%"
    (found,) = translator.align([source], [target])
    assert found.source_words == ("die", "猫", "は", "寝", "る", ".", "gut,", "ja")
    assert found.target_words == ("ภ", "า", "t-shirt's", "12%")
    assert [link.target for link in found.links] == [0, 1, 2, 3]


def test_a_pair_with_a_side_without_words_has_no_links(translator: Translator) -> None:
    for source, target in (("", "a"), ("a", " "), ("", "")):
        (found,) = translator.align([source], [target])
        assert found.links == ()
        assert found.pharaoh() == ""
    assert translator.align([], []) == []


def test_a_pair_does_not_depend_on_its_neighbours(translator: Translator) -> None:
    together = translator.align([*GERMAN, "x"], [*ENGLISH, "y z"])
    for number, (source, target) in enumerate(zip(GERMAN, ENGLISH, strict=True)):
        (alone,) = translator.align([source], [target])
        assert alone.pharaoh() == together[number].pharaoh()


def test_translations_are_aligned_as_they_come(translator: Translator) -> None:
    texts = ["", GERMAN[0], "12 34", GERMAN[1]]
    translations = translator.translate(texts, max_length=9)
    asked: list[int] = []

    def supply() -> Iterator[Any]:
        for number, translation in enumerate(translations):
            asked.append(number)
            yield translation

    found = align_translations(translator, supply(), at_once=2)
    first = [next(found), next(found)]
    assert asked == [0, 1]
    pairs = [*first, *found]
    assert [translation.source for translation, _ in pairs] == texts
    assert pairs[0][1].links == ()
    assert pairs[2][1].links == (Link(0, 0, 1.0), Link(1, 1, 1.0))  # copied
    for number in (1, 3):
        (alone,) = translator.align([texts[number]], [translations[number].text])
        assert pairs[number][1].pharaoh() == alone.pharaoh()


def test_heads_that_are_not_there_are_refused(translator: Translator) -> None:
    for head in ((2, 0), (0, 2), (-1, 0)):
        with pytest.raises(ConfigError) as caught:
            align_translations(translator, [], heads=[head])
        assert str(caught.value) == (
            f"alignment_heads: {head[0]}:{head[1]} is no head of this model; layers are 0 to 1, "
            "heads 0 to 1"
        )


def test_models_that_form_no_weights_are_refused() -> None:
    tokenizer = tiny_bundle().target_tokenizer
    sizes: dict[str, Any] = {"layers": 1, "d_model": 16, "vocabulary": tokenizer.size}
    linear = ModelConfig(**sizes, heads=2, d_ff=32, attention=Linear())
    for config in (RecurrentConfig(**sizes), linear):
        bundle = Bundle(config, build_model(config).eval(), (tokenizer,))
        with pytest.raises(ModelError, match="forms no attention weights over the source"):
            Translator(bundle).align([SOURCE], [TARGET], heads=[(0, 0)])
