"""Convolutional nets for images with or without channels: ResNet and VGG."""

from __future__ import annotations

from collections.abc import Sequence

import torch
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
        raise ParameterError(f"this net takes images (H, W) or (C, H, W), but a row has shape {tuple(input_shape)}")
    return int(input_shape[0]), int(input_shape[1]), int(input_shape[2])


# ----------------------------------------------------------------
# ResNet-18 and ResNet-50, with the narrow stem that small images need: Tanno's net for CIFAR-10 is the latter.
# He et al. 2016, doi:10.1109/CVPR.2016.90. The last batch norm of each block begins at zero, so that a block begins
# as the identity.

# Up to this side the stem is one 3 × 3 convolution; beyond, ImageNet's 7 × 7 with stride and pooling.
SMALL = 64


class ResidualBlock(nn.Module):
    """Convolutions of these (kernel, channels), a stride in the first 3 × 3, and the way around them."""

    def __init__(self, depth: int, layers: Sequence[tuple[int, int]], stride: int) -> None:
        super().__init__()
        out = layers[-1][1]
        path: list[nn.Module] = []
        width, left = depth, stride
        for kernel, size in layers:
            step, left = (left, 1) if kernel == 3 else (1, left)
            path += [nn.Conv2d(width, size, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(size), nn.ReLU()]
            width = size
        self.path = nn.Sequential(*path[:-1])
        last = self.path[-1]
        assert isinstance(last, nn.BatchNorm2d)
        nn.init.zeros_(last.weight)
        same = stride == 1 and depth == out
        self.around = nn.Identity() if same else nn.Sequential(
            nn.Conv2d(depth, out, 1, stride, bias=False), nn.BatchNorm2d(out)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """ReLU(path + around)."""
        return torch.relu(self.path(x) + self.around(x))


def resnet18(input_shape: Sequence[int], n_classes: int, *, width: int = 64) -> nn.Module:
    """Two 3 × 3 convolutions a block, 2-2-2-2 blocks."""
    return _resnet(input_shape, n_classes, width, (2, 2, 2, 2), bottleneck=False)


def resnet50(input_shape: Sequence[int], n_classes: int, *, width: int = 64) -> nn.Module:
    """1 × 1, 3 × 3, 1 × 1 convolutions a block, 3-4-6-3 blocks."""
    return _resnet(input_shape, n_classes, width, (3, 4, 6, 3), bottleneck=True)


def _resnet(
    input_shape: Sequence[int], n_classes: int, width: int, stages: Sequence[int], *, bottleneck: bool
) -> nn.Module:
    depth, height, across = image_shape(input_shape)
    layers: list[nn.Module] = [AsImages()]
    if min(height, across) <= SMALL:
        layers += [nn.Conv2d(depth, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    else:
        layers += [nn.Conv2d(depth, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                   nn.MaxPool2d(3, 2, 1)]  # fmt: skip
    depth = width
    for stage, count in enumerate(stages):
        inner = width * 2**stage
        shape = [(1, inner), (3, inner), (1, 4 * inner)] if bottleneck else [(3, inner), (3, inner)]
        for number in range(count):
            layers.append(ResidualBlock(depth, shape, stride=2 if stage and not number else 1))
            depth = shape[-1][1]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(depth, n_classes)]
    return nn.Sequential(*layers)


# ----------------------------------------------------------------
# VGG-16 with batch norm, for small images: Max-MIG's net for CIFAR-10.
# Simonyan & Zisserman 2015, arXiv:1409.1556. The three wide layers at the end, made for ImageNet, are one linear
# layer on the mean over places.

# Convolutions of each stage, and their channels in units of `width`.
STAGES = ((2, 1), (2, 2), (3, 4), (3, 8), (3, 8))


def vgg16(input_shape: Sequence[int], n_classes: int, *, width: int = 64, dropout: float = 0.5) -> nn.Module:
    """Thirteen padded 3 × 3 convolutions in five stages, pooled after each while two rows are left."""
    depth, height, across = image_shape(input_shape)
    side = min(height, across)
    layers: list[nn.Module] = [AsImages()]
    for count, times in STAGES:
        for _ in range(count):
            size = width * times
            layers += [nn.Conv2d(depth, size, 3, padding=1, bias=False), nn.BatchNorm2d(size), nn.ReLU()]
            depth = size
        if side >= 2:
            layers.append(nn.MaxPool2d(2))
            side //= 2
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(depth, n_classes)]
    return nn.Sequential(*layers)
