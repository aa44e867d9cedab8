import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from dragoman.nn import PatchEmbedding, patchify


def test_patches_run_rightwards_then_downwards_with_the_channels_of_a_pixel_together() -> None:
    # By hand: pixel (row, column) holds (10 row + column, minus that); 2 x 4 pixels, patches of 2.
    pixels = torch.tensor([[0, 1, 2, 3], [10, 11, 12, 13]])
    rows = patchify(torch.stack((pixels, -pixels), -1), 2)
    assert rows.tolist() == [[0, 0, 1, -1, 10, -10, 11, -11], [2, -2, 3, -3, 12, -12, 13, -13]]


@given(
    images=st.integers(1, 2),
    rows=st.integers(1, 3),
    columns=st.integers(1, 3),
    patch=st.integers(1, 3),
    channels=st.integers(1, 3),
)
def test_patches_are_those_that_unfold_finds(
    images: int, rows: int, columns: int, patch: int, channels: int
) -> None:
    # PyTorch's unfold is the independent side; it puts the channels first.
    image = torch.rand(images, rows * patch, columns * patch, channels)
    theirs = F.unfold(image.permute(0, 3, 1, 2), patch, stride=patch)  # (B, C P P, N)
    theirs = theirs.view(images, channels, patch * patch, -1).permute(0, 3, 2, 1).flatten(2)
    assert torch.equal(patchify(image, patch), theirs)
    assert torch.equal(patchify(image[0], patch), theirs[0])


@given(patch=st.integers(1, 3), channels=st.integers(1, 3), seed=st.integers(0, 2**31))
def test_embedding_is_a_convolution_that_moves_by_its_own_width(
    patch: int, channels: int, seed: int
) -> None:
    torch.manual_seed(seed)
    embedding = PatchEmbedding(patch, channels, 5).double()
    image = torch.randn(2, 2 * patch, 3 * patch, channels, dtype=torch.float64)
    kernel = embedding.projection.weight.view(5, patch, patch, channels).permute(0, 3, 1, 2)
    theirs = F.conv2d(image.permute(0, 3, 1, 2), kernel, embedding.projection.bias, stride=patch)
    torch.testing.assert_close(embedding(image), theirs.flatten(2).transpose(1, 2))


@pytest.mark.parametrize(
    ("height", "width", "message"),
    [
        (5, 4, "^image: patch 2 does not divide its height of 5 pixels$"),
        (4, 7, "^image: patch 2 does not divide its width of 7 pixels$"),
    ],
)
def test_patch_that_does_not_divide_the_image_is_an_error(
    height: int, width: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        patchify(torch.zeros(height, width, 3), 2)
    with pytest.raises(ValueError, match=message):
        PatchEmbedding(2, 3, 8)(torch.zeros(1, height, width, 3))


def test_image_with_its_channels_elsewhere_is_an_error() -> None:
    message = r"^image: has 4 channels \(last axis\), the projection 3$"
    with pytest.raises(ValueError, match=message):
        PatchEmbedding(2, 3, 8)(torch.zeros(1, 3, 4, 4))
