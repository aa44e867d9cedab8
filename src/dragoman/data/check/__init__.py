"""Finding faults of parallel text before anything learns from them; changes nothing it reads."""

from dragoman.data.check.checker import check
from dragoman.data.check.finding import KINDS, Finding, Kind, Sample
from dragoman.data.check.fixing import Fixed, fix
from dragoman.data.check.report import Report, SetReport, SideSizes

__all__ = [
    "KINDS",
    "Finding",
    "Fixed",
    "Kind",
    "Report",
    "Sample",
    "SetReport",
    "SideSizes",
    "check",
    "fix",
]
