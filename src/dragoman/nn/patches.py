"""Images as sequences: cut into patches, each projected (Dosovitskiy et al. 2020, 2010.11929).

Shapes: B images, H height, W width, C channels, P edge of a patch, N = (H / P) (W / P) patches,
D model width. Channels come last.
"""

from torch import Tensor, nn


def patchify(image: Tensor, patch: int) -> Tensor:
    """Cut images into square patches and lay each out as one row (arXiv 2010.11929, section 3.1).

    Args:
        image: (..., H, W, C).
        patch: edge P in pixels.

    Returns:
        (..., N, P P C): patches from left to right, then downwards; inside each the pixels in the
        same order, the channels of a pixel side by side.

    Raises:
        ValueError: ``patch`` does not divide the height and the width.
    """
    *batch, height, width, channels = image.shape
    for side, pixels in (("height", height), ("width", width)):
        if patch < 1 or pixels % patch:
            raise ValueError(f"image: patch {patch} does not divide its {side} of {pixels} pixels")
    rows, columns = height // patch, width // patch
    cut = image.reshape(*batch, rows, patch, columns, patch, channels)
    return cut.transpose(-4, -3).reshape(*batch, rows * columns, patch * patch * channels)


class PatchEmbedding(nn.Module):
    """Turn images into vectors, one per patch: the same learned projection everywhere.

    Args:
        patch: edge P in pixels.
        channels: C; 3 for colours.
        d_model: width D.
    """

    def __init__(self, patch: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.patch, self.channels = patch, channels
        self.projection = nn.Linear(patch * patch * channels, d_model)

    def forward(self, image: Tensor) -> Tensor:
        """Embed images (B, H, W, C) to (B, N, D).

        Raises:
            ValueError: the patch does not divide the image, or the channels differ.
        """
        if image.size(-1) != self.channels:
            raise ValueError(
                f"image: has {image.size(-1)} channels (last axis), the projection {self.channels}"
            )
        return self.projection(patchify(image.to(self.projection.weight.dtype), self.patch))
