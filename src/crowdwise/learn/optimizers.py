"""Optimizers for a CrowdModel: Adam with the paper's learning rates, and a lazy Adam for sparse workers' tables."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import Optimizer

from ..errors import ParameterError
from .method import CrowdModel
from .tables import WorkerTable


def make_optimizers(
    model: CrowdModel, *, lr: float, worker_lr: float | None = None, weight_decay: float = 0.0
) -> list[Optimizer]:
    """Adam for everything dense; SparseAdam for large workers' tables, whose steps cost only the workers in the batch.

    Weight decay acts on the net alone. SparseAdam moves a worker's row only when he is in the batch, so its numbers
    differ slightly from Adam's.
    """
    for name, value in (("lr", lr), ("worker_lr", worker_lr), ("weight_decay", weight_decay)):
        if value is not None and not 0 <= value < 1e30:
            raise ParameterError(f"{name} must be a number from 0 up, got {value}")
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
    found: list[Optimizer] = []
    if any(group["params"] for group in dense):
        found.append(torch.optim.Adam([g for g in dense if g["params"]], lr=lr))
    if any(group["params"] for group in sparse):
        found.append(torch.optim.SparseAdam([g for g in sparse if g["params"]], lr=slow))
    return found


def trainable(model: nn.Module) -> int:
    """Number of trainable parameters."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
