import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.bundle import Bundle
from dragoman.models import Linear, ModelConfig, build_model
from dragoman.translator import Fragment, Tag, Translator, translate_fragments
from dragoman.translator.alignment import Aligner, Array, Pair, by_place
from dragoman.translator.fragment import take_apart
from dragoman.translator.markup import translate_marked
from dragoman.translator.placeholders import placeholders_of
from dragoman.translator.sentences import split_sentences
from dragoman.translator.words import word_spans
from tests.fixtures import GERMAN, tiny_bundle, tiny_translator

Translate = Callable[[Sequence[str]], list[str]]
Links = dict[tuple[int, int], float]  # (target word, source word)


def read(text: str) -> Fragment:
    """Read ``<a>``, ``</a>`` and ``<a/>`` as tags; a letter pairs with itself."""
    items: list[str | Tag] = []
    for number, piece in enumerate(text.replace(">", "<").split("<")):
        if number % 2 == 0:
            items += [piece] if piece else []
        elif piece.endswith("/"):
            items.append(Tag(f"<{piece}>", "alone"))
        elif piece.startswith("/"):
            items.append(Tag(f"<{piece}>", "close", ord(piece[1])))
        else:
            items.append(Tag(f"<{piece}>", "open", ord(piece)))
    return tuple(items)


def write(fragment: Fragment) -> str:
    return "".join(item if isinstance(item, str) else item.text for item in fragment)


def plain(fragment: Fragment) -> str:
    return "".join(item for item in fragment if isinstance(item, str))


def in_order(pairs: Sequence[Pair]) -> list[Array]:
    """Align the first word with the first, the second with the second."""
    return [
        np.eye(len(pair.target_words), max(len(pair.source_words), 1))[:, : len(pair.source_words)]
        for pair in pairs
    ]


def put(source: str, target: str, links: Links | None = None) -> str:
    """Put the tags of a source into a given target, by given links."""

    def align(pairs: Sequence[Pair]) -> list[Array]:
        if links is None or not pairs:
            return in_order(pairs)
        (pair,) = pairs
        weights = np.zeros((len(pair.target_words), len(pair.source_words)))
        for (row, column), weight in links.items():
            weights[row, column] = weight
        return [weights]

    (found,) = translate_marked(lambda texts: [target for _ in texts], align, [read(source)])
    return write(found)


def reverse(*places: int) -> Links:
    return dict.fromkeys(enumerate(places), 1.0)


def test_a_span_goes_around_the_words_aligned_to_its_words() -> None:
    assert (
        put("a <b>red hat</b> here", "ein roter Hut hier")
        == "ein " * 0 + "ein <b>roter Hut</b> hier"
    )
    assert (
        put("he <b>gave</b> it up", "er gab es auf", reverse(0, 1, 2, 1)) == "er <b>gab es auf</b>"
    )
    assert put("<b>Hello</b>, world!", "Hallo, Welt!") == "<b>Hallo</b>, Welt!"


def test_a_span_moves_with_its_words() -> None:
    links = reverse(2, 0, 1)
    assert (
        put("<b>one</b> two <i>three</i>", "drei eins zwei", links)
        == "<i>drei</i> <b>eins</b> zwei"
    )


def test_a_span_inside_a_span_stays_inside() -> None:
    assert put("x <b>a <i>b</i> c</b> y", "X A B C Y") == "X <b>A <i>B</i> C</b> Y"
    # The word of the inner one went out of the outer one's, which grows around it.
    links = reverse(2, 0, 1)
    assert put("<b>a <i>b</i></b> c", "C A B", links) == "C <b>A <i>B</i></b>"


def test_spans_whose_words_mix_are_cut_where_the_fewest_words_are_wrong() -> None:
    links = reverse(0, 1, 0, 1, 1)
    assert put("<b>a</b> <i>b</i>", "A B a b b", links) == "<b>A</b> <i>B a b b</i>"


def test_a_span_without_words_of_its_own_takes_the_likeliest() -> None:
    links = {(0, 0): 0.9, (1, 2): 0.9, (1, 1): 0.4, (0, 1): 0.1}
    assert put("a <b>b</b> c", "A C", links) == "A <b>C</b>"


def test_a_tag_alone_goes_before_the_word_aligned_to_the_next() -> None:
    assert put("one <x/>two three", "drei zwei eins", reverse(2, 1, 0)) == "drei <x/>zwei eins"
    assert put("see<x/> there now", "da sieh jetzt", reverse(1, 0, 2)) == "<x/>da sieh jetzt"
    assert put("one<x/> two", "eins zwei") == "eins<x/> zwei"
    assert put("see note<x/>.", "siehe Note.") == "siehe Note<x/>."


def test_a_tag_alone_is_not_put_into_a_span_it_was_outside_of() -> None:
    links = reverse(0, 2, 1)
    assert put("<b>a b</b> <x/>c d", "A C B", links) == "<x/>" * 0 + "<x/><b>A C B</b>"


def test_words_that_only_a_line_break_keeps_apart_are_not_joined() -> None:
    asked: list[str] = []

    def translate(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return [text.upper() for text in texts]

    found = translate_marked(
        translate,
        in_order,
        [read("one<x/>two.<x/>Three <x/> four"), read("a<b>b</b>c"), read("他<x/>她")],
    )
    assert asked == ["one two. Three four", "abc", "他她"]
    assert write(found[0]) == "ONE<x/> TWO.<x/> THREE <x/>FOUR"


def test_what_stands_at_the_edges_stays_there() -> None:
    assert put(" \n<a> <b>x y</b></a><x/>\t", "X Y") == " \n<a> <b>X Y</b></a><x/>\t"
    assert put("<x/> a b<x/>", "B A", reverse(1, 0)) == "<x/> B A<x/>"
    assert put("<a></a>a <b>b</b>", "B A", reverse(1, 0)) == "<a></a><b>B</b> A"
    # One that begins there and is around some of the words moves with them.
    assert put("<b>a</b> b", "B A", reverse(1, 0)) == "B <b>A</b>"


def test_a_tag_inside_a_word_goes_around_the_whole_word_of_the_translation() -> None:
    assert (
        put("Haus<b>tür</b> auf", "open house door", reverse(2, 0, 1)) == "open house <b>door</b>"
    )


def test_spans_that_overlap_are_put_into_each_other() -> None:
    assert put("a <b>b <i>c</b> d</i> e", "A B C D E") == "A <b>B <i>C</i></b> D E"


@pytest.mark.parametrize(
    "text", ["", "<x/>", " <b> </b> ", "<b>12</b> - 7", "%s<b>{name}</b>", "http://a.b/<x/>", "\n"]
)
def test_without_letters_a_fragment_is_copied(text: str) -> None:
    asked: list[str] = []

    def translate(texts: Sequence[str]) -> list[str]:
        asked.extend(texts)
        return ["no"] * len(texts)

    assert translate_marked(translate, in_order, [read(text)]) == [read(text)]
    assert asked == []


def test_an_empty_translation_keeps_every_tag_in_order() -> None:
    assert put("<a/>a <b>b <x/>c</b> <x/> d <i></i>e", "") == "<a/><b><x/></b><x/><i></i>"


def test_placeholders_are_words_that_no_tag_goes_into() -> None:
    found = put(
        "open <b>%(file)s</b> at http://a.b/c?d=e",
        "%(file)s http://a.b/c?d=e auf",
        reverse(1, 3, 0),
    )
    assert found == "<b>%(file)s</b> http://a.b/c?d=e auf"


def test_text_cut_at_placeholders_keeps_its_tags() -> None:
    def translate(texts: Sequence[str]) -> list[str]:
        return [text.upper() for text in texts]

    (found,) = translate_marked(
        translate, in_order, [read("delete <b>the %s file</b> now<x/> or {x}")]
    )
    assert write(found) == "DELETE <b>THE %s FILE</b> NOW<x/> OR {x}"


def test_a_long_text_is_translated_sentence_by_sentence_with_spans_across() -> None:
    def translate(texts: Sequence[str]) -> list[str]:
        assert list(texts) == ["One two.", "Three four."]
        return [" ".join(reversed(text.split())) for text in texts]

    def backwards(pairs: Sequence[Pair]) -> list[Array]:
        assert [pair.source for pair in pairs] == ["One two.", "Three four."]
        return [np.eye(3)[[1, 2, 0]] for _ in pairs]

    (found,) = translate_marked(
        translate, backwards, [read("One <b>two.\n\nThree</b> four.")], split=split_sentences
    )
    assert write(found) == "<b>two. One\n\nfour. Three</b>"


WORDS = [
    "one",
    "Haus",
    "don't",
    "3.5",
    "日本",
    "नमस्ते",
    "שלום",
    "e\u0301a",
    "👩\u200d🚀",
    ",",
    "(",
    "T-Shirt",
]
PLACED = [*WORDS, "%s", "{name}", "http://a.b/c"]


@st.composite
def fragments(draw: st.DrawFn, words: Sequence[str], *, tidy: bool) -> Fragment:
    """Draw text and tags; with ``tidy`` spans are nested and complete."""
    items: list[str | Tag] = []
    inside: list[int] = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["word", "word", "space", "open", "close", "alone"]))
        if kind == "word":
            items.append(draw(st.sampled_from(words)))
        elif kind == "space":
            items.append(draw(st.sampled_from([" ", " ", "  ", "\n"])))
        elif kind == "alone":
            items.append(Tag(f"<x{number}/>", "alone"))
        elif kind == "open":
            items.append(Tag(f"<{number}>", "open", number))
            inside.append(number)
        elif inside:
            place = -1 if tidy else draw(st.integers(0, len(inside) - 1))
            pair = inside.pop(place)
            items.append(Tag(f"</{pair}>", "close", pair))
    if tidy:
        items += [Tag(f"</{pair}>", "close", pair) for pair in reversed(inside)]
    return tuple(items)


def disturbed(seed: int) -> Translate:
    """Make a translator that drops, doubles, moves or changes words."""

    def translate(texts: Sequence[str]) -> list[str]:
        rng = random.Random(seed)
        found: list[str] = []
        for text in texts:
            words = [word for word in text.split() for _ in range(rng.choice([0, 1, 1, 1, 2]))]
            if rng.random() < 0.5:
                rng.shuffle(words)
            found.append(" ".join(w.upper() if rng.random() < 0.2 else w for w in words))
        return found

    return translate


def at_random(seed: int) -> Callable[[Sequence[Pair]], list[Array]]:
    def align(pairs: Sequence[Pair]) -> list[Array]:
        rng = np.random.default_rng(seed)
        return [rng.random((len(pair.target_words), len(pair.source_words))) for pair in pairs]

    return align


def check_tags(source: Fragment, target: Fragment) -> None:
    """See that every tag is there once, and spans are nested and open before they close."""
    tags = [item for item in target if not isinstance(item, str)]
    assert sorted(tag.text for tag in tags) == sorted(
        item.text for item in source if not isinstance(item, str)
    )
    closed = {tag.pair for tag in tags if tag.role == "close"}
    inside: list[int | None] = []
    for tag in tags:
        if tag.pair not in closed:
            continue  # alone, or it never closes in the source either
        if tag.role == "open":
            inside.append(tag.pair)
        else:
            assert inside.pop() == tag.pair
    assert inside == []


@given(fragments(PLACED, tidy=False), st.integers(0, 2**31))
def test_every_tag_and_placeholder_is_there_once_whatever_the_model_says(
    fragment: Fragment, seed: int
) -> None:
    (found,) = translate_marked(disturbed(seed), at_random(seed), [fragment], split=split_sentences)
    if found == fragment:
        return
    check_tags(fragment, found)
    before, after = (placeholders_of(take_apart(each).text) for each in (fragment, found))
    assert sorted(before) == sorted(after)


@given(fragments(WORDS, tidy=True), st.integers(0, 2**31))
def test_the_text_is_that_of_the_model_and_no_tag_is_inside_a_word(
    fragment: Fragment, seed: int
) -> None:
    (found,) = translate_marked(disturbed(seed), at_random(seed), [fragment])
    check_tags(fragment, found)
    if found == fragment:
        return
    marked = take_apart(fragment)
    (said,) = disturbed(seed)([marked.text])
    edges = [
        "".join(item for item in side if isinstance(item, str))
        for side in (marked.left, marked.right)
    ]
    assert plain(found) == edges[0] + said.strip() + edges[1]
    place = 0
    tags: set[int] = set()
    for item in found:
        if isinstance(item, str):
            place += len(item)
        else:
            tags.add(place - len(edges[0]))
    assert not any(start < tag < end for start, end in word_spans(said.strip()) for tag in tags)


@given(fragments(WORDS, tidy=True))
def test_tags_stay_where_they_are_when_every_word_stays(fragment: Fragment) -> None:
    found = translate_marked(list, in_order, [fragment])
    assert found == [fragment]


@given(st.text(max_size=30), st.sets(st.integers(0, 30), max_size=4))
def test_words_cover_all_but_white_space_and_end_at_cuts(text: str, cuts: set[int]) -> None:
    spans = word_spans(text, cuts)
    assert all(start < end for start, end in spans)
    assert [a for span in spans for a in span] == sorted(a for span in spans for a in span)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered for place, each in enumerate(text) if not each.isspace())
    assert not any(start < cut < end for start, end in spans for cut in cuts)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T-Shirt, 3.5 l'eau don't.", ["T-Shirt", ",", "3.5", "l'", "eau", "don't", "."]),
        ("日本 नमस्ते e\u0301a 한국어", ["日", "本", "नमस्ते", "e\u0301a", "한국어"]),
        ("👩\u200d🚀 a_b %s's", ["👩\u200d🚀", "a_b", "%s", "'s"]),
    ],
)
def test_words_are_what_a_reader_takes_for_one(text: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == expected


def pair_of(source: str, target: str) -> Pair:
    return Pair(source, target, word_spans(source), word_spans(target))


def test_alignment_of_a_pair_does_not_depend_on_the_others() -> None:
    aligner = Aligner(tiny_bundle(layers=2))
    pairs = [
        pair_of(GERMAN[0], "the dog sleeps"),
        pair_of(" ".join(GERMAN), "we go ."),
        pair_of("a", ""),
    ]
    together = aligner.align(pairs)
    for pair, weights in zip(pairs, together, strict=True):
        assert weights.shape == (len(pair.target_words), len(pair.source_words))
        np.testing.assert_allclose(aligner.align([pair])[0], weights, atol=1e-6)


def test_alignment_adds_up_what_the_decoder_looks_at() -> None:
    translator = tiny_translator()
    source, target = "der hund", "dog ."
    (found,) = Aligner(translator.bundle).align([pair_of(source, target)])
    maps = translator.attention([source], [target])[0]
    weights = maps.cross[0].mean(0)  # the row of the piece before a piece is what wrote it
    names = [
        [piece for piece in pieces if piece not in ("<s>", "</s>")]
        for pieces in (maps.source_pieces, maps.target_pieces)
    ]
    words = [np.cumsum([piece.startswith(" ") for piece in side]) - 1 for side in names]
    expected = np.zeros((2, 2))
    for row, to in enumerate(words[1]):
        for column, of in enumerate(words[0]):
            expected[to, of] += weights[row, column] / (words[1] == to).sum()
    np.testing.assert_allclose(found, (expected + 1e-6) * by_place(2, 2), rtol=1e-4)


def test_models_without_weights_are_aligned_by_place() -> None:
    bundle = tiny_bundle()
    config = ModelConfig(
        layers=1, d_model=16, heads=2, d_ff=32, vocabulary=bundle.config.vocabulary,
        attention=Linear(),
    )  # fmt: skip
    model = build_model(config, torch.Generator().manual_seed(1))
    linear = Bundle(config, model.eval(), bundle.tokenizers)
    (found,) = Aligner(linear).align([pair_of("der hund schläft", "the dog sleeps")])
    np.testing.assert_array_equal(found, by_place(3, 3))
    assert list(found.argmax(1)) == [0, 1, 2]


def test_a_real_model_keeps_every_tag() -> None:
    translator = tiny_translator(learned=40)
    sources = [
        read("<a>der <b>hund</b> schläft</a> ."),
        read("  <x/>ein mann <b>liest %s</b> ein<x/> buch {name}. "),
        read(" ".join(f"<b>{line}</b>" for line in GERMAN * 3)),
        (),
    ]
    found = translate_fragments(translator, sources, max_length=12, beam=2)
    for source, target in zip(sources, found, strict=True):
        check_tags_of_any_pair(source, target)
    assert placeholders_of(plain(found[1])) == ["%s", "{name}"]
    assert found == translate_fragments(translator, sources, max_length=12, beam=2, batch_tokens=8)


def check_tags_of_any_pair(source: Fragment, target: Fragment) -> None:
    names = [[item.text for item in side if not isinstance(item, str)] for side in (source, target)]
    assert sorted(names[0]) == sorted(names[1])


def test_text_without_tags_is_what_the_translator_gives() -> None:
    translator: Translator = tiny_translator()
    plain_text = [found.text.strip() for found in translator.translate(GERMAN, max_length=9)]
    found = translate_fragments(translator, [(line,) for line in GERMAN], max_length=9)
    assert [write(each) for each in found] == plain_text
