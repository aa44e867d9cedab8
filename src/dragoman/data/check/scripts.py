"""Texts in a script that is foreign to their side; what is at home the corpus says itself."""

from collections.abc import Sequence

import numpy as np

from dragoman.data.check.chunk import Chunk
from dragoman.data.check.finding import Collector, Side
from dragoman.data.check.profile import Profile

_FEWEST = 4  # letters; below that a text is a name or a sign
_MOST = 0.5  # share of foreign letters that a text may have


def find_foreign_scripts(
    chunk: Chunk, profile: Profile, names: Sequence[str], found: Collector
) -> None:
    """Note texts most of whose letters are of scripts that the side hardly uses.

    Args:
        chunk: pairs.
        profile: tells which scripts are at home.
        names: of the scripts, by number.
        found: gets the faults.
    """
    faults: dict[int, tuple[Side, str]] = {}
    for side, view in chunk.sides():
        usual = profile.source if side == "source" else profile.target
        if not usual.scripts:
            continue
        letters = view.letters.sum(1)
        home = [script for script in usual.scripts if script < view.letters.shape[1]]
        foreign = letters - view.letters[:, home].sum(1)
        odd = (foreign > _MOST * letters) & (letters >= _FEWEST)
        for at in np.flatnonzero(odd).tolist():
            rest = view.letters[at].copy()
            rest[home] = 0
            script = names[int(rest.argmax())].title()
            detail = f"{foreign[at]} of {letters[at]} letters are foreign, most of them {script}"
            faults.setdefault(at, (side, detail))
    chunk.note("wrong-script", faults, found)
