import torch

from dragoman.bundle import Bundle
from dragoman.decoding import BeamSearch
from dragoman.models import ModelConfig
from dragoman.tokenization import TokenizerConfig
from dragoman.tokenization.lookup import learn_words
from dragoman.translator import Translator, parse
from dragoman.trees import Tree
from tests.fixtures import build_encoder_decoder

SOURCES = ["we go , ~as", "the dog ~a"]
TARGETS = ["(S (NP 1 )NP (VP 2 , 4 )VP )S", "(NP 1 2 3 )NP"]
SENTENCES = ["we go , zebras", "", "dogs ( the )", "we " * 30]


def parser() -> Translator:
    """Make a model with random weights that knows a few words, classes and tokens of trees."""
    settings = TokenizerConfig(kind="word", size=300, byte_fallback=False)
    pair = (learn_words(SOURCES, settings), learn_words(TARGETS, settings))
    config = ModelConfig(
        layers=1,
        d_model=16,
        heads=2,
        d_ff=32,
        vocabulary=pair[0].size,
        target_vocabulary=pair[1].size,
        tied="output",
    )
    model = build_encoder_decoder(config, torch.Generator().manual_seed(3))
    return Translator(Bundle(config, model.eval(), pair))


def words_of(tree: Tree | None) -> tuple[str, ...]:
    return () if tree is None else tree.words


def test_every_sentence_gets_a_tree_over_its_own_words() -> None:
    translator, search = parser(), BeamSearch(beam=2, max_extra=9)
    expected = [
        ("we", "go", ",", "zebras"),
        (),
        ("dogs", "-LRB-", "the", "-RRB-"),
        ("we",) * 30,
    ]
    for valid in (False, True):
        found = [*parse(translator, SENTENCES, search=search, valid=valid)]
        assert [words_of(each.tree) for each in found] == expected


def test_what_is_written_under_the_grammar_needs_no_repair_if_it_ends_in_time() -> None:
    # No bracket over one word alone more than six times, so 4 words have 48 brackets at most.
    search = BeamSearch(beam=2, max_extra=120)
    free, bound = (
        [*parse(parser(), ["we go , zebras"], search=search, valid=valid)]
        for valid in (False, True)
    )
    assert free[0].faults
    assert not bound[0].faults
