"""Nets by name, small enough to read: linear, mlp, cnn; vgg16 and resnet live in modules of their own.

Inputs are x[B, D], grey images x[B, H, W] or images x[B, C, H, W]; outputs are logits[B, K]. Any other Module serves as
well: methods ask only for logits, and some for the input of the last linear layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ...core.errors import ParameterError
from .images import AsImages, image_shape, resnet18, resnet50, vgg16

Shape = Sequence[int]


def make_net(
    name: str,
    input_shape: Shape,
    n_classes: int,
    *,
    hidden: Sequence[int] | None = None,
    dropout: float | None = None,
    batch_norm: bool | None = None,
) -> nn.Module:
    """The net of that name for rows of this shape (without the batch); None stands for the default of the net.

    `hidden` is for mlp and cnn, `dropout` for mlp, cnn and vgg16, `batch_norm` for mlp.

    >>> make_net("mlp", (20,), 3)(torch.zeros(2, 20)).shape
    torch.Size([2, 3])
    """
    nets: dict[str, tuple[Callable[..., nn.Module], tuple[str, ...]]] = {
        "linear": (linear, ()),
        "mlp": (mlp, ("hidden", "dropout", "batch_norm")),
        "cnn": (cnn, ("hidden", "dropout")),
        "vgg16": (vgg16, ("dropout",)),
        "resnet18": (resnet18, ()),
        "resnet50": (resnet50, ()),
    }
    if name not in nets:
        raise ParameterError(f"there is no net {name!r}; choose one of {', '.join(nets)}, or give a torch Module")
    make, takes = nets[name]
    options: dict[str, Any] = {"hidden": hidden, "dropout": dropout, "batch_norm": batch_norm}
    set_options = {key: value for key, value in options.items() if value is not None}
    for key in set_options:
        if key not in takes:
            raise ParameterError(f"the net {name!r} has no {key!r}; it has {', '.join(takes) or 'no parameters'}")
    return make(input_shape, n_classes, **set_options)


def linear(input_shape: Shape, n_classes: int) -> nn.Module:
    """Logistic regression on the flattened input."""
    return nn.Sequential(nn.Flatten(), nn.Linear(_size(input_shape), n_classes))


def mlp(
    input_shape: Shape,
    n_classes: int,
    *,
    hidden: Sequence[int] = (128,),
    dropout: float = 0.5,
    batch_norm: bool = False,
) -> nn.Module:
    """Layers of ReLUs with dropout on the flattened input; `batch_norm` before every linear layer."""
    layers: list[nn.Module] = [nn.Flatten()]
    width = _size(input_shape)
    for size in hidden:
        layers += [nn.BatchNorm1d(width)] if batch_norm else []
        layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(dropout)]
        width = size
    layers += [nn.BatchNorm1d(width)] if batch_norm else []
    return nn.Sequential(*layers, nn.Linear(width, n_classes))


def cnn(
    input_shape: Shape,
    n_classes: int,
    *,
    channels: Sequence[int] = (32, 32, 64, 64),
    pools: int = 4,
    hidden: Sequence[int] = (128,),
    dropout: float = 0.5,
    average: bool = False,
) -> nn.Module:
    """The four-layer net of Max-MIG, deepBP and, as `pools=2, hidden=(), average=True`, of Tanno et al.

    3 × 3 convolutions, batch norm after the first, 2 × 2 max-pooling after the first `pools` of them, then `hidden`
    ReLU layers with dropout. Without padding, as published, where the image is large enough; small images are padded
    and pooled only while there is something to pool. `average` takes the mean over places instead of all of them.
    """
    depth, height, width = image_shape(input_shape)
    padding = 0 if _left(min(height, width), len(channels), pools) >= 1 else 1
    layers: list[nn.Module] = [AsImages()]
    for number, size in enumerate(channels):
        layers += [nn.Conv2d(depth, size, 3, padding=padding), nn.ReLU()]
        height, width, depth = height - 2 + 2 * padding, width - 2 + 2 * padding, size
        if number < pools and min(height, width) >= 2:
            layers.append(nn.MaxPool2d(2))
            height, width = height // 2, width // 2
        layers += [nn.BatchNorm2d(size)] if number == 0 else []
    layers += [nn.AdaptiveAvgPool2d(1)] if average else []
    inner = (depth if average else depth * height * width,)
    return nn.Sequential(*layers, mlp(inner, n_classes, hidden=hidden, dropout=dropout))


class Frozen(nn.Module):
    """A backbone with fixed weights, and a head that is trained on its features.

    The backbone runs in evaluation mode without gradients; features of more than two axes are flattened.
    """

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head
        self.backbone.requires_grad_(False)
        self.backbone.eval()

    def train(self, mode: bool = True) -> Frozen:
        """Training mode for the head only: the backbone's batch norms must not drift."""
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the head."""
        with torch.no_grad():
            features = self.backbone(x)
        logits: Tensor = self.head(features.flatten(1))
        return logits


def _size(input_shape: Shape) -> int:
    size = 1
    for n in input_shape:
        size *= int(n)
    return size


def _left(side: int, layers: int, pools: int) -> int:
    """The length of a side after unpadded convolutions and poolings."""
    for number in range(layers):
        side -= 2
        side = side // 2 if number < pools else side
        if side < 1:
            return 0
    return side
