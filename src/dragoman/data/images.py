"""Images with a class each, from one NumPy archive.

Shapes: N images, B images of a batch, C numbers per pixel.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dragoman.configfile import record, similar_file
from dragoman.data.batching import Batches
from dragoman.data.labelled import NONE
from dragoman.data.lines import is_blank
from dragoman.data.planning import Integers, Shapes
from dragoman.errors import DataError


@record
class ImageFile:
    """A ``.npz`` file with ``images`` (N, height, width[, channels]) and ``labels`` (N,).

    Args:
        images: integers count from 0 to the type's largest value, floats from 0 to 1.
    """

    kind: Literal["images"] = "images"
    images: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageReport:
    """What a file of images held."""

    images: NDArray[np.float32]  # (N, height, width, C), from 0 to 1
    labels: tuple[str, ...]
    sha256: str
    name: str  # of the file


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageBatch:
    """Images and what they show."""

    examples: Integers  # which images, (B,)
    inputs: Tensor  # float32, (B, height, width, C)
    classes: Tensor  # int64, (B,); -1 is none
    target_tokens: int  # images with a class

    def rows(self, index: Integers) -> "ImageBatch":
        """Choose images, in the order of ``index``."""
        classes = self.classes[torch.as_tensor(index)]
        return ImageBatch(
            examples=self.examples[index],
            inputs=self.inputs[torch.as_tensor(index)],
            classes=classes,
            target_tokens=int((classes != NONE).sum()),
        )

    def unasked(self) -> "ImageBatch":
        """Give the same images without classes."""
        return replace(self, classes=torch.full_like(self.classes, NONE), target_tokens=0)


def read_images(corpus: ImageFile) -> ImageReport:
    """Read all images.

    Raises:
        DataError: the file is missing or damaged, an array is missing or has another shape, or a
            label is blank.
    """
    path = corpus.images
    images, labels = _read_arrays(path, ("images", "labels"))
    if images.ndim not in (3, 4) or labels.shape != images.shape[:1] or not len(images):
        problem = f"images {images.shape} and labels {labels.shape} do not fit"
        raise DataError(path, problem, "images are (N, height, width, channels), labels (N,)")
    labels = tuple(str(label) for label in labels.tolist())
    blank = next((number for number, label in enumerate(labels) if is_blank(label)), None)
    if blank is not None:
        raise DataError(path, f"labels[{blank}] is blank", "give every image a label")
    return ImageReport(
        images=_scaled_in(path, images),
        labels=labels,
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        name=str(path),
    )


def read_pixels(path: Path) -> NDArray[np.float32]:
    """Read images that need no labels, (N, height, width, C); see ``ImageFile``.

    Raises:
        DataError: the file is missing or damaged, or the array is missing or has another shape.
    """
    (images,) = _read_arrays(path, ("images",))
    return _scaled_in(path, images)


def scale_images(images: NDArray[Any]) -> NDArray[np.float32]:
    """Bring images to what a model reads: (N, height, width[, C]) to (N, height, width, C).

    Args:
        images: integers count from 0 to the type's largest value, floats from 0 to 1. Any: either.

    Raises:
        ValueError: the array has another shape, holds something that is no number, or pixels
            outside 0 to 1.
    """
    if images.ndim not in (3, 4):
        raise ValueError(f"images {images.shape} are not (N, height, width, channels)")
    if images.dtype.kind not in "biuf":
        raise ValueError(f"images of {images.dtype} are no numbers")
    images = images[..., None] if images.ndim == 3 else images
    if images.dtype.kind in "iu":
        images = images / np.iinfo(images.dtype).max
    if not np.isfinite(images).all():
        raise ValueError("images hold NaN or infinity")
    if images.size and (images.min() < 0 or images.max() > 1):
        least, most = float(images.min()), float(images.max())
        raise ValueError(f"pixels run from {least:g} to {most:g}, and count from 0 to 1 here")
    return images.astype(np.float32)


def _scaled_in(path: Path, images: NDArray[Any]) -> NDArray[np.float32]:
    try:
        return scale_images(images)
    except ValueError as error:
        hint = "write pixels as uint8, or divide them by their largest value"
        raise DataError(path, str(error), hint) from None


def _read_arrays(path: Path, names: Sequence[str]) -> list[NDArray[Any]]:
    """Read arrays of an archive. Any: of whatever numbers they hold."""
    try:
        # NumPy leaves a damaged file open that it opened itself.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return [np.asarray(archive[name]) for name in names]
    except FileNotFoundError:
        raise DataError(path, "no such file", similar_file(path)) from None
    except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
        problem = f"is no archive of {' and '.join(names)} ({error})"
        hint = f"write it with numpy.savez({', '.join(f'{name}=...' for name in names)})"
        raise DataError(path, problem, hint) from None


class ImagePlan:
    """Which images share a batch: all have one size, so any may.

    Args:
        count: images N.
        rows: images B in a batch.
    """

    def __init__(self, count: int, *, rows: int) -> None:
        self._count, self._rows = count, rows

    def __len__(self) -> int:
        return -(-self._count // self._rows)

    def deal(self, rng: np.random.Generator | None = None) -> list[Integers]:
        """Give each batch its images; every image is in exactly one."""
        order = np.arange(self._count) if rng is None else rng.permutation(self._count)
        return np.array_split(order, len(self))

    def shapes(self) -> Shapes:
        """Give the shape of each batch, the same in every epoch; an image counts 1."""
        rows = np.array([part.size for part in self.deal()])
        return Shapes(rows, np.ones_like(rows), np.zeros_like(rows))

    def heaviest(self, number: int) -> Integers:
        """Choose as many images as batch ``number`` of ``shapes`` has, (B,)."""
        return np.arange(int(self.shapes().rows[number]))


def image_batches(
    images: NDArray[np.float32],
    classes: NDArray[np.int64],
    *,
    rows: int,
    seed: int,
    shuffle: bool = True,
) -> Batches[ImageBatch]:
    """Make batches of ``rows`` images (N, height, width, C) with their classes (N,)."""

    def collate(examples: Integers, rng: np.random.Generator) -> ImageBatch:
        return ImageBatch(
            examples=examples,
            inputs=torch.as_tensor(images[examples]),
            classes=torch.as_tensor(classes[examples]),
            target_tokens=len(examples),
        )

    return Batches(ImagePlan(len(images), rows=rows), collate, seed=seed, shuffle=shuffle)
