"""UnionNet: all workers as one, whose answer to a task is the stack of their labels.

    B   p(w, l | x) = sum_k f_k(x) T[k, (w, l)],  rows of T sum to one over all (w, l);  every task counts once
    A   p(w, l | x) = softmax over all (w, l) of sum_k f_k(x) W[w, k, l];                every label counts once

One distribution for the crowd instead of one per worker: it also models who labels, which in a sparse crowd is mostly
chance. The normaliser of A runs over workers × classes for every task: its time grows with the crowd, its memory does
not. Wei et al. 2022, doi:10.1109/TNNLS.2022.3168696.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import Start, WorkerTable, starting_logits

BLOCK = 1 << 20  # numbers of the normaliser of A that are held at a time


class UnionNet(CrowdMethod):
    """`form` is "b" (stochastic matrix) or "a" (softmax of weights).

    B begins at softmax of `scale` × identity, A at `scale` × identity; by default 5 and 1. `start="votes"` takes log
    confusions against the majority.
    """

    name = "union_net"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(
        self, crowd: Crowd, *, form: Literal["a", "b"] = "b", start: Start = "eye", scale: float | None = None
    ) -> None:
        super().__init__(crowd)
        self.form = form
        first = scale if scale is not None else {"a": 1.0, "b": 5.0}[form]
        # The normaliser takes in every worker, so gradients are dense.
        self.table = WorkerTable(starting_logits(crowd, start, scale=first), sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the stacked labels."""
        k = self.n_classes
        said = _columns(self.table.all()).index_select(0, batch.worker * k + batch.label)  # A, true
        crowd = _columns(self.table.rows(self.seen()))  # who never labels takes no share
        if self.form == "a":
            proba = out.log_proba.exp()
            log_said = (proba.index_select(0, batch.row) * said).sum(1) - log_normaliser(proba, crowd)[batch.row]
            return {"cross_entropy": -batch.mean_over_labels(log_said)}
        log_rows = said - torch.logsumexp(crowd, dim=0)
        log_said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + log_rows, dim=1)
        number = batch.sum_by_task(torch.ones_like(log_said)).clamp_min(1e-12)
        share = batch.sum_by_task(log_said) / number  # a task's labels share its weight
        return {"cross_entropy": -batch.mean_over_tasks(share)}

    def confusion(self) -> Tensor:
        """The worker's slice of the stack, rows normalised."""
        return torch.softmax(self.table.all(), dim=2)


def _columns(weights: Tensor) -> Tensor:
    """Weights[worker, true, observed] as the columns of one matrix: worker·observed, true."""
    return weights.transpose(1, 2).reshape(-1, weights.shape[1])


def log_normaliser(proba: Tensor, columns: Tensor) -> Tensor:
    """log sum_j exp(proba[B, K] · columns[J, K]_j): B, in blocks that are computed again for the gradient."""
    size = max(BLOCK // max(len(proba), 1), 1)
    blocks = torch.split(columns, size) if len(columns) > size else ()
    if not blocks:
        return torch.logsumexp(proba @ columns.T, dim=1)
    parts = [checkpoint(_log_sum, proba, block, use_reentrant=False) for block in blocks]
    return torch.logsumexp(torch.stack(parts), dim=0)


def _log_sum(proba: Tensor, block: Tensor) -> Tensor:
    return torch.logsumexp(proba @ block.T, dim=1)
