"""Properties of a net, by running it: whether it takes whole numbers, and which linear layer comes last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import ParameterError

_WHOLE = (torch.int32, torch.int64)  # what an embedding looks up


def as_floats(x: Tensor) -> Tensor:
    """Bytes of images and the like as floats; 32 and 64 bit integers, which may be token ids, stay as they are."""
    return x if x.dtype in _WHOLE else x.float()


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode and no gradients; the mode of every part is restored afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def takes_whole_numbers(net: nn.Module, x: Tensor) -> bool:
    """Whether the net accepts whole numbers x[B, ...], as one that begins with an embedding does."""
    with evaluating(net):
        try:
            return bool(net(x[:1]).is_floating_point())
        except RuntimeError:  # types do not match; a token id that is too large is an IndexError
            return False


def as_precision_of(net: nn.Module, x: Tensor) -> Tensor:
    """Numbers x in the precision of the net's parameters."""
    return x.to(next((p.dtype for p in net.parameters() if p.is_floating_point()), torch.float32))


def linear_layers(net: nn.Module) -> list[nn.Linear]:
    """The net's linear layers in the order of declaration; an error if there are none."""
    layers = [part for part in net.modules() if isinstance(part, nn.Linear)]
    if not layers:
        raise ParameterError("this method needs a net with a linear last layer, whose input it uses as features")
    return layers


def last_linear(net: nn.Module, x: Tensor | None = None) -> nn.Linear:
    """The net's last linear layer: the last one that runs on x[B, ...], or without x the last one declared."""
    layers = linear_layers(net)
    if x is None:
        return layers[-1]
    ran: list[nn.Linear] = []

    def record(layer: Any, _: Any) -> None:
        ran.append(layer)

    whole_numbers = not x.is_floating_point() and takes_whole_numbers(net, x)
    hooks = [layer.register_forward_pre_hook(record) for layer in layers]
    try:
        with evaluating(net):
            net(x if whole_numbers else as_precision_of(net, x))
    finally:
        for hook in hooks:
            hook.remove()
    return ran[-1] if ran else layers[-1]
