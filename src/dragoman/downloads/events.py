"""What happens while a corpus is fetched, as values; whoever asked decides how to show them."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetching:
    """A request is about to be made."""

    file: str
    url: str
    have_bytes: int  # already on disk from an earlier try
    total_bytes: int | None  # None: nobody published it


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """More bytes have come."""

    file: str
    have_bytes: int
    total_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A try failed; what comes next is said in ``then``."""

    file: str
    url: str
    problem: str
    then: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A file has its name: its digest is the published one."""

    file: str
    digest: str  # "sha256 7a7deccf..."
    path: Path
    url: str  # empty when it was there already


@dataclass(frozen=True, slots=True, kw_only=True)
class Joining:
    """A set is about to be unpacked and written."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A set is written, line by line."""

    name: str
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """One side of one set."""

    set_name: str
    path: Path
    pairs: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The corpus is complete."""

    folder: Path
    files: tuple[TextFile, ...]
    was_there: bool = False  # nothing had to be done
    archives: tuple[Path, ...] = field(default=())  # may be deleted now


Event = Fetching | Received | Trouble | Verified | Joining | Joined | Ready
