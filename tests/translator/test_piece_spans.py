import pytest

from dragoman.tokenization import Imported, ImportedTokenizer
from dragoman.translator import piece_spans
from tests.fixtures import ENGLISH, GERMAN, tiny_bundle
from tests.tokenization.foreign import KINDS, LINES, settings_of
from tests.tokenization.test_imported import SPECIAL

TEXTS = [*GERMAN, *ENGLISH, "ä狗 x  y", "😀a", "  lead", " a", "tail ", "<b> & </s>", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_of_ids_that_the_tokenizer_gives_they_are_its_own(text: str) -> None:
    tokenizer = tiny_bundle().target_tokenizer
    assert piece_spans(tokenizer, tokenizer.encode(text)) == (text, tokenizer.spans(text))


def test_a_word_cut_otherwise_is_followed_and_symbols_have_no_place() -> None:
    tokenizer = tiny_bundle().target_tokenizer
    ids = dict(zip(tokenizer.pieces(range(tokenizer.size)), range(tokenizer.size), strict=True))
    cut = [ids[piece] for piece in (" ", "d", "o", "g", " ", "<0xC3>", "<0xA4>", "</s>")]
    text, spans = piece_spans(tokenizer, cut)
    assert text == "dog ä"
    assert spans == [(0, 1), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (4, 5), None]


def test_bytes_that_are_no_letter_stand_at_their_sign() -> None:
    tokenizer = tiny_bundle().target_tokenizer
    ids = dict(zip(tokenizer.pieces(range(tokenizer.size)), range(tokenizer.size), strict=True))
    text, spans = piece_spans(tokenizer, [ids[piece] for piece in ("<0xE2>", "<0xC3>", "a")])
    assert text == "\ufffd\ufffda"
    assert spans == [(0, 1), (0, 2), (1, 3)]  # which begins is known one byte later


@pytest.mark.parametrize("kind", KINDS)
def test_vocabularies_of_others_are_followed_by_their_own_decoding(kind: str) -> None:
    tokenizer = ImportedTokenizer(settings_of(kind), Imported(special=SPECIAL[kind]))
    for line in LINES:
        ids = tokenizer.encode(line)
        text, spans = piece_spans(tokenizer, ids)
        assert text == tokenizer.decode(ids)
        shown = [span for span in spans if span]
        assert shown == sorted(shown)
        covered = {place for span in shown for place in range(*span)}
        assert covered >= {place for place, each in enumerate(text) if not each.isspace()}
