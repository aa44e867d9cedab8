"""Bring public data sets into the form that the recipes here read.

    python recipes/prepare.py inflection DIR data/inflection
    python recipes/prepare.py shakespeare input.txt.gz data/shakespeare
    python recipes/prepare.py polarity DIR data/polarity
    python recipes/prepare.py digits data/digits

Each says where its data comes from. Nothing is downloaded; ``digits`` needs scikit-learn.
"""

import argparse
import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np


def inflection(source: Path, target: Path) -> None:
    """CoNLL-SIGMORPHON 2018 task 1: lemma, form, features to "features lemma", form.

    DIR holds LANGUAGE-train-high.tsv.gz, LANGUAGE-dev.tsv.gz and LANGUAGE-test.tsv.gz.
    """
    files = sorted(source.glob("*.tsv.gz"))
    if not files:
        raise SystemExit(f"{source}: there is no LANGUAGE-PART.tsv.gz")
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
            rows = [line.rstrip("\n").split("\t") for line in lines]
        pairs = (f"{features} {lemma}\t{form}" for lemma, form, features in rows)
        _write(target / file.name.removesuffix(".gz"), pairs)


def shakespeare(source: Path, target: Path) -> None:
    """Tiny Shakespeare: the first nine tenths of the characters to learn from, the rest to test."""
    with gzip.open(source, "rt", encoding="utf-8", newline="\n") as file:
        text = file.read()
    cut = len(text) * 9 // 10
    target.mkdir(parents=True, exist_ok=True)
    (target / "train.txt").write_text(text[:cut], encoding="utf-8", newline="\n")
    (target / "validation.txt").write_text(text[cut:], encoding="utf-8", newline="\n")


def polarity(source: Path, target: Path) -> None:
    """Sentence polarity (Pang and Lee 2005): text, label; parts by a hash of the sentence.

    DIR holds rt-polarity.pos.gz and rt-polarity.neg.gz. Of every ten sentences one is for
    validation and one for testing.
    """
    parts: dict[str, list[tuple[str, str]]] = {"train": [], "validation": [], "test": []}
    for label in ("pos", "neg"):
        with gzip.open(source / f"rt-polarity.{label}.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                text = " ".join(line.split())
                digest = hashlib.sha256(text.encode()).hexdigest()
                part = {0: "validation", 1: "test"}.get(int(digest, 16) % 10, "train")
                parts[part].append((digest, f"{text}\t{label}"))
    for name, rows in parts.items():
        _write(target / f"{name}.tsv", (row for _, row in sorted(rows)))


def digits(target: Path) -> None:
    """Handwritten digits of 8 x 8 pixels, of scikit-learn; one in five is for testing."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(1).permutation(len(found.target))
    cut = len(order) // 5
    target.mkdir(parents=True, exist_ok=True)
    for name, part in (("test", order[:cut]), ("train", order[cut:])):
        images = found.images[part].astype(np.float32) / 16  # scikit-learn counts from 0 to 16
        np.savez_compressed(target / f"{name}.npz", images=images, labels=found.target[part])


def _write(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row}\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")
    print(f"{path}: {text.count(chr(10)):,} lines")


def main() -> None:
    """Run one of the above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for prepare in (inflection, shakespeare, polarity):
        command = commands.add_parser(prepare.__name__, help=prepare.__doc__.splitlines()[0])
        command.add_argument("source", type=Path)
        command.add_argument("target", type=Path)
        command.set_defaults(run=lambda a, prepare=prepare: prepare(a.source, a.target))
    command = commands.add_parser("digits", help=digits.__doc__.splitlines()[0])
    command.add_argument("target", type=Path)
    command.set_defaults(run=lambda a: digits(a.target))
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
