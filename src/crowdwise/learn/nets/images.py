"""Images with or without channels: one shape for the convolutional nets."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ...core.errors import ParameterError


class AsImages(nn.Module):
    """x[B, H, W] as x[B, 1, H, W]; images with channels pass."""

    def forward(self, x: Tensor) -> Tensor:
        """B, C, H, W."""
        return x[:, None] if x.dim() == 3 else x


def image_shape(input_shape: Sequence[int]) -> tuple[int, int, int]:
    """C, H, W of images with or without channels."""
    if len(input_shape) == 2:
        return 1, int(input_shape[0]), int(input_shape[1])
    if len(input_shape) != 3:
        raise ParameterError(f"this net wants images (H, W) or (C, H, W), but a row has shape {tuple(input_shape)}")
    return int(input_shape[0]), int(input_shape[1]), int(input_shape[2])
