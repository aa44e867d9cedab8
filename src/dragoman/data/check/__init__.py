"""Finding faults of parallel text before anything learns from them; changes nothing it reads."""

from dragoman.data.check.characters import CharacterTable
from dragoman.data.check.checker import check, check_sets
from dragoman.data.check.chunk import Chunk
from dragoman.data.check.copies import near_form
from dragoman.data.check.finding import KINDS, Finding, Kind, Sample, Side
from dragoman.data.check.fixing import Fixed, fix
from dragoman.data.check.inspector import Inspector
from dragoman.data.check.languages import Languages, load_identifier
from dragoman.data.check.numbers import lost_addresses, lost_numbers
from dragoman.data.check.overlap import known_texts
from dragoman.data.check.profile import Profile, chunks_of, log_ratios
from dragoman.data.check.remedies import mend_pair
from dragoman.data.check.report import Report, SetReport, SideSizes

__all__ = [
    "KINDS",
    "CharacterTable",
    "Chunk",
    "Finding",
    "Fixed",
    "Inspector",
    "Kind",
    "Languages",
    "Profile",
    "Report",
    "Sample",
    "SetReport",
    "Side",
    "SideSizes",
    "check",
    "check_sets",
    "chunks_of",
    "fix",
    "known_texts",
    "load_identifier",
    "log_ratios",
    "lost_addresses",
    "lost_numbers",
    "mend_pair",
    "near_form",
]
