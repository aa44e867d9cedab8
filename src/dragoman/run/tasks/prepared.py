"""Where the ids of a run lie on disk, and what is known of the files they are from.

Everything in the folder is named by a digest of what it depends on: the bytes of the files, the
vocabularies, the filters, the limits. So whatever is there under the right name can be taken, by
the same run, by the next, or by another that shares the folder.
"""

import hashlib
import json
import shutil
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dragoman.atomic import only_one, remove_leftovers, write_text
from dragoman.configfile import write_record
from dragoman.data import (
    Corpus,
    Dataset,
    Pair,
    PairStore,
    ParallelCorpus,
    Preparation,
    Several,
    TrainingText,
    corpus_files,
    hash_file,
    open_pair_store,
    parts_of,
    prepare_pairs,
)
from dragoman.errors import CheckpointError, DataError
from dragoman.recipe import Recipe

Report = Callable[[str], None]
FORMAT = 1
_MUCH = 200_000  # pairs
_SETTLED = 2_000_000_000  # ns; the coarsest clock of a file system that is common


def much_is_prepared(run: Path) -> bool:
    """Say whether the folder of a run holds ids that took a while, whole or not."""
    for file in run.glob("data/pairs-*/*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if json.loads(file.read_bytes())["pairs"] >= _MUCH:
                return True
    return False


class PreparedFolder:
    """The ids that a run needs.

    Args:
        recipe: all choices.
        run: folder of the run; ids go into ``data`` in it, unless the recipe says where.
        report: is told in words how far preparing is.
    """

    def __init__(self, recipe: Recipe, run: Path, report: Report) -> None:
        self._recipe, self._report = recipe, report
        self._own = recipe.data.prepared is None
        self.path = run / "data" if recipe.data.prepared is None else recipe.data.prepared
        self._digests: dict[TrainingText, dict[str, str]] = {}
        self._used: set[str] = set()
        if self._own and self.path.is_dir():  # a killed process may have left something
            for folder in (self.path, *self.path.glob("pairs-*")):
                remove_leftovers(folder)

    def sha256(self, text: TrainingText) -> Mapping[str, str]:
        """Digest the files of a corpus, by path; a pipe has no digest, nor has a set on the hub.

        A file of the same size and time as before is not read again.

        Raises:
            DataError: a file cannot be read.
        """
        if text not in self._digests:
            self._digests[text] = self._hash(text)
        return self._digests[text]

    def store(self, text: TrainingText, preparation: Preparation) -> tuple[PairStore, Path, bool]:
        """Give a corpus as ids, where they lie, and whether they were there before.

        Raises:
            DataError: the text cannot be read, no pair is left, or another process prepares it.
            CheckpointError: the folder cannot be written.
            DragomanError: one of the processes has ended.
        """
        vocabularies = [_digest(tokenizer.to_json()) for tokenizer in preparation.tokenizers]
        rules = asdict(preparation.limits), preparation.tag
        key = self._key(text, vocabularies, rules, sorted(text.held_out))
        folder = self.path / f"pairs-{key[:16]}"
        self._used.add(folder.name)
        found = open_pair_store(folder, key)
        if found is not None:
            return found, folder, True

        def said(pairs: int) -> None:
            self._report(f"preparing {text.name}: {pairs:,} pairs so far")

        with self._writing(), only_one(folder) as ours:
            if not ours:
                hint = "wait until it is done, or choose another data.prepared"
                raise DataError(folder, "another process prepares the same text there", hint)
            seen = _stamps(text.corpus)
            made = prepare_pairs(text, folder, key, replace(preparation, said=said))
            if _stamps(text.corpus) != seen:
                (folder / "store.json").unlink(missing_ok=True)
                hint = "give the same command again when it is done"
                raise DataError(text.name, "was changed while it was read", hint)
            return made, folder, False

    def held_out(self, text: TrainingText) -> tuple[Pair, ...] | None:
        """Give the pairs that were held out of a corpus before; None when that is not known."""
        try:
            rows = json.loads((self.path / self._held_out_file(text)).read_bytes())
            return tuple(Pair(int(number), str(a), str(b)) for number, a, b in rows) or None
        except (OSError, ValueError, TypeError):
            return None

    def keep_held_out(self, text: TrainingText, pairs: tuple[Pair, ...]) -> None:
        """Remember which pairs are held out of a corpus, if it can be read again."""
        if pairs and text.again:
            self._note(self.path / self._held_out_file(text), json.dumps(pairs))

    def clean(self) -> None:
        """Remove ids that this run has no use for, if the folder is its own."""
        if self._own and self.path.is_dir():
            for folder in self.path.glob("pairs-*"):
                if folder.name not in self._used:
                    shutil.rmtree(folder, ignore_errors=True)

    def _held_out_file(self, text: TrainingText) -> str:
        draw = self._recipe.data.hold_out, self._recipe.training.seed
        return f"held-out-{self._key(text, draw)[:16]}.json"

    def _key(self, text: TrainingText, *more: object) -> str:
        data = self._recipe.data
        corpus = write_record(text.corpus)
        corpus.pop("weight", None)
        filters = write_record(data.filters) if data.filters is not None else None
        overlap = data.filters is not None and "overlap" in data.filters.drop
        compared = _others(self._recipe) if overlap else []
        # A pipe is never known to be the same twice.
        bytes_ = list(self.sha256(text).values()) if text.again else uuid.uuid4().hex
        told = [FORMAT, bytes_, corpus, filters, compared, *more]
        return _digest(json.dumps(told, default=str, sort_keys=True))

    def _hash(self, text: TrainingText) -> dict[str, str]:
        notes = self.path / "files.json"
        known = _known_files(notes)
        before = dict(known)
        found: dict[str, str] = {}
        for path in _files(text.corpus):
            name = str(path.absolute())  # others who share the folder may be elsewhere
            stat = path.stat()
            seen = [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
            entry = known.pop(name, [])
            found[str(path)] = entry[3] if entry[:3] == seen else _hash_file(path)
            # What was written just now may be written once more within the same tick of the clock.
            if max(seen[1:]) < time.time_ns() - _SETTLED:
                known[name] = [*seen, found[str(path)]]
        if known != before:
            self._note(notes, json.dumps(known))
        return found

    def _note(self, path: Path, text: str) -> None:
        """Write what saves time the next time, but need not be written."""
        with suppress(OSError):
            self.path.mkdir(parents=True, exist_ok=True)
            write_text(path, text)

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Say where there is no room, or no permission; what is kept so far stays."""
        try:
            yield
        except OSError as error:
            choose = "another --run" if self._own else "another data.prepared"
            raise CheckpointError(
                f"{self.path}: cannot be written: {error.strerror or error}; make room or choose "
                f"{choose}; the same command goes on from where it was"
            ) from None


def _files(corpus: Corpus) -> list[Path]:
    """List the files of a corpus that can be read twice, or of a data set that is a folder."""
    folder = Path(corpus.dataset) if isinstance(corpus, Dataset) else None
    files = sorted(folder.rglob("*")) if folder is not None else corpus_files(corpus)
    return [path for path in files if path.is_file()]


def _stamps(corpus: Corpus) -> list[tuple[int, ...]]:
    """Say how large the files of a corpus are, and when they were changed last."""
    stats = [path.stat() for path in _files(corpus)]
    return [(stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns) for stat in stats]


def _hash_file(path: Path) -> str:
    try:
        return hash_file(path)
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise DataError(path, problem, "see whether it may be read") from None


def _known_files(notes: Path) -> dict[str, list[Any]]:  # Any: numbers, and a text
    """Read what is known of files, by path: size, two times and digest."""
    try:
        return TypeAdapter(dict[str, list[Any]]).validate_json(notes.read_bytes())
    except (OSError, ValueError):
        return {}


def _others(recipe: Recipe) -> list[object]:
    """Say what the validation and test sets are: how they are read, and digests of their files."""
    parts = [
        part
        for corpus in (recipe.data.validation, recipe.data.test)
        if isinstance(corpus, ParallelCorpus | Several)
        for part in parts_of(corpus)
    ]
    return [(write_record(part), [*map(_hash_file, _files(part))]) for part in parts]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
