"""One process or many: the loop sees the same few calls, and losses that need the whole batch can gather it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


class Solo:
    """A single process: what training needs of Lightning Fabric, without it."""

    world, rank = 1, 0

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    def setup(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> tuple[nn.Module, list[Optimizer]]:
        """The model on its device."""
        return model.to(self.device), list(optimizers)

    def backward(self, loss: Tensor) -> None:
        """Gradients of the loss."""
        loss.backward()  # type: ignore[no-untyped-call]

    def autocast(self) -> AbstractContextManager[Any]:
        """Where evaluation runs; plain precision here."""
        return nullcontext()

    def total(self, values: Tensor) -> Tensor:
        """Sum over processes."""
        return values


class Shared:
    """The same through a Lightning Fabric that the user has launched: DDP, mixed precision, other devices."""

    def __init__(self, fabric: Any) -> None:
        self.fabric = fabric
        self.world, self.rank = int(fabric.world_size), int(fabric.global_rank)
        self.device = fabric.device

    def setup(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> tuple[nn.Module, list[Optimizer]]:
        """The model and its optimizers as Fabric wraps them."""
        wrapped = self.fabric.setup(model, *optimizers)
        return wrapped[0], list(wrapped[1:])

    def backward(self, loss: Tensor) -> None:
        """Gradients of the sum over processes: DDP takes their mean, so the loss is scaled up first."""
        self.fabric.backward(loss * self.world)

    def autocast(self) -> AbstractContextManager[Any]:
        """Fabric's precision for what runs outside the wrapped forward."""
        context: AbstractContextManager[Any] = self.fabric.autocast()
        return context

    def total(self, values: Tensor) -> Tensor:
        """Sum over processes."""
        found: Tensor = self.fabric.all_reduce(values, reduce_op="sum")
        return found


def add_up(values: Tensor) -> Tensor:
    """Sum of values over the processes that share the batch, without gradients."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        values = values.clone()
        torch.distributed.all_reduce(values)
    return values


def gather(values: Tensor) -> Tensor:
    """Rows of values[B, ...] of all processes that share the batch, with gradients; just `values` in one process.

    A term computed from it is the whole batch's, the same in every process: multiply it by `batch.share`.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return values
    world = torch.distributed.get_world_size()
    if world == 1:
        return values
    import torch.distributed.nn.functional as collective

    size = torch.tensor([len(values)], device=values.device)
    sizes = [torch.zeros_like(size) for _ in range(world)]
    torch.distributed.all_gather(sizes, size)
    most = int(max(int(s) for s in sizes))
    # Parts differ by a task at most; gathering needs them equally long.
    padded = torch.cat([values, values.new_zeros(most - len(values), *values.shape[1:])])
    parts = collective.all_gather(padded)  # type: ignore[no-untyped-call]
    return torch.cat([part[: int(n)] for part, n in zip(parts, sizes, strict=True)])
