from pathlib import Path

import numpy as np
import pytest

from dragoman.data import ImageFile, read_images, read_pixels, scale_images
from dragoman.errors import DataError


def write(path: Path, **arrays: object) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]  # anything on purpose
    return path


def test_integers_count_from_zero_to_the_largest_and_floats_stay(tmp_path: Path) -> None:
    pixels = np.array([[[0, 51], [255, 102]]], dtype=np.uint8)
    report = read_images(ImageFile(images=write(tmp_path / "i.npz", images=pixels, labels=[7])))
    assert report.images.shape == (1, 2, 2, 1)
    assert report.images.dtype == np.float32
    assert report.images.ravel() == pytest.approx([0, 0.2, 1, 0.4])
    assert report.labels == ("7",)
    assert scale_images(np.array([[[0.25]]])).ravel() == pytest.approx([0.25])
    assert scale_images(np.array([[[65535]]], dtype=np.uint16)).ravel() == pytest.approx([1])
    assert scale_images(np.array([[[True]]])).ravel() == pytest.approx([1])


def test_images_without_labels_can_be_read(tmp_path: Path) -> None:
    path = write(tmp_path / "i.npz", images=np.zeros((3, 2, 2, 3)))
    assert read_pixels(path).shape == (3, 2, 2, 3)
    with pytest.raises(DataError, match="is no archive of images and labels"):
        read_images(ImageFile(images=path))


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((2, 2, 2)), ["a"], "do not fit"),
        (np.zeros((2, 2)), ["a", "b"], "do not fit"),
        (np.zeros((0, 2, 2)), [], "do not fit"),
        (np.zeros((2, 2, 2)), ["a", " "], r"labels\[1\] is blank"),
        (np.full((1, 2, 2), np.nan), ["a"], "NaN"),
        (np.full((1, 2, 2), "x"), ["a"], "no numbers"),
        (np.full((1, 2, 2), 255.0), ["a"], "pixels run from 255 to 255, and count from 0 to 1"),
        (np.full((1, 2, 2), -1, dtype=np.int16), ["a"], "pixels run from -"),
    ],
)
def test_arrays_that_are_no_labelled_images_are_refused_with_the_file(
    images: np.ndarray, labels: list[str], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "i.npz", images=images, labels=np.array(labels))
    with pytest.raises(DataError, match=message) as caught:
        read_images(ImageFile(images=path))
    assert str(path) in str(caught.value)


def test_missing_damaged_and_other_files_are_refused(tmp_path: Path) -> None:
    good = write(tmp_path / "i.npz", images=np.zeros((2, 2, 2)), labels=np.array([0, 1]))
    with pytest.raises(DataError, match="no such file; did you mean"):
        read_images(ImageFile(images=tmp_path / "j.npz"))
    data = good.read_bytes()
    objects = np.array([{}, {}], dtype=object)  # needs pickle, which is never loaded
    write(tmp_path / "pickle.npz", images=np.zeros((2, 2, 2)), labels=objects)
    np.save(tmp_path / "one.npz.npy", np.zeros(3))
    (tmp_path / "one.npz.npy").rename(tmp_path / "one.npz")
    for name, content in (
        ("half.npz", data[: len(data) // 2]),
        ("text.npz", b"no"),
        ("e.npz", b""),
    ):
        (tmp_path / name).write_bytes(content)
    for name in ("half.npz", "text.npz", "e.npz", "pickle.npz", "one.npz"):
        with pytest.raises(DataError, match="is no archive of images and labels"):
            read_images(ImageFile(images=tmp_path / name))
