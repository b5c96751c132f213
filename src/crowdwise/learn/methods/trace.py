"""Trace: coupled cross-entropy, with the confusions pulled off the identity so that the net must explain the labels.

    minimise  mean_i sum_w -log sum_k f_k(x_i) confusion[w, k, y_iw]  +  strength · mean_w tr(confusion[w])      (eq. 4)

Right where the crowd's mean confusion is diagonally dominant by column: label l comes more often from truth l than from
any other truth. Then, of all pairs that explain the labels, the true one has the least trace (lemma 1). A strength so
large that the trace outweighs the cross-entropy flattens every matrix. Works with one label per task. The traces are
those of workers with labels: nothing would oppose the pull on the others.
Tanno et al. 2019, arXiv:1902.03680. Log-trace: Kim et al. 2022, pmlr v151, eq. 35.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...core.params import NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import ConfusionTable, Start, starting_logits


class Trace(CrowdMethod):
    """`over` workers the traces' "mean" is taken, as in the authors' code, or their "sum", as in eq. 4.

    The paper adds up the labels of a task and averages over tasks; here the cross-entropy is a mean over labels, as
    everywhere, and the trace is divided by the labels per task instead, which is the same loss up to a factor.
    """

    name = "trace"
    defaults = Defaults(epochs=200, batch_size=50, lr=1e-3)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        over: Literal["mean", "sum"] = "mean",
        start: Start = "tanno",
        scale: float = 1.0,
        form: Literal["softmax", "softplus"] = "softplus",
    ) -> None:
        super().__init__(crowd)
        self.strength, self.over = strength, over
        self.labels_per_task = float(crowd.weight.sum()) / max(int(crowd.labelled.sum()), 1) or 1.0
        # Every worker's trace is in every step's loss, so gradients are dense.
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the traces (eq. 4)."""
        traces = torch.diagonal(self.table.log_of(self.seen()), dim1=1, dim2=2).exp().sum(1)
        total = traces.mean() if self.over == "mean" and len(traces) else traces.sum()
        return {
            "cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch)),
            "trace": self.strength * total / self.labels_per_task * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


class LogTrace(CrowdMethod):
    """The trace as a prior: rows are Dirichlet, 1 - strength on the diagonal and 1 elsewhere.

        maximise  sum_labels E_f[log confusion[w, k, y]]  -  strength · sum_w tr(log confusion[w])         (eq. 35)

    Here divided by the number of labels of the whole crowd. `likelihood="bound"` is the paper's expectation of a
    logarithm, "marginal" the logarithm of the expectation, as in `trace`. A worker with fewer than `strength` expected
    labels of a class loses that diagonal cell altogether: the prior has no bottom there.
    """

    name = "log_trace"
    defaults = Defaults(epochs=200, batch_size=64, lr=1e-3, worker_lr=1e-2)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.5,
        likelihood: Literal["bound", "marginal"] = "bound",
        start: Start = "eye",
        scale: float = 2.0,
        form: Literal["softmax", "softplus"] = "softmax",
    ) -> None:
        super().__init__(crowd)
        self.strength, self.likelihood = strength, likelihood
        self.labels = max(float(crowd.weight.sum()), 1.0)
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Minus the two terms of eq. 35, per label."""
        log_confusion = self.table.log_all()
        if self.likelihood == "marginal":
            said = self.table.log_likelihood(out.log_proba, batch)
        else:
            found, _ = batch.present
            said = (out.log_proba.exp().index_select(0, batch.row) * batch.said(log_confusion[found])).sum(1)
        log_traces = torch.diagonal(log_confusion[self.seen()], dim1=1, dim2=2).sum()
        return {
            "cross_entropy": -batch.mean_over_labels(said),
            "log_trace": self.strength * log_traces / self.labels * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()
