"""Every control, alone and with others, against trying everything; each by its definition."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest

from dragoman.decoding import BannedPhrases, BeamSearch, Hypothesis, Symbols, search
from tests.decoding.exhaustive import END, START, allowed, defined_score
from tests.decoding.many_tables import (
    CoveringTables,
    Floats,
    ManyTables,
    node_of,
    nodes,
    sequences,
)
from tests.fakes import Ids

TABLES, V, STEPS, SOURCE = 12, 5, 5, 3  # three pieces of text; source positions looked at
WIDE = (V - 2) ** (STEPS - 1) * (V - 1)  # holds all that the last step can make
SYMBOLS = Symbols(START, END, banned=(START,))

# Of every control what is tried; what divides the beam or stops the search may not change what a
# beam finds that drops nothing.
VALUES: dict[str, list[dict[str, Any]]] = {
    "length_penalty": [{"length_penalty": form} for form in ("average", "none")],
    "word_reward": [{"word_reward": reward} for reward in (0.3, 2.0, -0.4)],
    "coverage": [{"coverage": beta} for beta in (0.2, 3.0)],
    "patience": [{"patience": 2.0}],
    "groups": [{"groups": 2}],
    "diversity": [{"groups": 2, "diversity": 4.0}],
    "min_length": [{"min_length": least} for least in (2, 4, 6)],
    "no_repeat_ngram": [{"no_repeat_ngram": n} for n in (1, 2, 3)],
    "repetition_penalty": [{"repetition_penalty": theta} for theta in (0.5, 1.3, 4.0)],
    "banned phrases": [{"phrases": phrases} for phrases in ([(2,)], [(2, 3), (4, 4, 4), (3, 2)])],
    "prefixes": [{"prefixes": True}],
}
ELSEWHERE = {"beam", "alpha", "n_best"}  # varied in all cases
ELSEWHERE |= {"max_length", "max_extra"}  # are the limit that each sentence has


@dataclass(frozen=True)
class Drawn:
    """Tables with their limits, forced prefixes, and attention to the source."""

    tables: Floats
    looks: Floats
    limits: Sequence[int]
    prefixes: Sequence[Ids]


def draw(seed: int, *, prefixes: bool) -> Drawn:
    rng = np.random.default_rng(seed)
    evenness = rng.choice([0.2, 1.0, 5.0], TABLES)
    tables = np.log(
        np.stack([rng.dirichlet([e] * V, nodes(V, STEPS)) for e in evenness]).clip(1e-9)
    )
    looks = rng.dirichlet([0.5] * SOURCE, (TABLES, nodes(V, STEPS)))
    limits = [int(limit) for limit in rng.integers(2, STEPS + 1, TABLES)]
    forced = [
        tuple(int(piece) for piece in rng.integers(2, V, rng.integers(0, limit)))
        for limit in limits
    ]
    return Drawn(tables, looks, limits, forced if prefixes else [()] * TABLES)


def score(drawn: Drawn, number: int, ids: Ids, config: BeamSearch) -> float:
    """Add up the terms as they are defined."""
    return defined_score(
        ids,
        config,
        lambda before: drawn.tables[number, node_of(before, V)].tolist(),
        lambda before: drawn.looks[number, node_of(before, V)].tolist(),
        drawn.prefixes[number],
    )


def agrees_with_all_there_is(
    seed: int, options: dict[str, Any], *, alpha: float, n_best: int
) -> None:
    controls = {k: v for k, v in options.items() if k not in ("phrases", "prefixes")}
    phrases: list[Ids] = options.get("phrases", [])
    drawn = draw(seed, prefixes=options.get("prefixes", False))
    beam = WIDE * controls.get("groups", 1)
    config = BeamSearch(beam=beam, alpha=alpha, n_best=n_best, **controls)
    session = (
        CoveringTables.start(drawn.tables, drawn.looks)
        if config.coverage
        else ManyTables.start(drawn.tables)
    )
    ban = BannedPhrases(phrases) if phrases else None
    answers: list[list[Hypothesis]] = search(
        session, config, SYMBOLS, drawn.limits, prefixes=drawn.prefixes, ban=ban
    )
    for number, answer in enumerate(answers):
        expected = sorted(
            (
                (score(drawn, number, ids, config), ids)
                for ids in sequences(V, drawn.limits[number])
                if allowed(ids, config, drawn.prefixes[number], phrases)
            ),
            reverse=True,
        )
        ended = [h for h in answer if not h.truncated]
        assert [h.ids for h in ended] == [ids for _, ids in expected[:n_best]]
        assert [h.score for h in ended] == pytest.approx([s for s, _ in expected[:n_best]])
        assert len(ended) == len(answer) or not ended  # cut off only where nothing ends


def test_every_control_of_the_search_is_tried() -> None:
    own = {"banned phrases", "prefixes"}
    assert VALUES.keys() - own | ELSEWHERE == {each.name for each in fields(BeamSearch)}


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
@pytest.mark.parametrize(
    "options", [option for values in VALUES.values() for option in values], ids=str
)
def test_each_control_finds_the_best_of_all_that_it_allows(
    options: dict[str, Any], alpha: float
) -> None:
    for n_best in (1, 5):
        agrees_with_all_there_is(n_best, options, alpha=alpha, n_best=n_best)


@pytest.mark.parametrize("seed", range(40))
def test_controls_together_find_the_best_of_all_that_they_allow(seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    options: dict[str, Any] = {}
    for values in VALUES.values():
        if rng.random() < 0.5:
            options |= values[rng.integers(len(values))]
    alpha, n_best = [0.0, 0.6, 1.0, -0.5][seed % 4], 1 + seed % 5
    agrees_with_all_there_is(seed, options, alpha=alpha, n_best=n_best)


@pytest.mark.parametrize("patience", [0.01, 0.02, 0.1])
def test_impatience_gives_what_has_ended_by_then(patience: float) -> None:
    # Whatever step it stops after, what is given back are the best of what ended up to there.
    drawn = draw(3, prefixes=False)
    hasty = BeamSearch(beam=WIDE, n_best=2, patience=patience)
    answers = search(ManyTables.start(drawn.tables), hasty, SYMBOLS, drawn.limits)
    stopped: set[int] = set()
    for number, answer in enumerate(answers):
        scored = [(score(drawn, number, ids, hasty), ids) for ids in sequences(V, STEPS)]
        by_step = [
            sorted((each for each in scored if len(each[1]) < step), reverse=True)
            for step in range(1, drawn.limits[number] + 1)
        ]
        enough = [step for step, ended in enumerate(by_step) if len(ended) >= patience * WIDE]
        ended = by_step[enough[0] if enough else -1]
        whole = by_step[-1]
        stopped |= {len(ended) - len(whole)}
        # It may as well stop before, when nothing can win any more; then the two are the same.
        assert [h.ids for h in answer] in ([i for _, i in ended[:2]], [i for _, i in whole[:2]])
    assert len(stopped) > 1  # some have been stopped early
