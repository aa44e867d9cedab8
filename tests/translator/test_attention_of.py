import numpy as np
import pytest
import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch
from dragoman.errors import ModelError
from dragoman.models import RecurrentConfig, build_model
from dragoman.translator import Translator
from tests.fixtures import tiny_bundle, tiny_translator

SOURCE = "der hund schläft ."


def test_rows_are_the_pieces_of_the_models_own_translation() -> None:
    translator = tiny_translator(layers=2)
    search = BeamSearch(beam=2, max_length=9)
    pieces = translator.translate([SOURCE], beam=2, max_length=9)[0].tokens
    (maps,) = translator.attention([SOURCE], [None], search=search)
    assert maps.written_pieces == pieces  # cut off by the limit or not
    assert maps.target_pieces == ("<s>", *pieces[:-1])
    for weights in (maps.encoder, maps.decoder, maps.cross):
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_of_a_given_target_the_last_row_writes_the_end() -> None:
    translator = tiny_translator()
    (maps,) = translator.attention([SOURCE], ["the dog"])
    assert maps.target_pieces[0] == "<s>"
    assert maps.written_pieces == (*maps.target_pieces[1:], "</s>")
    assert maps.cross.shape[2] == len(maps.written_pieces)


def test_each_row_is_the_weight_with_which_its_piece_was_written() -> None:
    """Step by step, as a search writes: what comes later has no part in it."""
    translator = tiny_translator()
    (maps,) = translator.attention([SOURCE], [None], search=BeamSearch(max_length=6))
    tokenizer = translator.bundle.target_tokenizer
    known = {piece: number for number, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
    ids = [known[piece] for piece in maps.target_pieces[1:]]
    from dragoman.inspection import cross_attention

    source = torch.tensor(
        [translator.frame.source(translator.bundle.source_tokenizer.encode(SOURCE))]
    )
    for row in range(len(maps.written_pieces)):
        model = tiny_bundle().model
        read = torch.tensor([translator.frame.target_in(ids[:row])])
        alone = cross_attention(model, source, read)[:, 0, :, -1]  # pyright: ignore[reportArgumentType]  # ours
        np.testing.assert_allclose(maps.cross[:, :, row], alone.numpy(), atol=1e-5)


def test_looking_changes_no_translation() -> None:
    translator = tiny_translator()
    before = translator.translate([SOURCE], max_length=10)
    translator.attention([SOURCE], [None])
    assert translator.translate([SOURCE], max_length=10) == before


def test_what_is_no_transformer_says_so() -> None:
    tokenizer = tiny_bundle().tokenizers[0]
    config = RecurrentConfig(architecture="recurrent", vocabulary=tokenizer.size)
    translator = Translator(Bundle(config, build_model(config).eval(), (tokenizer,)))
    with pytest.raises(ModelError, match="and this model is recurrent"):
        translator.attention([SOURCE], [None])
