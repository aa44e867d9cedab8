"""Speculative decoding of texts that are tables: greedy equals search, sampling is exact."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding import (
    Ban,
    BannedPhrases,
    BeamSearch,
    CopyDrafts,
    DraftCounts,
    Drafter,
    Draftwise,
    Hypothesis,
    ModelDrafter,
    Sampling,
    Speculation,
    Symbols,
    filter_log_probs,
    search,
    speculative,
)
from dragoman.decoding.drafted import Writer
from dragoman.errors import ModelError
from dragoman.tokenization import SpecialIds
from tests.decoding.fake_reading import ScriptedDrafter, TableReading
from tests.fakes import Ids, Table, TableSession, random_table, written_table

START, END = 1, 2
SPECIAL = SpecialIds(padding=0, start=START, end=END, unknown=0)
SYMBOLS = Symbols(START, END, (0, START))
SEEDS = st.integers(0, 2**31)
MakeDrafter = Callable[[Table], Drafter]


def by_model(table: Table, most: int | None = None) -> ModelDrafter:
    return ModelDrafter(TableReading(table, most=most), (START,), END)


@dataclass(frozen=True)
class Given:
    """Drafts that are there already."""

    drafter: Drafter

    def begin(self, source: Sequence[int], opening: Sequence[int]) -> Drafter:
        return self.drafter


def speculate(
    table: Table,
    drafter: Drafter,
    config: BeamSearch | Sampling,
    *,
    limit: int = 12,
    draft_length: int = 3,
    prefix: Ids = (),
    ban: Ban | None = None,
    number: int = 0,
) -> tuple[list[Hypothesis], Draftwise]:
    writer = Writer(config, SPECIAL, Speculation(Given(drafter), draft_length), ban)
    reading = TableReading(table, most=limit)
    return writer.write(reading, (), writer.task((START,), limit, prefix), number)


def plainly(
    table: Table, config: BeamSearch, *, limit: int = 12, prefix: Ids = (), ban: Ban | None = None
) -> list[Hypothesis]:
    return search(TableSession.start(table), config, SYMBOLS, [limit], prefixes=[prefix], ban=ban)[
        0
    ]


def greedy_after(table: Table, written: Ids, count: int) -> list[int]:
    """Write on greedily, by hand."""
    text = [START, *written]
    for _ in range(count):
        row = list(table(tuple(text)))
        allowed = [-1.0 if piece in SYMBOLS.banned else p for piece, p in enumerate(row)]
        text.append(allowed.index(max(allowed)))
    return text[1 + len(written) :]


def always_right(table: Table) -> Drafter:
    def script(written: Ids) -> list[int]:
        pieces = greedy_after(table, written, 10)
        return pieces[: pieces.index(END) + 1] if END in pieces else pieces

    return ScriptedDrafter(script)


def always_wrong(table: Table) -> Drafter:
    def script(written: Ids) -> list[int]:
        return [3 + (greedy_after(table, written, 1)[0] == 3)] * 10

    return ScriptedDrafter(script)


def always_ends(table: Table) -> Drafter:
    return ScriptedDrafter(lambda written: [END])


def right_then_ends(table: Table) -> Drafter:
    return ScriptedDrafter(lambda written: [*greedy_after(table, written, 1), END])


def proposes_banned_pieces(table: Table) -> Drafter:
    return ScriptedDrafter(lambda written: [0, 1, 3])


def proposes_nothing(table: Table) -> Drafter:
    return ScriptedDrafter(lambda written: [])


def the_model_itself(table: Table) -> Drafter:
    return by_model(table)


def another_model(table: Table) -> Drafter:
    return by_model(random_table(99, 6, evenness=0.5))


def another_model_of_few_positions(table: Table) -> Drafter:
    return by_model(table, most=4)


def copying(table: Table) -> Drafter:
    return CopyDrafts().begin((4, 5, 3, 3, 5, END), (START,))


DRAFTERS = [
    always_right,
    always_wrong,
    always_ends,
    right_then_ends,
    proposes_banned_pieces,
    proposes_nothing,
    the_model_itself,
    another_model,
    another_model_of_few_positions,
    copying,
]


def assert_same(found: Sequence[Hypothesis], expected: Sequence[Hypothesis]) -> None:
    assert [(h.ids, h.truncated) for h in found] == [(h.ids, h.truncated) for h in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=1e-12)
        assert one.score == pytest.approx(other.score, abs=1e-12)


@pytest.mark.parametrize("make", DRAFTERS)
@settings(max_examples=25, deadline=None)
@given(
    seed=SEEDS,
    evenness=st.sampled_from([0.1, 0.5, 5.0]),
    limit=st.integers(1, 12),
    draft_length=st.integers(1, 7),
    alpha=st.sampled_from([-0.5, 0.0, 0.6, 1.0]),
)
def test_greedy_text_is_that_of_a_beam_of_one_whoever_drafts(
    make: MakeDrafter, seed: int, evenness: float, limit: int, draft_length: int, alpha: float
) -> None:
    table = random_table(seed, 6, evenness=evenness)
    config = BeamSearch(beam=1, alpha=alpha)
    found, text = speculate(table, make(table), config, limit=limit, draft_length=draft_length)
    assert_same(found, plainly(table, config, limit=limit))
    assert text.counts.pieces == len(text.pieces) <= limit
    assert text.counts.accepted <= text.counts.drafted <= draft_length * text.counts.passes


CONTROLS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a minimum": {"min_length": 6},
    "no repeated piece": {"no_repeat_ngram": 1},
    "no repeated pair": {"no_repeat_ngram": 2},
    "rarer repetitions": {"repetition_penalty": 2.5},
    "likelier repetitions": {"repetition_penalty": 0.4},
    "a reward": {"word_reward": 0.7, "length_penalty": "average"},
    "patience": {"patience": 1.5},
    "all": {"min_length": 3, "no_repeat_ngram": 2, "repetition_penalty": 1.7},
}


@pytest.mark.parametrize("make", DRAFTERS)
@pytest.mark.parametrize("control", CONTROLS)
@settings(max_examples=6, deadline=None)
@given(
    seed=SEEDS,
    limit=st.integers(4, 12),
    prefix=st.lists(st.integers(3, 5), max_size=3),
    phrases=st.lists(st.lists(st.integers(3, 5), min_size=1, max_size=2), max_size=2),
)
def test_controls_prefixes_and_bans_do_the_same_with_a_draft(
    make: MakeDrafter, control: str, seed: int, limit: int, prefix: list[int], phrases: list[Ids]
) -> None:
    table = random_table(seed, 6, evenness=0.7)
    settings = CONTROLS[control]
    config = BeamSearch(beam=1, **settings)
    ban = BannedPhrases(phrases) if phrases else None
    found, _ = speculate(table, make(table), config, limit=limit, prefix=tuple(prefix), ban=ban)
    ban = BannedPhrases(phrases) if phrases else None
    expected = plainly(table, config, limit=limit, prefix=tuple(prefix), ban=ban)
    assert_same(found, expected)


@pytest.mark.parametrize("make", DRAFTERS)
def test_of_equal_pieces_the_lowest_id_is_written(make: MakeDrafter) -> None:
    rows = {
        "* 1": {"5": 0.4, "3": 0.4, "2": 0.2},
        "* 3": {"5": 0.5, "4": 0.5},
        "* 4": {"5": 0.5, "2": 0.5},
        "* 5": {"3": 1.0},
        "* 2": {"3": 1.0},
        "* 0": {"3": 1.0},
    }
    table = written_table(rows, 6)
    found, _ = speculate(table, make(table), BeamSearch(beam=1))
    assert found[0].ids == (3, 4)
    assert not found[0].truncated
    assert_same(found, plainly(table, BeamSearch(beam=1)))


def test_what_cannot_be_is_no_text_with_a_draft_either() -> None:
    rows = {"* 1": {"3": 1.0}, "* 3": {"0": 1.0}, "* 4": {"3": 1.0}}
    table = written_table(rows, 6)  # after 3 nothing but a banned piece may come
    config = BeamSearch(beam=1)
    assert plainly(table, config) == []
    assert speculate(table, ScriptedDrafter(lambda written: [3, 4, 4]), config)[0] == []
    assert plainly(table, config, prefix=(4,)) == []  # 4 has probability 0
    assert speculate(table, ScriptedDrafter(lambda written: [3]), config, prefix=(4,))[0] == []


def nan_after_4(prefix: Ids) -> list[float]:
    return [math.nan] * 6 if prefix[-1] == 4 else [0.0, 0.0, 0.1, 0.6, 0.1, 0.2]


@pytest.mark.parametrize("config", [BeamSearch(beam=1), Sampling(temperature=0.0)])
def test_no_numbers_after_a_refused_piece_do_not_matter(config: BeamSearch | Sampling) -> None:
    found, text = speculate(nan_after_4, ScriptedDrafter(lambda written: [4, 4]), config, limit=5)
    assert found[0].ids == (3,) * 5
    assert text.counts == DraftCounts(drafted=7, accepted=0, passes=5, pieces=5)  # 2 + 2 + 2 + 1


@pytest.mark.parametrize("config", [BeamSearch(beam=1), Sampling(temperature=0.0)])
def test_no_numbers_after_a_piece_that_was_written_are_an_error(
    config: BeamSearch | Sampling,
) -> None:
    def table(prefix: Ids) -> list[float]:
        return [math.nan] * 6 if len(prefix) == 3 else [0.0, 0.0, 0.1, 0.6, 0.1, 0.2]

    with pytest.raises(ModelError, match="not numbers"):
        speculate(table, ScriptedDrafter(lambda written: [3, 3, 3]), config)


# Proposals


def test_a_right_draft_takes_as_few_passes_as_can_be() -> None:
    rows = {"* 1": {"3": 1.0}, "* 3": {"4": 1.0}, "* 4": {"5": 1.0}, "* 5": {"3": 1.0}}
    table = written_table(rows, 6)
    found, text = speculate(
        table, always_right(table), BeamSearch(beam=1), limit=12, draft_length=3
    )
    assert found[0].ids == (3, 4, 5) * 4
    assert text.counts == DraftCounts(drafted=9, accepted=9, passes=3, pieces=12)  # 3 x (3 + 1)
    assert text.counts.acceptance == 1
    assert text.counts.pieces_per_pass == 4


def test_an_accepted_end_needs_nothing_after_it() -> None:
    rows = {"* 1": {"3": 1.0}, "* 3": {"2": 1.0}, "* 2": {"3": 1.0}}
    table = written_table(rows, 6)
    drafter = ScriptedDrafter(lambda written: [3, END])
    found, text = speculate(table, drafter, BeamSearch(beam=1))
    assert found[0].ids == (3,)
    assert text.counts == DraftCounts(drafted=2, accepted=2, passes=1, pieces=2)


def test_nothing_is_proposed_past_the_limit() -> None:
    rows = {"* 1": {"3": 1.0}, "* 3": {"3": 1.0}}
    table = written_table(rows, 6)
    drafter = ScriptedDrafter(lambda written: [3] * 9)
    _, text = speculate(table, drafter, BeamSearch(beam=1), limit=4, draft_length=9)
    assert text.counts == DraftCounts(drafted=3, accepted=3, passes=1, pieces=4)
    _, text = speculate(table, drafter, BeamSearch(beam=1), limit=1, draft_length=9)
    assert text.counts == DraftCounts(drafted=0, accepted=0, passes=1, pieces=1)


def test_a_small_model_reads_each_piece_once_while_it_is_right() -> None:
    rows = {"* 1": {"3": 1.0}, "* 3": {"4": 1.0}, "* 4": {"5": 1.0}, "* 5": {"3": 1.0}}
    table = written_table(rows, 6)
    drafter = by_model(table)
    speculate(table, drafter, BeamSearch(beam=1), limit=12, draft_length=3)
    assert isinstance(drafter.reading, TableReading)
    # The start symbol and two of its own; then the third and that of the large model together.
    assert drafter.reading.reads == [1, 1, 1, 2, 1, 1, 2, 1, 1]


def test_copying_continues_the_longest_end_that_came_before() -> None:
    def copied(*written: int, most: int = 4) -> Ids:
        drafter = CopyDrafts().begin((4, 5, 6, 7, 5, 8, 9, END), (START,))
        drafter.propose(written[:1], 1, no_choice)  # it sees the text grow
        return drafter.propose(written, most, no_choice).pieces

    assert copied() == ()
    assert copied(11) == ()  # came nowhere
    assert copied(5) == (6, 7, 5, 8)  # the first place
    assert copied(7, 5) == (8, 9, 7, 5)  # the longer end decides; the text itself goes on
    assert copied(7, 5, most=1) == (8,)
    assert copied(12, 13, 14, 12) == (13, 14, 12)  # from what was written
    assert copied(9) == (9,)  # its source ended: what follows is what was written


def no_choice(log_probs: torch.Tensor) -> tuple[int, None]:
    raise AssertionError("copying asks no model")


# Sampling

SMALL = 5  # pieces 3 and 4, and the end; 0 and 1 never come
DRAWN = 2_000


def chances(table: Table, sampling: Sampling, limit: int) -> dict[Ids, float]:
    """Say with which probability each text comes, by the chain rule; the end symbol included."""
    found: dict[Ids, float] = {}

    def go_on(pieces: Ids, chance: float) -> None:
        if len(pieces) == limit or END in pieces:
            found[pieces] = chance
            return
        row = torch.tensor([table((START, *pieces))], dtype=torch.float64).log()
        row[:, [0, START]] = -math.inf
        filters = (sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p)
        names = ("temperature", "top_k", "top_p", "min_p")
        kept = filter_log_probs(row, **dict(zip(names, filters, strict=True)))  # pyright: ignore  # several types
        for piece, p in enumerate(kept[0].exp().tolist()):
            if p > 0:
                go_on((*pieces, piece), chance * p)

    go_on((), 1.0)
    assert math.fsum(found.values()) == pytest.approx(1)
    return found


def unlikeliness(counts: Counter[Ids], expected: dict[Ids, float], drawn: int) -> float:
    """Say how many standard deviations Pearson's chi-square lies above its mean.

    Texts that should come fewer than 5 times are counted together.
    """
    assert set(counts) <= set(expected)
    rare = [ids for ids, chance in expected.items() if chance * drawn < 5]
    cells = [(counts[ids], expected[ids] * drawn) for ids in expected if ids not in rare]
    rest = math.fsum(expected[ids] for ids in rare) * drawn
    if rest > 1:
        cells.append((sum(counts[ids] for ids in rare), rest))
    statistic = math.fsum((seen - hoped) ** 2 / hoped for seen, hoped in cells)
    freedom = len(cells) - 1
    return (statistic - freedom) / math.sqrt(2 * freedom)


def draw_many(table: Table, make: Callable[[], Drafter], sampling: Sampling) -> Counter[Ids]:
    counts: Counter[Ids] = Counter()
    for number in range(DRAWN):
        _, text = speculate(table, make(), sampling, limit=4, draft_length=2, number=number)
        counts[tuple(text.pieces)] += 1
    return counts


TARGET = random_table(5, SMALL, evenness=1.5)
OTHER = random_table(6, SMALL, evenness=1.5)
WAYS: dict[str, tuple[Callable[[], Drafter], Sampling]] = {
    "another model": (lambda: by_model(OTHER), Sampling()),
    "the same model": (lambda: by_model(TARGET), Sampling()),
    "certain proposals": (lambda: ScriptedDrafter(lambda written: [4, 3]), Sampling()),
    "filters": (lambda: by_model(OTHER), Sampling(temperature=0.7, top_p=0.9, min_p=0.05)),
    "the best two": (lambda: by_model(OTHER), Sampling(temperature=1.4, top_k=2)),
}


@pytest.mark.parametrize("way", WAYS)
def test_sampled_texts_come_as_often_as_the_large_model_alone_draws_them(way: str) -> None:
    make, sampling = WAYS[way]
    expected = chances(TARGET, sampling, 4)
    # 4 standard deviations: the seeds are fixed, so this fails only when something changes.
    assert unlikeliness(draw_many(TARGET, make, sampling), expected, DRAWN) < 4


def without_residual(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    return target


def always_accepted(target: torch.Tensor, draft: torch.Tensor) -> torch.Tensor:
    return torch.ones_like(target)


@pytest.mark.parametrize(
    ("name", "wrong"), [("residual", without_residual), ("acceptance", always_accepted)]
)
@pytest.mark.parametrize("way", ["another model", "certain proposals"])
def test_statistics_would_notice_wrong_mathematics(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any, way: str
) -> None:
    monkeypatch.setattr(speculative, name, wrong)
    make, sampling = WAYS[way]
    assert unlikeliness(draw_many(TARGET, make, sampling), chances(TARGET, sampling, 4), DRAWN) > 8


def test_draws_depend_on_the_number_and_the_seed_alone() -> None:
    def drawn(seed: int, number: int) -> Ids:
        sampling = Sampling(seed=seed)
        found, _ = speculate(TARGET, by_model(OTHER), sampling, limit=30, number=number)
        return found[0].ids

    first = [drawn(1, number) for number in range(8)]
    assert [drawn(1, number) for number in range(8)] == first
    assert [drawn(2, number) for number in range(8)] != first
    assert len(set(first)) > 4


def test_sampled_log_probabilities_are_those_of_the_large_model() -> None:
    sampling = Sampling(temperature=0.5, top_k=2)
    found, text = speculate(TARGET, by_model(OTHER), sampling, limit=6)
    own = [math.log(TARGET((START, *text.pieces[:n]))[p]) for n, p in enumerate(text.pieces)]
    assert found[0].log_probs == pytest.approx(own)
    assert found[0].score == pytest.approx(math.fsum(own))


@pytest.mark.parametrize("make", DRAFTERS)
def test_temperature_0_is_greedy(make: MakeDrafter) -> None:
    for seed in range(10):
        table = random_table(seed, 6, evenness=0.5)
        found, _ = speculate(table, make(table), Sampling(temperature=0.0))
        assert found[0].ids == plainly(table, BeamSearch(beam=1))[0].ids
