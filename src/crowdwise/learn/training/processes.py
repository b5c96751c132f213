"""One process or several behind one interface, and gathering for losses that need the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer


class SingleProcess:
    """Training in a single process, without Lightning Fabric."""

    world, rank = 1, 0

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)

    def setup(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> tuple[nn.Module, list[Optimizer]]:
        """The model on its device."""
        return model.to(self.device), list(optimizers)

    def backward(self, loss: Tensor) -> None:
        """Gradients of the loss."""
        loss.backward()  # type: ignore[no-untyped-call]

    def total(self, values: Tensor) -> Tensor:
        """Sum over processes."""
        return values

    def agree(self, module: nn.Module) -> None:
        """Copy the first process's buffers to all others."""

    def collect(self, values: Tensor) -> list[Tensor]:
        """The values of every process, in order of rank; all of the same shape."""
        return [values]


class FabricProcesses:
    """Training through a Lightning Fabric that the user has launched: DDP, mixed precision, other devices.

    DDP cannot reduce the sparse gradients of worker tables, and it would send the method's buffers, which may hold a
    row for every task, with every step: both are excluded from DDP and synchronised here.
    """

    def __init__(self, fabric: Any) -> None:
        self.fabric = fabric
        self.world, self.rank = int(fabric.world_size), int(fabric.global_rank)
        self.device = fabric.device
        self._sparse: list[nn.Parameter] = []

    def setup(self, model: nn.Module, optimizers: Sequence[Optimizer]) -> tuple[nn.Module, list[Optimizer]]:
        """The model and its optimizers as Fabric wraps them."""
        sparse = {f"{at}.weight": part.weight for at, part in model.named_modules() if getattr(part, "sparse", False)}
        buffers = [name for name, _ in model.named_buffers() if name.startswith("method.")]
        if self.world > 1:
            self._sparse = list(sparse.values())
            # DDP reads this attribute of the module.
            model._ddp_params_and_buffers_to_ignore = [*sparse, *buffers]  # type: ignore[assignment]
        wrapped = self.fabric.setup(model, *optimizers)
        if self.world > 1:
            for weight in self._sparse:
                torch.distributed.broadcast(weight.data, 0)
            self.agree(model)
        return (wrapped[0], list(wrapped[1:])) if optimizers else (wrapped, [])

    def backward(self, loss: Tensor) -> None:
        """Gradients of the sum over processes; DDP averages them, so the loss is scaled up first."""
        self.fabric.backward(loss * self.world)
        for weight in self._sparse:
            if weight.grad is not None:
                weight.grad = _sparse_mean(weight.grad, self.world)

    def total(self, values: Tensor) -> Tensor:
        """Sum over processes."""
        total: Tensor = self.fabric.all_reduce(values, reduce_op="sum")
        return total

    def agree(self, module: nn.Module) -> None:
        """Copy the first process's buffers to all others."""
        for buffer in module.buffers() if self.world > 1 else ():
            torch.distributed.broadcast(buffer, 0)

    def collect(self, values: Tensor) -> list[Tensor]:
        """The values of every process, in order of rank; all of the same shape."""
        if self.world == 1:
            return [values]
        values = values.to(self.device)
        collected = [torch.empty_like(values) for _ in range(self.world)]
        torch.distributed.all_gather(collected, values)
        return collected


def _sparse_mean(gradient: Tensor, world: int) -> Tensor:
    """Mean over processes of a sparse gradient, by concatenation of its rows."""
    gradient = gradient.coalesce()
    rows, values = gather(gradient.indices().T.contiguous()), gather(gradient.values())
    return torch.sparse_coo_tensor(rows.T, values / world, gradient.shape, check_invariants=False).coalesce()


def sum_over_processes(values: Tensor) -> Tensor:
    """Sum of values over the processes that share the batch, without gradients."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        values = values.clone()
        torch.distributed.all_reduce(values)
    return values


def gather(values: Tensor) -> Tensor:
    """Rows of values[B, ...] of all processes that share the batch, with gradients; just `values` in one process.

    A term computed from it is that of the whole batch in every process: multiply it by `batch.share`.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return values
    world = torch.distributed.get_world_size()
    if world == 1:
        return values
    size = torch.tensor([len(values)], device=values.device)
    sizes = [torch.zeros_like(size) for _ in range(world)]
    torch.distributed.all_gather(sizes, size)
    gathered: Tensor = _Gather.apply(values, [int(n) for n in sizes])  # type: ignore[no-untyped-call]
    return gathered


class _Gather(torch.autograd.Function):
    """Concatenation of the parts; the gradient of a part is the sum of its gradients in all processes."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, sizes: list[int]) -> Tensor:
        ctx.sizes = sizes
        # Gathering needs parts of one length.
        padded = torch.cat([values, values.new_zeros(max(sizes) - len(values), *values.shape[1:])])
        parts = [torch.empty_like(padded) for _ in sizes]
        torch.distributed.all_gather(parts, padded)
        return torch.cat([part[:n] for part, n in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        total = gradients[0].clone(memory_format=torch.contiguous_format)  # the gradient may be shared
        torch.distributed.all_reduce(total)
        rank = torch.distributed.get_rank()
        return total[sum(ctx.sizes[:rank]) :][: ctx.sizes[rank]], None
