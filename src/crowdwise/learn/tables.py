"""A table with one row per worker, gathered for the workers of a batch only."""

from __future__ import annotations

from math import prod

import torch.nn.functional as F
from torch import Tensor, nn

# From this many numbers on, a dense gradient and a dense step of Adam cost more than the batch itself.
SPARSE_FROM = 400_000


class WorkerTable(nn.Module):
    """values[worker, ...] as a parameter; `rows(workers)` reads only the rows of these workers.

    Gradients are dense, which every optimizer takes, unless `sparse=True`. With `sparse=None`, `make_optimizers`, which
    has an optimizer for sparse gradients, uses them for large tables (`set_gradients`).
    """

    def __init__(self, values: Tensor, *, sparse: bool | None = None) -> None:
        super().__init__()
        self.shape = tuple(values.shape[1:])
        self._given, self.sparse = sparse, bool(sparse)
        self.weight = nn.Parameter(values.reshape(len(values), prod(self.shape)).clone())  # there may be no rows

    def set_gradients(self, lazy: bool) -> None:
        """Choose sparse gradients for a large table if the optimizer takes them (`lazy`), unless `sparse` was given."""
        if self._given is None:
            self.sparse = lazy and self.weight.numel() > SPARSE_FROM

    def rows(self, workers: Tensor) -> Tensor:
        """The rows of these workers."""
        return F.embedding(workers, self.weight, sparse=self.sparse).view(-1, *self.shape)

    def all(self) -> Tensor:
        """The rows of all workers."""
        return self.weight.view(-1, *self.shape)
