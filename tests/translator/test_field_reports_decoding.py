"""Field reports 6, 12 and 23 to 26 with every control of the search switched on in turn.

A control without a case here fails ``test_every_control_has_a_case``.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dragoman.decoding import (
    Ban,
    BannedPhrases,
    BeamSearch,
    Hypothesis,
    NoRoom,
    Sampling,
    Symbols,
    decode,
    search,
)
from dragoman.errors import ConfigError
from dragoman.inspection import cross_attention
from dragoman.models import SequenceToSequence, build_model
from dragoman.nn import EncoderDecoder
from dragoman.translator import Draft, Translation, Translator
from dragoman.translator.translator import Controls
from tests.decoding.exhaustive import END, START, allowed, defined_score
from tests.decoding.fake_covering import CoveringTable, looking_at
from tests.fakes import Ids, Table, TableSession, log_prob, random_table
from tests.fixtures import GERMAN, tiny_translator
from tests.models.choices import translator_config

# What ``translate`` is told of each; ``prefix`` is that of every segment.
CASES: dict[str, dict[str, Any]] = {
    "beam": {"beam": 2},
    "alpha": {"alpha": -0.5},
    "n_best": {"n_best": 3},
    "max_length": {"max_length": 5},
    "max_extra": {"max_length": None, "max_extra": 2},
    "length_penalty": {"length_penalty": "average", "alpha": 1.0},
    "word_reward": {"word_reward": 0.3},
    "coverage": {"coverage": 0.3},
    "patience": {"patience": 2.0},
    "groups": {"groups": 2},
    "diversity": {"groups": 2, "diversity": 3.0},
    "min_length": {"min_length": 4},
    "no_repeat_ngram": {"no_repeat_ngram": 2},
    "repetition_penalty": {"repetition_penalty": 1.5},
    "banned_words": {"banned_words": ["the", "a"]},
    "prefix": {"prefix": "the"},
}
TOGETHER: dict[str, Any] = {  # all that are no plain sizes
    name: value
    for case in ("word_reward", "coverage", "patience", "diversity", "min_length")
    for name, value in CASES[case].items()
} | {
    name: value
    for case in ("length_penalty", "no_repeat_ngram", "repetition_penalty", "banned_words")
    for name, value in CASES[case].items()
}
EVERY = {**CASES, "none": {}, "all together": TOGETHER}
# What ``translate`` is told besides: the text, how it is cut and batched, and what is written down.
NO_CONTROLS = {"self", "texts", "controls", "batch_tokens", "too_long", "sentences"}
NO_CONTROLS |= {"copy_without_letters", "target_language", "trace", "first_line", "waiter"}
# What needs text, and no search over a table: drawn from one piece each time, chance has no part.
WITH_TEXT: dict[str, dict[str, Any]] = {
    "sampling": {"sampling": Sampling(top_k=1)},
    "mbr": {"mbr": 3, "sampling": Sampling(top_k=1)},
    "mbr_over": {"mbr": 3, "mbr_over": "beam"},
    "draft": {"beam": 1, "draft": Draft(None, 3)},
    "required": {"required": ["dog|the"]},
    "glossary": {"glossary": [("hund", "dog")]},
}

in_turn = pytest.mark.parametrize("options", EVERY.values(), ids=EVERY)
with_text_too = pytest.mark.parametrize(
    "options", [*EVERY.values(), *WITH_TEXT.values()], ids=[*EVERY, *WITH_TEXT]
)


def test_every_control_has_a_case() -> None:
    asked = inspect.signature(Translator.translate).parameters.keys() - NO_CONTROLS
    known = {each.name for each in fields(BeamSearch)} | Controls.__annotations__.keys()
    assert asked | known == CASES.keys() | WITH_TEXT.keys()


@pytest.fixture(scope="module")
def translator() -> Translator:
    made = tiny_translator(layers=2)
    with torch.no_grad():  # so that translations end now and then
        assert isinstance(made.model, EncoderDecoder)
        made.model.generator.table[made.special.end] *= 3
    return made


def run(
    translator: Translator, texts: Sequence[str], options: Mapping[str, Any], **more: Any
) -> list[Translation]:
    """Translate with some controls."""
    told = {"max_length": 12, **options, **more}
    if isinstance(told.get("prefix"), str):
        told["prefix"] = [told["prefix"]] * len(texts)
    return translator.translate(texts, **told)


def same(one: Translation, other: Translation) -> None:
    assert one.tokens == other.tokens
    assert one.score == pytest.approx(other.score, abs=1e-5)
    assert one.token_log_probs == pytest.approx(other.token_log_probs, abs=1e-5)


# Field report 6: blank in, blank out, in place; the neighbours do not notice.

ODD_LINES = ["", " ", "\t", "-", "...", "😀"]


@with_text_too
def test_what_has_no_letters_comes_back_and_changes_nothing(
    translator: Translator, options: dict[str, Any]
) -> None:
    mixed = [ODD_LINES[0], GERMAN[0], *ODD_LINES[1:4], *GERMAN[1:3], *ODD_LINES[4:]]
    found = run(translator, mixed, options)
    assert [t.text for t in found if t.copied] == ODD_LINES
    assert [t.source for t in found] == mixed
    alone = [run(translator, [text], options)[0] for text in GERMAN[:3]]
    for one, other in zip(alone, (t for t in found if not t.copied), strict=True):
        same(one, other)


@with_text_too
def test_the_model_is_not_called_for_blank_text(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = tiny_translator()

    def refuse(source: Tensor) -> None:
        raise AssertionError("the model was called")

    monkeypatch.setattr(translator.model, "encode", refuse)
    assert [t.text for t in run(translator, ODD_LINES, options)] == ODD_LINES
    (blank,) = run(translator, [" "], options, copy_without_letters=False)
    assert (blank.text, blank.copied) == (" ", True)


# Field report 12: a line that is too long ends nothing early.


@with_text_too
@pytest.mark.parametrize("too_long", ["split", "cut", "blank"])
def test_three_lines_come_out_when_the_second_is_too_long(
    options: dict[str, Any], too_long: str
) -> None:
    translator = tiny_translator(learned=40)
    texts = [GERMAN[0], " ".join(GERMAN * 4), GERMAN[3]]
    found = run(translator, texts, options, too_long=too_long)
    assert [t.source for t in found] == texts
    assert found[1].shortened == (too_long != "split")
    assert bool(found[1].text) == (too_long != "blank")
    for place in (0, 2):
        same(found[place], run(translator, [texts[place]], options)[0])


# Field report 23: the formula, the order, n-best and greedy search.


def longer_is_better(prefix: Ids) -> list[float]:
    """End at once with 0.5; or begin with piece 2, which has 0.4, and end surely after nine."""
    if len(prefix) == 1:
        return [0.1, 0.5, 0.4]
    return [0.0, 0.0, 1.0] if len(prefix) <= 9 else [0.0, 1.0, 0.0]


def often_ending(prefix: Ids) -> Sequence[float]:
    """End with any length, now likelier, now less."""
    return random_table(5, 3, evenness=3.0)(prefix)


def table_case(
    options: Mapping[str, Any], **more: Any
) -> tuple[BeamSearch, Ids, list[Ids], Ban | None]:
    """Give the controls of a case to a search of ids; of pieces, 2 is text."""
    told = {**options, **more}
    prefix: Ids = (2,) if told.pop("prefix", None) else ()
    phrases: list[Ids] = [(2, 2, 2, 2)] if told.pop("banned_words", None) else []
    ban = BannedPhrases(phrases) if phrases else None
    return BeamSearch(**told), prefix, phrases, ban


def find(
    table: Table, config: BeamSearch, prefix: Ids, ban: Ban | None, *, limit: int, copies: int = 1
) -> list[list[Hypothesis]]:
    plain = TableSession.start(*[table] * copies)
    session = CoveringTable.begin(3, 2, *[table] * copies) if config.coverage else plain
    symbols = Symbols(START, END, banned=(START,))
    return search(session, config, symbols, [limit] * copies, prefixes=[prefix] * copies, ban=ban)


@in_turn
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
@pytest.mark.parametrize("table", [longer_is_better, often_ending])
def test_the_best_by_the_formula_is_found_for_any_n_best(
    table: Table, alpha: float, options: dict[str, Any]
) -> None:
    limit = 12
    for n_best in (1, 5):
        wide = {"beam": 24, "alpha": alpha, "n_best": n_best}  # more than there is
        config, prefix, phrases, ban = table_case(options, **wide)
        config = replace(config, max_length=None)
        log = lambda ids: [math.log(p or 1e-300) for p in table((START, *ids))]  # noqa: E731  # one line
        look = lambda ids: looking_at(3, (START, *ids), 2)  # noqa: E731  # one line
        lengths = [(2,) * n for n in range(limit)]
        ends = [ids for ids in lengths if log_prob(table, (*ids, END), START) > -math.inf]
        expected = sorted(
            (
                (defined_score(ids, config, log, look, prefix), ids)
                for ids in ends
                if allowed(ids, config, prefix, phrases)
            ),
            reverse=True,
        )
        (found,) = find(table, config, prefix, ban, limit=limit)
        ended = [h for h in found if not h.truncated]
        assert [h.ids for h in ended] == [ids for _, ids in expected[:n_best]]
        assert [h.score for h in ended] == pytest.approx([s for s, _ in expected[:n_best]])
        assert ended == found or not expected


@in_turn
def test_scores_fall_and_the_best_does_not_depend_on_how_many_are_asked_for(
    translator: Translator, options: dict[str, Any]
) -> None:
    one, four = (run(translator, GERMAN, options, beam=4, n_best=n_best) for n_best in (1, 4))
    for single, several in zip(one, four, strict=True):
        same(single, several)
        scores = [hypothesis.score for hypothesis in several.hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.tokens for hypothesis in several.hypotheses}) == len(scores)


@in_turn
@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed: int, options: dict[str, Any]) -> None:
    table, limit = random_table(seed, 6, evenness=0.5), 9
    config, prefix, phrases, ban = table_case(options, beam=1, n_best=1, groups=1)
    config = replace(config, max_length=None)
    ids: Ids = prefix
    ended = False
    while not ended and len(ids) < limit:
        chances = table((START, *ids))
        worth = {
            piece: math.log(p) * (config.repetition_penalty if piece in ids else 1)
            for piece, p in enumerate(chances)
            if piece > START and p > 0
        }
        for piece in list(worth):
            short = piece == END and len(ids) + 1 < config.min_length
            if short or not allowed((*ids, piece), replace(config, min_length=0), prefix, phrases):
                del worth[piece]
        best = max(worth, key=worth.__getitem__)
        ended = best == END
        ids = ids if ended else (*ids, best)
    ((found,),) = find(table, config, prefix, ban, limit=limit)
    assert (found.ids, found.truncated) == (ids, not ended)


# Field report 24: alone, among others, beside a long one, without a cache.


@with_text_too
def test_a_sentence_gets_the_same_alone_and_among_others(
    translator: Translator, options: dict[str, Any]
) -> None:
    many = [f"{GERMAN[n % 4]} {n}" for n in range(31)]
    long = " ".join(["sehr"] * 60)
    (alone,) = run(translator, [GERMAN[0]], options)
    same(alone, run(translator, [GERMAN[0], *many], options)[0])
    same(alone, run(translator, [*many, GERMAN[0]], options, batch_tokens=100)[-1])
    same(alone, run(translator, [long, GERMAN[0]], options)[1])


@dataclass(frozen=True)
class Recomputing:
    """A session without a cache: every step reads all that was written anew."""

    model: SequenceToSequence
    source: Tensor  # (S, L)
    fed: Tensor  # (R, T)
    covered: Tensor | None = None

    @property
    def sentences(self) -> int:
        return self.source.size(0)

    @property
    def device(self) -> torch.device:
        return self.source.device

    def step(self, ids: Tensor) -> tuple[Tensor, "Recomputing"]:
        fed = torch.cat((self.fed, ids[:, None]), dim=1)
        source = self.source.repeat_interleave(len(fed) // self.sentences, 0)
        logits = self.model(source, fed)[:, -1]
        covered = None
        if isinstance(self.model, EncoderDecoder):
            covered = cross_attention(self.model, source, fed)[-1].mean(1).sum(1)
        return logits.log_softmax(-1), replace(self, fed=fed, covered=covered)

    def select(self, rows: Tensor, sentences: Tensor | None) -> "Recomputing":
        source = self.source if sentences is None else self.source[sentences]
        return replace(self, source=source, fed=self.fed[rows])

    def coverage(self, beta: float) -> Tensor:
        assert self.covered is not None
        return beta * self.covered.clamp(max=1).log().sum(1).double()


CHOICES = ("paper", "learned", "shaw", "t5", "rotary", "alibi", "no-positions", "mqa", "gqa")
CACHES = [(name, case) for name in (*CHOICES, "local") for case in EVERY]
# A recurrent model forms no attention weights that say what was covered.
CACHES += [("lstm", case) for case, options in EVERY.items() if "coverage" not in options]


@pytest.mark.parametrize(("name", "case"), CACHES)
def test_a_cache_changes_nothing(name: str, case: str) -> None:
    options = EVERY[case]
    made = build_model(translator_config(name, vocabulary=9), torch.Generator().manual_seed(1))
    assert isinstance(made, SequenceToSequence)
    model = made.double().eval()
    config, prefix, _, ban = table_case(options)
    source = torch.tensor([[5, 6, 7, 2]])
    symbols = Symbols(1, 2, banned=(0, 1, 3))
    special = tiny_translator().special
    assert (special.padding, special.start, special.end) == (0, 1, 2)
    prefixes = [tuple(5 for _ in prefix)]
    cached = decode(
        model, [[5, 6, 7]], replace(config, max_length=6), special, prefixes=prefixes, ban=ban
    )[0]
    nothing = torch.empty((1, 0), dtype=torch.int64)
    anew = search(
        Recomputing(model, source, nothing), config, symbols, [6], prefixes=prefixes, ban=ban
    )[0]
    assert not isinstance(cached, NoRoom)
    assert [h.ids for h in cached] == [h.ids for h in anew]
    for one, other in zip(cached, anew, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-5)
        assert one.score == pytest.approx(other.score, abs=1e-5)


# Field report 25: a beam wider than the vocabulary.


@in_turn
def test_a_beam_wider_than_the_vocabulary_gives_what_exists(options: dict[str, Any]) -> None:
    config, prefix, _, ban = table_case(options, beam=8, n_best=8)
    table = random_table(2, 5)
    for found in find(table, config, prefix, ban, limit=4, copies=2):
        assert 1 <= len(found) <= 8
        assert len({(h.ids, h.truncated) for h in found}) == len(found)
        assert all(math.isfinite(h.score) for h in found)
        assert all(math.isfinite(each) for h in found for each in h.log_probs)
        scores = [h.score for h in found]
        assert scores == sorted(scores, reverse=True)


@in_turn
def test_more_translations_than_the_beam_holds_are_refused_up_front(
    translator: Translator, options: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match="n_best: 5 is more than beam 4"):
        run(translator, GERMAN, options, beam=4, n_best=5)


# Field report 26: positions past the trained maximum.


@in_turn
def test_sources_up_to_and_past_the_learned_positions(options: dict[str, Any]) -> None:
    translator = tiny_translator(learned=16)
    source = translator.bundle.source_tokenizer
    exact = "<" * 14  # each a piece of its own, after the space before a text
    assert len(source.encode(exact)) + 1 == 16
    texts = [exact, exact + "<", "<" * 63]
    found = run(translator, texts, options, copy_without_letters=False, too_long="blank")
    assert [t.shortened for t in found] == [False, True, True]
    assert [bool(t.tokens) for t in found] == [True, False, False]
    config, _, _, ban = table_case(options)
    with pytest.raises(ValueError, match="17 pieces with the end symbol, the model has 16"):
        decode(translator.model, [source.encode(texts[1])], config, translator.special, ban=ban)


@in_turn
def test_a_target_that_never_ends_stops_at_the_last_learned_position(
    options: dict[str, Any],
) -> None:
    translator = tiny_translator(learned=10)
    (found,) = run(translator, ["der hund"], options, max_length=500)
    assert 0 < len(found.tokens) <= 10
    free = tiny_translator()
    (found,) = run(free, ["der hund"], options, max_length=40)
    assert 0 < len(found.tokens) <= 40
