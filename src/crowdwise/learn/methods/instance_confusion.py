"""Instance-dependent confusion: every worker's confusion matrix is a function of the task.

    p(y_iw = l | x_i) = sum_k f_k(x_i) A_w(x_i)[k, l],   minimise  cross-entropy + strength · mean tr(A_w(x_i))
    A_w(x) ∝ softplus(B_w + H_w φ(x)),  or with rank r   softplus(B_w + U_w(x) V_w(x)),   φ the net's last features

For workers who err on some kinds of tasks and not on others. A worker has classes² × features numbers (with a rank,
2 r classes × features): with few labels per worker it explains away everything; a low rank, or ccem, is then safer.
Zhang et al. 2020, arXiv:2007.15963, for whole tasks instead of pixels.
"""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from ...core.params import Count, NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..nets.heads import WorkerHeads
from ..tables import WorkerTable


class InstanceConfusion(CrowdMethod):
    """`rank=None` is the full head; `strength` weighs the trace, averaged over the observed labels.

    The matrices begin at softplus(6·I - 5), near the identity, for every x. There are none apart from tasks.
    """

    name = "instance_confusion"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-3)
    needs_features = True

    def __init__(
        self,
        crowd: Crowd,
        *,
        n_features: int,
        strength: NonNegative = 0.01,
        rank: Count | None = None,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.rank = strength, rank
        self.random_start = rank is not None  # U begins at random, since U = V = 0 would never move
        m, k = crowd.n_workers, crowd.n_classes
        self.base = WorkerTable((6.0 * torch.eye(k) - 5.0).expand(m, k, k), sparse=sparse)
        outputs = k * k if rank is None else 2 * rank * k
        bias = torch.zeros(m, outputs)
        if rank is not None:
            bias[:, : rank * k] = 0.1 * torch.randn(m, rank * k)
        self.heads = WorkerHeads(torch.zeros(m, outputs, n_features), bias, sparse=sparse)

    def log_confusion(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log confusion of each label's worker on its task: A, true, observed."""
        assert out.features is not None
        k = self.n_classes
        said = self.heads(out.features.flatten(1), batch)
        if self.rank is None:
            change = said.view(-1, k, k)
        else:
            left, right = said.split(self.rank * k, dim=1)
            change = left.view(-1, k, self.rank) @ right.view(-1, self.rank, k)
        positive = F.softplus(self.base.rows(batch.worker) + change) + 1e-10
        return positive.log() - positive.sum(2, keepdim=True).log()  # normalised over the observed class

    def said_on_average(self, out: Output, batch: CrowdBatch) -> Tensor:
        """The mean over workers, each by their share of a class's labels, on these very tasks; a worker at a time."""
        share = self.shares_of_labels()
        total = out.logits.new_zeros(len(batch.label), self.n_classes)
        for worker in self.seen():
            as_theirs = replace(batch, worker=worker.expand_as(batch.worker))
            total = total + share[worker] * _at(self.log_confusion(out, as_theirs), batch.label).exp()
        return total.clamp_min(1e-12).log()

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the mean trace."""
        log_confusion = self.log_confusion(out, batch)
        said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + _at(log_confusion, batch.label), dim=1)
        traces = torch.diagonal(log_confusion, dim1=1, dim2=2).exp().sum(1)
        return {
            "cross_entropy": -batch.mean_over_labels(said),
            "trace": self.strength * batch.mean_over_labels(traces),
        }

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Classifier × the workers' confusions on these very tasks."""
        evidence = batch.sum_by_task(_at(self.log_confusion(out, batch), batch.label))
        return torch.softmax(out.log_proba + evidence, dim=1)


def _at(log_confusion: Tensor, label: Tensor) -> Tensor:
    """log_confusion[a, :, label[a]]: A, true."""
    return log_confusion.gather(2, label[:, None, None].expand(-1, log_confusion.shape[1], 1)).squeeze(2)
