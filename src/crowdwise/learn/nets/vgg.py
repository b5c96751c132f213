"""VGG-16 with batch norm, for small images: Max-MIG's net for CIFAR-10.

Simonyan & Zisserman 2015, arXiv:1409.1556. The three wide layers at the end, made for ImageNet, are one linear layer on
the mean over places.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from .images import AsImages, image_shape

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
