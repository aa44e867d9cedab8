"""Checkpoints of other trainers, read where they are plain tensors; nothing in them is run."""

from dragoman.interop.checkpoints.asked import Asked
from dragoman.interop.checkpoints.reading import Kind, read_checkpoint

__all__ = ["Asked", "Kind", "read_checkpoint"]
