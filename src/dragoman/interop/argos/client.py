"""Argos Translate itself, on a package: text in, text out.

What that program (version 1.11) does around the model, whatever the package:

- every line of a text is translated by itself, without the white space around it;
- CTranslate2 searches with ``beam`` hypotheses, sums divided by length^0.2, 1 to 256 pieces, and
  nothing is banned; a source has at most 1,024 pieces;
- of what comes out for a line, a space at its beginning goes, and ``_`` becomes a space; empty
  lines at the beginning of a text go too;
- weights are rounded to 8 bits unless the environment variable ARGOS_COMPUTE_TYPE says otherwise.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.decoding import BeamSearch
from dragoman.errors import ModelError
from dragoman.interop.argos import running_argos
from dragoman.interop.argos.line_cutter import cut_line
from dragoman.interop.argos.parts import changed
from dragoman.tokenization import Tokenizer


def comparable_search(beam: int) -> BeamSearch:
    """Give the search of ours that is like the one of Argos Translate."""
    # An end symbol counts, and it never writes an end symbol alone.
    return BeamSearch(beam=beam, length_penalty="average", alpha=0.2, patience=1.0, min_length=2)


def as_argos(
    text: str, translate: Callable[[list[str]], Sequence[Sequence[int]]], tokenizer: Tokenizer
) -> str:
    """Do with a text what Argos Translate does with it, where a package cuts lines as ours do.

    Args:
        text: any, also of several lines.
        translate: from sentences to the ids of their translations, without the end symbol; by
            ``comparable_search`` to be the same.
        tokenizer: of the target side.
    """
    lines = [cut_line(line) for line in text.split("\n")]
    found = iter(translate([sentence for line in lines for sentence in line]))
    ids = [[number for _ in line for number in next(found)] for line in lines]
    return "\n".join(changed(tokenizer.decode(line)) for line in ids).lstrip("\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgosClient:
    """Argos Translate, run in a process of its own, with a data folder that is gone afterwards.

    Args:
        path: of the package.
        source_language: as the package says.
        target_language: as the package says.
        python: an interpreter that has ``argostranslate``.
    """

    path: Path
    source_language: str
    target_language: str
    python: str = sys.executable
    name: str = "argostranslate"

    def translate(
        self, texts: Sequence[str], *, beam: int = 4, compute_type: str = "float32"
    ) -> list[str]:
        """Install the package and translate texts, in order.

        Args:
            texts: each a line; text with line ends comes back with as many.
            beam: hypotheses kept; 1 is greedy.
            compute_type: as CTranslate2 calls them; ``auto`` is what Argos Translate uses itself.

        Raises:
            ModelError: ``argostranslate`` is not installed, or cannot use the package.
        """
        with tempfile.TemporaryDirectory() as home:
            settings = _settings(Path(home), beam, compute_type)
            languages = (self.source_language, self.target_language)
            script = str(Path(running_argos.__file__))
            arguments = [self.python, "-P", script, str(self.path.resolve()), *languages]
            done = subprocess.run(
                arguments,
                input=json.dumps(list(texts)),
                env=settings,
                capture_output=True,
                text=True,
                encoding="utf-8",
                check=False,
                cwd=home,
            )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [""])[-1]
            if last.startswith("ModuleNotFoundError") and "argostranslate" in last:
                raise ModelError(
                    f"{self.python}: has no Argos Translate; install it with: pip install "
                    "argostranslate"
                )
            raise ModelError(f"{self.path}: Argos Translate cannot use it: {last}")
        return [str(text) for text in json.loads(done.stdout.splitlines()[-1])]


def _settings(home: Path, beam: int, compute_type: str) -> dict[str, str]:
    """Make an environment with nothing of the user's own Argos Translate."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ARGOS_")}
    kept.pop("SNAP", None)
    folders = {f"XDG_{each}_HOME": str(home / each.lower()) for each in ("DATA", "CONFIG", "CACHE")}
    ours = {
        "ARGOS_PACKAGES_DIR": str(home / "packages"),
        "ARGOS_BEAM_SIZE": str(beam),
        "ARGOS_COMPUTE_TYPE": compute_type,
        "ARGOS_DEVICE_TYPE": "cpu",
        "ARGOS_INTRA_THREADS": "1",
    }
    return {**kept, **folders, **ours}
