"""A table with a row for every worker, gathered for the workers of a batch only."""

from __future__ import annotations

from math import prod

import torch.nn.functional as F
from torch import Tensor, nn

# From this many numbers on, a dense gradient and a dense step of Adam cost more than the batch itself.
SPARSE_FROM = 400_000


class WorkerTable(nn.Module):
    """values[worker, ...] as a parameter; `rows(workers)` touches only the workers asked for.

    Gradients are dense, which every optimizer takes, unless `sparse=True`. Where nothing is said, `make_optimizers`,
    which has an optimizer for it, asks for sparse ones of a large table (`suit`).
    """

    def __init__(self, values: Tensor, *, sparse: bool | None = None) -> None:
        super().__init__()
        self.shape = tuple(values.shape[1:])
        self.asked, self.sparse = sparse, bool(sparse)
        self.weight = nn.Parameter(values.reshape(len(values), prod(self.shape)).clone())  # there may be no rows

    def suit(self, lazy: bool) -> None:
        """Sparse gradients of a large table for an optimizer that takes them, where nobody asked for either kind."""
        if self.asked is None:
            self.sparse = lazy and self.weight.numel() > SPARSE_FROM

    def rows(self, workers: Tensor) -> Tensor:
        """The rows of these workers."""
        return F.embedding(workers, self.weight, sparse=self.sparse).view(-1, *self.shape)

    def all(self) -> Tensor:
        """The rows of all workers."""
        return self.weight.view(-1, *self.shape)
