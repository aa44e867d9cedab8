"""The picture of a run: what is drawn where, and what happens without matplotlib or room."""

import sys
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from dragoman.errors import DataError, MissingExtraError
from dragoman.inspection import draw_run, read_run
from tests.inspection.runs import UPDATES, VALIDATIONS, WHOLE, write_run

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Keep each figure that is saved."""
    figures: list[Any] = []
    save = Figure.savefig

    def keep(figure: Figure, *arguments: Any, **options: Any) -> None:
        figures.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def curves(axes: Any) -> dict[str, tuple[list[float], list[float]]]:
    """Give the lines that run over updates; the dotted one of the best has two points on one."""
    lines = [line for line in axes.get_lines() if line.get_linestyle() != ":"]
    return {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in lines}


def test_loss_rate_and_scores_stand_over_the_same_updates(tmp_path: Path, drawn: list[Any]) -> None:
    run = write_run(tmp_path / "run", WHOLE)
    draw_run(read_run(run), run / "run.png")
    assert (run / "run.png").read_bytes().startswith(PNG)
    losses, rate, scores = drawn[0].axes
    assert curves(losses) == {
        "training, label smoothing included": ([100, 200, 300], [6.0, 4.0, 3.5]),
        "validation": ([100, 200, 300], [5.0, 3.0, 3.25]),
    }
    assert list(curves(rate).values()) == [([100, 200, 300], [1e-3, 2e-3, 1e-3])]
    assert curves(scores) == {
        "bleu": ([100, 200, 300], [1.25, 21.5, 20.75]),
        "chrf": ([100, 200, 300], [12.5, 40.0, 41.5]),
    }
    assert losses.get_xlim() == rate.get_xlim() == scores.get_xlim()
    for axes in drawn[0].axes:  # the best validation, update 200, is marked in each
        dotted = [line for line in axes.get_lines() if line.get_linestyle() == ":"]
        assert [list(line.get_xdata()) for line in dotted] == [[200, 200]]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    history = read_run(write_run(tmp_path / "run", WHOLE))
    draw_run(history, tmp_path / "a.png")
    draw_run(history, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_without_scores_the_perplexity_is_drawn(tmp_path: Path, drawn: list[Any]) -> None:
    events = [*UPDATES, *(entry | {"scores": {}} for entry in VALIDATIONS)]
    draw_run(read_run(write_run(tmp_path / "run", events)), tmp_path / "run.png")
    assert curves(drawn[0].axes[2]) == {"perplexity": ([100, 200, 300], [148.41, 20.09, 25.79])}


def test_without_validations_there_are_two_panels(tmp_path: Path, drawn: list[Any]) -> None:
    draw_run(read_run(write_run(tmp_path / "run", UPDATES[:1])), tmp_path / "run.png")
    assert len(drawn[0].axes) == 2


@pytest.mark.parametrize("events", [VALIDATIONS, [UPDATES[0] | {"loss_nats": None}]])
def test_a_run_of_which_little_is_known_is_drawn(
    tmp_path: Path, events: list[dict[str, object]]
) -> None:
    draw_run(read_run(write_run(tmp_path / "cost $1$ \\x", events)), tmp_path / "run.png")
    assert (tmp_path / "run.png").read_bytes().startswith(PNG)


def test_a_picture_without_a_place_says_where(tmp_path: Path) -> None:
    history = read_run(write_run(tmp_path / "run", WHOLE))
    place = tmp_path / "none/run.png"
    with pytest.raises(DataError, match=rf"^{place}: cannot be written: .*; choose another --out"):
        draw_run(history, place)
    with pytest.raises(DataError, match="cannot be written: Is a directory"):
        draw_run(history, tmp_path / "run")


def test_without_matplotlib_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = read_run(write_run(tmp_path / "run", WHOLE))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dragoman\[plot\]'"):
        draw_run(history, tmp_path / "run.png")
    assert not (tmp_path / "run.png").exists()
