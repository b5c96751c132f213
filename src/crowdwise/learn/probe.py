"""What a net wants and does, found out by running it: whole numbers or not, and which linear layer comes last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..core.errors import ParameterError

_WHOLE = (torch.int32, torch.int64)  # what an embedding looks up


def as_floats(x: Tensor) -> Tensor:
    """Bytes of images and the like as floats; whole numbers, which may be ids of tokens, stay for the net to judge."""
    return x if x.dtype in _WHOLE else x.float()


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode and no gradients; afterwards every part is in the mode that it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def takes_whole_numbers(net: nn.Module, x: Tensor) -> bool:
    """Whether the net can be given whole numbers x[B, ...] as they are, as a net that begins with an embedding can."""
    with evaluating(net):
        try:
            return bool(net(x[:1]).is_floating_point())
        except RuntimeError:  # of kinds that do not go together; an id that is too large is an IndexError
            return False


def as_wanted(net: nn.Module, x: Tensor) -> Tensor:
    """Numbers x in the precision of the net's own."""
    kind = next((p.dtype for p in net.parameters() if p.is_floating_point()), torch.float32)
    return x.to(kind)


def linear_layers(net: nn.Module) -> list[nn.Linear]:
    """The net's linear layers as they were declared; an error where there are none."""
    layers = [part for part in net.modules() if isinstance(part, nn.Linear)]
    if not layers:
        raise ParameterError("this method needs a net with a linear last layer, whose input it uses as features")
    return layers


def last_linear(net: nn.Module, x: Tensor | None = None) -> nn.Linear:
    """The net's last linear layer, whose input is what the net knows of x.

    With x[B, ...] the last one that is run, wherever it was declared; without x the last one declared.
    """
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
            net(x if whole_numbers else as_wanted(net, x))
    finally:
        for hook in hooks:
            hook.remove()
    return ran[-1] if ran else layers[-1]
