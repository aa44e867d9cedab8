"""Sequences that ask for one thing each: to copy, to reverse, or to look things up.

    python benchmarks/sequences.py copy data/copy
    python benchmarks/sequences.py recall data/recall --longest 8 --tested 2 4 6 8 12 16
    python benchmarks/sequences.py form data/form --shortest 1 --longest 8 --tested 1 2 4 6 8 12 16

Writes ``train.tsv``, ``validation.tsv`` and ``test-N.tsv`` for each length N that is tested:
source, tab, target. Every letter is drawn, so nothing but the rule can be learned. ``copy`` and
``reverse`` are of N letters. ``recall`` is N pairs of a letter and a digit, and then all letters
again in another order, to which the digits are the answer: ``x3b7?bx`` is answered by ``73`` (after
the associative recall of Graves et al. 2014, arXiv 1410.5401; here all items are asked for).
``form`` asks the same with a blank behind each letter, before what is told, and the answer is the
form filled in: ``b?x?:x3b7`` is answered by ``b7x3``, so each answer has the place of its blank.
"""

import argparse
import random
import string
from collections.abc import Callable, Iterable
from pathlib import Path

Rule = Callable[[int, random.Random], tuple[str, str]]


def copy(n: int, rng: random.Random) -> tuple[str, str]:
    """Give n letters twice."""
    drawn = "".join(rng.choices(string.ascii_lowercase, k=n))
    return drawn, drawn


def reverse(n: int, rng: random.Random) -> tuple[str, str]:
    """Give n letters, and the same from the last to the first."""
    drawn, _ = copy(n, rng)
    return drawn, drawn[::-1]


def recall(n: int, rng: random.Random) -> tuple[str, str]:
    """Give n pairs of a letter and a digit with all letters asked for, and the digits.

    Raises:
        ValueError: n is more than 26, and no letter may stand twice.
    """
    if n > len(string.ascii_lowercase):
        raise ValueError(f"n: {n} pairs need more letters than {len(string.ascii_lowercase)}")
    letters = rng.sample(string.ascii_lowercase, n)
    digits = dict(zip(letters, rng.choices(string.digits, k=n), strict=True))
    asked = rng.sample(letters, n)
    told = "".join(letter + digits[letter] for letter in letters)
    return f"{told}?{''.join(asked)}", "".join(digits[letter] for letter in asked)


def form(n: int, rng: random.Random) -> tuple[str, str]:
    """Give what ``recall`` gives as a form with blanks, and the form filled in.

    Raises:
        ValueError: n is more than 26, and no letter may stand twice.
    """
    source, digits = recall(n, rng)
    told, _, asked = source.partition("?")
    blanks = "".join(f"{letter}?" for letter in asked)
    filled = "".join(letter + digit for letter, digit in zip(asked, digits, strict=True))
    return f"{blanks}:{told}", filled


RULES: dict[str, Rule] = {"copy": copy, "reverse": reverse, "recall": recall, "form": form}


def drawn(rule: Rule, lengths: Iterable[int], rng: random.Random) -> list[tuple[str, str]]:
    """Make a pair of each length, all different; those that come again are left out."""
    return list(dict.fromkeys(rule(n, rng) for n in lengths))


def write(folder: Path, rule: Rule, options: argparse.Namespace) -> None:
    """Write all files; what is tested or validated is not trained on."""
    rng = random.Random(options.seed)
    held_out = {f"test-{n}": drawn(rule, [n] * options.test, rng) for n in options.tested}
    span = range(options.shortest, options.longest + 1)
    held_out["validation"] = drawn(rule, rng.choices(span, k=options.test), rng)
    known = {pair for pairs in held_out.values() for pair in pairs}
    train = drawn(rule, rng.choices(span, k=options.train), rng)
    parts = {**held_out, "train": [pair for pair in train if pair not in known]}
    folder.mkdir(parents=True, exist_ok=True)
    for name, pairs in parts.items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (folder / f"{name}.tsv").write_text(text, encoding="utf-8", newline="\n")
        print(f"{folder / name}.tsv: {len(pairs):,} pairs")


def main() -> None:
    """Write one of the tasks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("task", choices=RULES)
    add("folder", type=Path)
    add("--shortest", type=int, default=2, help="length to learn from")
    add("--longest", type=int, default=32, help="length to learn from")
    add("--tested", type=int, nargs="+", default=[8, 16, 32, 48, 64, 128], help="lengths")
    add("--train", type=int, default=50_000, help="pairs")
    add("--test", type=int, default=100, help="pairs of each length, and of the validation set")
    add("--seed", type=int, default=1)
    options = parser.parse_args()
    write(options.folder, RULES[options.task], options)


if __name__ == "__main__":
    main()
