"""Checkpoints of other trainers, read where they are plain tensors; nothing in them is run."""

from dragoman.interop.checkpoints.asked import Asked
from dragoman.interop.checkpoints.loading import Kind
from dragoman.interop.checkpoints.reading import open_checkpoint, read_checkpoint
from dragoman.interop.checkpoints.side import CheckpointSide, widened

__all__ = [
    "Asked",
    "CheckpointSide",
    "Kind",
    "open_checkpoint",
    "read_checkpoint",
    "widened",
]
