"""Text to ids on disk: broken off anywhere it goes on to the same ids, and is not done twice."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.data import LengthLimits, Pair, PairStore, Preparation, TrainingText, prepare_pairs
from dragoman.data import preparing as module
from dragoman.data.corpora import Files
from dragoman.errors import ConfigError, DataError
from dragoman.tokenization import TokenizerConfig, learn_tokenizer, with_languages

TOKENIZER = learn_tokenizer(["ein Hund läuft", "a dog runs"] * 9, TokenizerConfig(size=290))
NO_LIMIT = LengthLimits(limit=1_000, longest_alone=None, rule="drop")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what is done after every two parts of five pairs."""
    monkeypatch.setattr(module, "PART", 5)
    monkeypatch.setattr(module, "KEPT", 2)


def corpus(folder: Path, pairs: int = 47) -> Files:
    """Write pairs, of which every tenth is blank and every seventh is long."""
    sources = [f"Hund {n}" + " läuft" * (20 * (n % 7 == 0)) for n in range(pairs)]
    targets = ["" if n % 10 == 9 else f"dog {n}" for n in range(pairs)]
    for name, lines in (("a", sources), ("b", targets)):
        text = "".join(f"{line}\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8")
    return Files(source=folder / "a", target=folder / "b")


def preparation(limits: LengthLimits = NO_LIMIT, **changes: object) -> Preparation:
    made = {"tokenizers": (TOKENIZER,), "tag": None, "limits": limits, "processes": 1, **changes}
    return Preparation(**made)  # pyright: ignore[reportArgumentType]  # of several types


class Breaks(TrainingText):
    """A text whose reading breaks off."""

    after = -1

    def pairs(self) -> Iterator[Pair]:
        for number, pair in enumerate(super().pairs()):
            if number == self.after:
                raise KeyboardInterrupt
            yield pair


def outcome(store: PairStore) -> tuple[object, ...]:
    return (store.fingerprint, store.numbers[:].tolist(), store.counts, store.sources.rows())


def decoded(store: PairStore) -> list[tuple[str, str]]:
    both = zip(store.sources.rows(), store.targets.rows(), strict=True)
    return [(TOKENIZER.decode(source), TOKENIZER.decode(target)) for source, target in both]


@pytest.mark.parametrize("rule", ["drop", "truncate", "alone"])
def test_broken_off_anywhere_it_goes_on_to_the_same_ids_and_counts(
    rule: str, tmp_path: Path
) -> None:
    limits = LengthLimits(limit=20, longest_alone=None, rule=rule)  # pyright: ignore[reportArgumentType]  # a name
    asked = preparation(limits)
    text = Breaks(corpus(tmp_path))
    straight = prepare_pairs(text, tmp_path / "straight", "key", asked)
    # By hand: 47 lines, of which 9, 19, 29 and 39 are blank; 0, 7, 14, 21, 28, 35 and 42 are long.
    assert straight.counts["lines"] == 47
    assert straight.counts["left_out"] == {"blank on a side": 4, "held out for validation": 0}
    names = {"drop": "dropped", "truncate": "truncated", "alone": "alone"}
    expected = {"dropped": 0, "truncated": 0, "alone": 0} | {names[rule]: 7}
    assert straight.counts["lengths"] == expected
    assert len(straight.sources) == (36 if rule == "drop" else 43)
    for after in range(43):
        folder = tmp_path / f"after-{after}"
        text.after = after
        with pytest.raises(KeyboardInterrupt):
            prepare_pairs(text, folder, "key", asked)
        text.after = -1
        assert outcome(prepare_pairs(text, folder, "key", asked)) == outcome(straight)


def test_the_ids_are_those_of_the_text(tmp_path: Path) -> None:
    text = TrainingText(corpus(tmp_path))
    store = prepare_pairs(text, tmp_path / "store", "key", preparation())
    assert decoded(store) == [(pair.source, pair.target) for pair in text.pairs()]
    assert store.numbers[:].tolist() == [pair.number for pair in text.pairs()]


def test_two_processes_prepare_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.tokenization.packing_pool._ALONE", 1)
    text = TrainingText(corpus(tmp_path))
    alone = prepare_pairs(text, tmp_path / "1", "key", preparation())
    both = prepare_pairs(text, tmp_path / "2", "key", preparation(processes=2))
    assert outcome(alone) == outcome(both)


def test_what_is_prepared_is_not_read_again(tmp_path: Path) -> None:
    text = Breaks(corpus(tmp_path))
    first = prepare_pairs(text, tmp_path / "store", "key", preparation())
    text.after = 0  # reading raises
    assert outcome(prepare_pairs(text, tmp_path / "store", "key", preparation())) == outcome(first)
    with pytest.raises(KeyboardInterrupt):
        prepare_pairs(text, tmp_path / "store", "another", preparation())


def test_text_that_was_kept_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Breaks(corpus(tmp_path))
    text.after = 27  # five parts of five, of which four are kept
    with pytest.raises(KeyboardInterrupt):
        prepare_pairs(text, tmp_path / "store", "key", preparation())
    text.after = -1
    encoded: list[int] = []
    parts = module._parts

    def counted(pairs: Iterator[Pair]) -> Iterator[tuple[list[int], list[list[str]]]]:
        for numbers, texts in parts(pairs):
            encoded.extend(numbers)
            yield numbers, texts

    monkeypatch.setattr(module, "_parts", counted)
    prepare_pairs(text, tmp_path / "store", "key", preparation())
    assert encoded == [pair.number for pair in text.pairs()][20:]


def test_it_says_how_many_pairs_are_done(tmp_path: Path) -> None:
    told: list[int] = []
    text = TrainingText(corpus(tmp_path))
    prepare_pairs(text, tmp_path / "store", "key", preparation(said=told.append))
    assert told == [10, 20, 30, 40]


def test_a_tag_goes_before_every_source(tmp_path: Path) -> None:
    tagged = with_languages(TOKENIZER, ["de", "en"])
    tag = tagged.languages["en"]
    asked = preparation(tokenizers=(tagged,), tag=tag)
    store = prepare_pairs(TrainingText(corpus(tmp_path)), tmp_path / "store", "key", asked)
    assert {row[0] for row in store.sources.rows()} == {tag}
    assert [row[1:] for row in store.sources.rows()][3] == tagged.encode("Hund 3")
    assert tag not in store.targets.ids


@pytest.mark.parametrize(
    ("rule", "problem"), [("drop", "are over the limits 2 and 2"), ("alone", "no pair is left")]
)
def test_a_limit_that_leaves_nothing_is_an_error(rule: str, problem: str, tmp_path: Path) -> None:
    limits = LengthLimits(limit=2, longest_alone=2, rule=rule)  # pyright: ignore[reportArgumentType]  # a name
    text = TrainingText(corpus(tmp_path))
    for _ in range(2):  # again when it goes on from what was kept
        with pytest.raises(DataError, match=f"a and .*b.*{problem}"):
            prepare_pairs(text, tmp_path / "store", "key", preparation(limits))


def test_the_error_rule_names_the_line(tmp_path: Path) -> None:
    limits = LengthLimits(limit=20, longest_alone=None, rule="error")
    text = TrainingText(corpus(tmp_path))
    with pytest.raises(DataError, match=r"line 1: .* over the limits 20 and 20"):
        prepare_pairs(text, tmp_path / "store", "key", preparation(limits))


class Odd(TrainingText):
    """A text with half a character in line 33, as few encodings can hold it."""

    def all_pairs(self) -> Iterator[Pair]:
        for pair in super().all_pairs():
            yield pair._replace(target="a\ud83d") if pair.number == 33 else pair


def test_half_a_surrogate_pair_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 33: character 1 is U\+D83D, half of a surrogate"):
        prepare_pairs(Odd(corpus(tmp_path)), tmp_path / "store", "key", preparation())


def test_errors_of_other_kinds_come_through_as_they_are(tmp_path: Path) -> None:
    class Wrong(TrainingText):
        def pairs(self) -> Iterator[Pair]:
            raise error

    for error in (ConfigError("data.filters", "is wrong"), ValueError("a fault of ours")):
        with pytest.raises(type(error)) as caught:
            prepare_pairs(Wrong(corpus(tmp_path)), tmp_path / "store", "key", preparation())
        assert caught.value is error


SCRIPT = """
    import json, resource, sys
    from pathlib import Path
    from dragoman.data import LengthLimits, Preparation, TrainingText, prepare_pairs
    from dragoman.data import preparing
    from dragoman.data.corpora import (Files)
    from dragoman.tokenization import Tokenizer, packing_pool

    folder, kept = Path(sys.argv[1]), int(sys.argv[2])
    preparing.KEPT = kept
    text = TrainingText(Files(source=folder / "a", target=folder / "b"))
    preparation = Preparation(
        tokenizers=(Tokenizer.load(folder / "tokenizer.json"),),
        tag=None,
        limits=LengthLimits(limit=1_000, longest_alone=None, rule="drop"),
        processes=2,
        said=lambda pairs: print(pairs, flush=True),
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    store = prepare_pairs(text, folder / "store", "key", preparation)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    told = [len(store.sources), store.fingerprint, store.counts, before, after, others]
    print(json.dumps(told), flush=True)
"""


def start(folder: Path, kept: int) -> "subprocess.Popen[str]":
    script = folder / "prepare.py"
    script.write_text(textwrap.dedent(SCRIPT), encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script), str(folder), str(kept)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def synthetic(folder: Path, pairs: int) -> int:
    """Write pairs of different words; give their bytes."""
    TOKENIZER.save(folder / "tokenizer.json")
    folder.joinpath("a").write_text(
        "".join(f"Satz {n} von {n * n % 9973} Hunden läuft {n % 89}\n" for n in range(pairs)),
        encoding="utf-8",
    )
    folder.joinpath("b").write_text(
        "".join(f"sentence {n} of {n * n % 9973} dogs runs {n % 89}\n" for n in range(pairs)),
        encoding="utf-8",
    )
    return sum((folder / name).stat().st_size for name in ("a", "b"))


def test_a_killed_process_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    synthetic(tmp_path, 100_000)
    with start(tmp_path, kept=2) as process:
        assert process.stdout is not None
        assert [int(process.stdout.readline()) for _ in range(5)][-1] == 50_000
        process.send_signal(signal.SIGKILL)
    with start(tmp_path, kept=2) as process:
        out, _ = process.communicate(timeout=120)
    *steps, last = out.splitlines()
    assert int(steps[0]) >= 60_000  # it went on
    (tmp_path / "store").rename(tmp_path / "broken-off")
    with start(tmp_path, kept=100) as process:
        straight, _ = process.communicate(timeout=120)
    assert json.loads(straight)[:3] == json.loads(last)[:3]
    assert json.loads(last)[0] == 100_000


def test_a_hundred_thousand_pairs_take_little_memory_and_are_prepared_once(tmp_path: Path) -> None:
    # A smaller version of benchmarks/prepare.py. Text in flight is at most (2 x 2 + 1) parts of
    # 5,000 pairs, about 100 bytes each as text and 400 as Python's strings and numbers: 12 MB. The
    # words remembered before other processes begin are at most those of 40,000 pairs on both
    # sides, about 200,000 of 150 bytes: 30 MB. With what the library and the allocator keep that
    # is under 120 MB; 100,000 pairs held as lists of ids would be more.
    synthetic(tmp_path, 100_000)
    with start(tmp_path, kept=100) as process:
        first, _ = process.communicate(timeout=300)
    pairs, fingerprint, _, before, after, others = json.loads(first)
    assert pairs == 100_000
    assert (after - before) * 1024 < 120e6  # Linux counts in KiB
    assert others * 1024 < 300e6  # a process with the package and one vocabulary
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()}
    for name in ("a", "b"):
        os.truncate(tmp_path / name, 0)  # nobody reads them again
    with start(tmp_path, kept=100) as process:
        again, _ = process.communicate(timeout=300)
    assert json.loads(again)[:2] == [pairs, fingerprint]
    assert times == {path.name: path.stat().st_mtime_ns for path in (tmp_path / "store").iterdir()}
