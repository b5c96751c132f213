"""Optimizers of a CrowdModel: Adam, and a lazy Adam for sparse worker tables."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from ..core.params import check_given
from .method import CrowdModel, Rate
from .tables import WorkerTable


def make_optimizers(
    model: CrowdModel, *, lr: Rate, worker_lr: Rate | None = None, weight_decay: Rate = 0.0
) -> list[Optimizer]:
    """Adam for dense parameters; LazyAdam for large worker tables, whose steps cost only the workers in the batch.

    Weight decay acts on the net alone. LazyAdam moves a worker's row only when they are in the batch, so its numbers
    differ slightly from Adam's.
    """
    check_given(make_optimizers, {"lr": lr, "worker_lr": worker_lr, "weight_decay": weight_decay})
    set_sparse_gradients(model, lazy=True)
    lazy = {id(t.weight) for t in model.method.modules() if isinstance(t, WorkerTable) and t.sparse}
    slow = lr if worker_lr is None else worker_lr
    dense, sparse = [], []
    for group in model.method.param_groups(model.net):
        worker = bool(group.get("worker", False))
        rate = group.get("lr", slow if worker else lr)
        decay = group.get("weight_decay", 0.0 if worker else weight_decay)
        params = [p for p in group["params"] if p.requires_grad]
        dense.append({"params": [p for p in params if id(p) not in lazy], "lr": rate, "weight_decay": decay})
        sparse.append({"params": [p for p in params if id(p) in lazy], "lr": rate})
    optimizers: list[Optimizer] = []
    if any(group["params"] for group in dense):
        optimizers.append(torch.optim.Adam([g for g in dense if g["params"]], lr=lr))
    if any(group["params"] for group in sparse):
        optimizers.append(LazyAdam([g for g in sparse if g["params"]], lr=slow))
    return optimizers


def set_sparse_gradients(model: CrowdModel, *, lazy: bool) -> None:
    """Give the worker tables the gradients, sparse or dense, that the optimizers take."""
    for part in model.method.modules():
        if isinstance(part, WorkerTable):
            part.set_gradients(lazy)


class LazyAdam(Optimizer):
    """Adam on the rows of a sparse gradient only: the same numbers as torch's SparseAdam at less cost.

    SparseAdam builds four sparse tensors per step; here rows are gathered, updated and written back.
    """

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step of every table that has a gradient."""
        del closure
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None:
                    self._update(table, *_rows(table.grad), group)

    def _update(self, table: Tensor, rows: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        state = self.state[table]
        if not state:
            state |= {"step": 0, "exp_avg": torch.zeros_like(table), "exp_avg_sq": torch.zeros_like(table)}
        state["step"] += 1
        (first, second), t = group["betas"], state["step"]
        mean = state["exp_avg"].index_select(0, rows).lerp_(gradient, 1 - first)
        square = state["exp_avg_sq"].index_select(0, rows).mul_(second).addcmul_(gradient, gradient, value=1 - second)
        state["exp_avg"].index_copy_(0, rows, mean)
        state["exp_avg_sq"].index_copy_(0, rows, square)
        rate = group["lr"] * math.sqrt(1 - second**t) / (1 - first**t)
        table.index_add_(0, rows, mean.div_(square.sqrt_().add_(group["eps"])), alpha=-rate)


def _rows(gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and values of a sparse gradient, without repeated rows."""
    rows = gradient._indices()[0]
    if len(torch.unique(rows)) < len(rows):  # a batch gathers each of its workers once, so rows are usually unique
        gradient = gradient.coalesce()
        rows = gradient._indices()[0]
    return rows, gradient._values()


def trainable(model: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
