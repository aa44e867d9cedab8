"""Packed Transformers with kernels compiled by numba (extra ``fast``): as fast as a CPU allows.

Imported only where it is asked for, as numba is slow to load.
"""

from dragoman.decoding.fused.compiling import check_numba, kept_in, tell_of_compiling

check_numba()

from dragoman.decoding.fused.choosing import log_softmax  # noqa: E402  # after the check
from dragoman.decoding.fused.packing import CannotPack, PackedModel  # noqa: E402  # after the check
from dragoman.decoding.fused.products import Kind  # noqa: E402  # after the check
from dragoman.decoding.fused.reading import FusedReader  # noqa: E402  # after the check
from dragoman.decoding.fused.room import Room  # noqa: E402  # after the check
from dragoman.decoding.fused.searching import fused_search, is_plain  # noqa: E402  # after the check
from dragoman.decoding.fused.session import FusedModel, FusedSession  # noqa: E402  # after the check

KEPT_IN = kept_in(log_softmax)

__all__ = [
    "KEPT_IN",
    "CannotPack",
    "FusedModel",
    "FusedReader",
    "FusedSession",
    "Kind",
    "PackedModel",
    "Room",
    "check_numba",
    "fused_search",
    "is_plain",
    "tell_of_compiling",
]
