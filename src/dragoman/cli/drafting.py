"""A draft on the command line: what it is, and what is said of it afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import dragoman
from dragoman.cli.lines import say
from dragoman.errors import ConfigError


@dataclass(frozen=True)
class Drafting:
    """A draft, if one is asked for.

    Args:
        draft: a ``dragoman.Draft`` or None; Any, as naming the type loads torch.
    """

    draft: Any

    @classmethod
    def load(
        cls, folder: str | None, length: int, beam: int, loading: Mapping[str, Any]
    ) -> "Drafting":
        """Read the draft that ``--draft`` names, as the model is loaded.

        Raises:
            ConfigError: the beam is wider than 1, or the engine verifies no drafts.
        """
        if folder is None:
            return cls(None)
        if beam > 1:
            problem = f"verifies one hypothesis, and --beam is {beam}"
            raise ConfigError("--draft", problem, "give --beam 1, or leave the draft out")
        if loading["engine"] == "ctranslate2":
            problem = "is verified by the engines torch and fused, not by ctranslate2"
            raise ConfigError("--draft", problem, "set --engine, or leave the draft out")
        return cls(dragoman.Draft.load(folder, length=length, **loading))

    @property
    def options(self) -> dict[str, Any]:
        """What ``Translator.translate`` is told."""
        return {} if self.draft is None else {"draft": self.draft}

    def sum_up(self) -> None:
        """Say how much of what was proposed stayed."""
        if self.draft is None:
            return
        counts = self.draft.counts
        say(
            f"drafted {counts.drafted:,} pieces, accepted {counts.accepted:,} "
            f"({counts.acceptance:.0%}), {counts.pieces_per_pass:.2f} pieces a pass"
        )
