"""Bring public data sets into the form that the recipes here read.

    python recipes/prepare.py inflection DIR data/inflection
    python recipes/prepare.py shakespeare input.txt.gz data/shakespeare
    python recipes/prepare.py polarity DIR data/polarity
    python recipes/prepare.py digits data/digits
    python recipes/prepare.py captions DIR data/3am
    python recipes/prepare.py news DIR data/mafand-en-swa
    python recipes/prepare.py parsing DIR data/parsing

Each says where its data comes from. Nothing is downloaded; ``digits`` needs scikit-learn.
"""

import argparse
import gzip
import hashlib
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path

import numpy as np

from dragoman.trees import (
    KnownWords,
    Tree,
    draw_fragments,
    linearize,
    read_trees,
    word_class,
)
from dragoman.trees import clean as clean_tree


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
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit("digits: they come with scikit-learn: pip install scikit-learn") from None

    found = load_digits()
    order = np.random.default_rng(1).permutation(len(found.target))
    cut = len(order) // 5
    target.mkdir(parents=True, exist_ok=True)
    for name, part in (("test", order[:cut]), ("train", order[cut:])):
        images = found.images[part].astype(np.float32) / 16  # scikit-learn counts from 0 to 16
        np.savez_compressed(target / f"{name}.npz", images=images, labels=found.target[part])


def captions(source: Path, target: Path) -> None:
    """Image captions, Chinese and English (3AM, Ma et al. 2024), training pairs cleaned.

    DIR holds PART.zh.gz and PART.en.gz for the parts train, val and test.
    """
    _parallel(source, target, ("zh", "en"), validation="val")


def news(source: Path, target: Path) -> None:
    """News, English and Swahili (MAFAND, Adelani et al. 2022), training pairs cleaned.

    DIR holds PART.en.gz and PART.swa.gz for the parts train, dev and test.
    """
    _parallel(source, target, ("en", "swa"), validation="dev")


def parsing(source: Path, target: Path) -> None:
    """Penn Treebank trees (Marcus et al. 1993) to sentences and trees in tokens.

    DIR holds PART.trees.gz for the parts train, dev and test, bracketed. Traces and functions of
    labels go. Words that stand once in train become classes. To the training trees of up to 80
    words three parts of each tree are added, in which rare words are likelier classes.
    """
    parts = {
        part: [*_clean_trees(source / f"{part}.trees.gz")] for part in ("train", "dev", "test")
    }
    counts = Counter(word for tree in parts["train"] for word in tree.words)
    known = KnownWords([word for word, count in counts.items() if count > 1])
    rng = random.Random(1)
    rows: list[tuple[str, str]] = []
    for tree in parts.pop("train"):
        if len(tree.leaves) <= 80:
            rows.append((" ".join(known.read(tree.words)), linearize(tree, "numbers")))
        for part in draw_fragments(tree, 3, rng):
            words = known.read(part.words)
            for place, word in enumerate(part.words):
                if word in known and rng.random() < 1 / (1 + counts[word]):
                    words[place] = word_class(word)
            rows.append((" ".join(words), linearize(part, "numbers")))
    _write_pair(target / "train", rows)
    for name, trees in parts.items():
        _write_pair(
            target / name,
            [(" ".join(known.read(tree.words)), linearize(tree, "numbers")) for tree in trees],
        )


def _clean_trees(path: Path) -> Iterator[Tree]:
    """Read the trees of a part, without what parsers are not compared on."""
    for tree in read_trees(_side(path), str(path)):
        cleaned = clean_tree(tree)
        if cleaned is not None:
            yield cleaned


def _write_pair(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    _write(path.with_suffix(".words"), (words for words, _ in rows))
    _write(path.with_suffix(".tokens"), (tokens for _, tokens in rows))


def _parallel(source: Path, target: Path, languages: tuple[str, str], *, validation: str) -> None:
    """Write three parts out; only pairs to learn from are ever left out."""
    parts = {
        part: [_side(source / f"{part}.{language}.gz") for language in languages]
        for part in ("train", validation, "test")
    }
    for part, sides in parts.items():
        if len(sides[0]) != len(sides[1]):
            raise SystemExit(f"{source}: the sides of {part} differ in their number of lines")
    pairs = list(zip(*parts["train"], strict=True))
    held_out = [
        {_key(line) for part in (validation, "test") for line in parts[part][side]}
        for side in (0, 1)
    ]
    kept, dropped = clean(pairs, held_out)
    for reason, count in sorted(dropped.items()):
        print(f"train: {count:,} of {len(pairs):,} pairs left out: {reason}")
    parts["train"] = [[pair[side] for pair in kept] for side in (0, 1)]
    for part, sides in parts.items():
        for language, lines in zip(languages, sides, strict=True):
            _write(target / f"{part}.{language}", lines)


def clean(
    pairs: Iterable[tuple[str, str]], held_out: Sequence[Set[str]]
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Leave out pairs that would flatter a score or teach nothing; count them by reason.

    Lines count as equal when they differ in case, spaces or Unicode form (NFKC) alone. Byte order
    marks inside of lines go.

    Args:
        pairs: to learn from.
        held_out: what the other parts hold, as ``_key`` gives it, a set for each side.
    """
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    dropped: Counter[str] = Counter()
    for pair in pairs:
        keys = (_key(pair[0]), _key(pair[1]))
        if keys[0] in held_out[0] or keys[1] in held_out[1]:
            dropped["one side is in the other parts"] += 1
        elif keys[0] == keys[1]:
            dropped["both sides are the same"] += 1
        elif keys in kept:
            dropped["seen before"] += 1
        else:
            kept[keys] = (pair[0].replace("\ufeff", ""), pair[1].replace("\ufeff", ""))
    return list(kept.values()), dropped


def _key(line: str) -> str:
    """Fold what makes no other sentence."""
    plain = unicodedata.normalize("NFKC", line.replace("\ufeff", "")).casefold()
    return " ".join(plain.split())


def _side(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [line.rstrip("\n") for line in lines]


def _write(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{row}\n" for row in rows)
    path.write_text(text, encoding="utf-8", newline="\n")
    print(f"{path}: {text.count(chr(10)):,} lines")


def main() -> None:
    """Run one of the above."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for prepare in (inflection, shakespeare, polarity, captions, news, parsing):
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
