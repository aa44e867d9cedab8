"""Public corpora, fetched when somebody asks by name; knows no recipe and no torch."""

from dragoman.downloads.catalogue import CATALOGUE, find_corpus
from dragoman.downloads.events import (
    Event,
    Fetching,
    Joined,
    Joining,
    Ready,
    Received,
    TextFile,
    Trouble,
    Verified,
)
from dragoman.downloads.fetching import Patience
from dragoman.downloads.getting import get_corpus
from dragoman.downloads.label import complete_files, data_table
from dragoman.downloads.record import Archive, Copy, Piece, PublicCorpus
from dragoman.downloads.unpacking import unpack

__all__ = [
    "CATALOGUE",
    "Archive",
    "Copy",
    "Event",
    "Fetching",
    "Joined",
    "Joining",
    "Patience",
    "Piece",
    "PublicCorpus",
    "Ready",
    "Received",
    "TextFile",
    "Trouble",
    "Verified",
    "complete_files",
    "data_table",
    "find_corpus",
    "get_corpus",
    "unpack",
]
