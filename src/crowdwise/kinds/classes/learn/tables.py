"""Tables with a row for every worker: gathered for the workers of a batch only, and confusion matrices on top."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ....core.errors import ParameterError
from ....core.result import Result
from ....learn.data.batch import CrowdBatch
from ....learn.data.crowd import Crowd
from ....learn.simplex import log_mean
from ....learn.tables import WorkerTable
from ..annotations import Annotations

Start = Literal["eye", "tanno", "votes", "dawid_skene"]


class ConfusionTable(nn.Module):
    """A confusion matrix per worker, rows on the simplex.

    `form="softmax"` takes row-wise softmax of free numbers, "softplus" normalises softplus of them (Tanno et al.).
    Methods with a regulariser on all workers say `sparse=False`.
    """

    def __init__(self, logits: Tensor, *, form: Literal["softmax", "softplus"] = "softmax", sparse: bool | None = None):
        super().__init__()
        if form not in ("softmax", "softplus"):
            raise ParameterError(f"form must be softmax or softplus, got {form!r}")
        self.form = form
        self.table = WorkerTable(logits, sparse=sparse)

    def log_of(self, workers: Tensor) -> Tensor:
        """Log confusion of these workers: worker, true, observed."""
        return self._log(self.table.rows(workers))

    def log_all(self) -> Tensor:
        """Log confusion of every worker."""
        return self._log(self.table.all())

    def _log(self, logits: Tensor) -> Tensor:
        if self.form == "softmax":
            return torch.log_softmax(logits, dim=2)
        positive = F.softplus(logits) + 1e-10
        return positive.log() - positive.sum(2, keepdim=True).log()

    def log_likelihood(self, log_proba: Tensor, batch: CrowdBatch) -> Tensor:
        """log sum_k p(k | x) confusion[worker, k, label] of every label: A."""
        found, at = batch.present
        logits = self.table.rows(found)  # worker, true, observed
        # Only the observed columns are normalised: most numbers of a matrix are needed for its row sums alone.
        if self.form == "softmax":
            said, total = batch.said(logits), torch.logsumexp(logits, dim=2)
        else:
            positive = F.softplus(logits) + 1e-10
            said, total = batch.said(positive).log(), positive.sum(2).log()
        log_said = said - total.index_select(0, at)  # label, true
        return torch.logsumexp(log_proba.index_select(0, batch.row) + log_said, dim=1)


def said_log_mean(belief: Tensor, batch: CrowdBatch) -> Tensor:
    """E log confusion[worker, :, label] of every label under Dirichlet beliefs[worker, true, observed]: A, K."""
    found, at = batch.present
    rows = belief.index_select(0, found)
    if rows.shape[2] * len(found) <= len(at):
        return batch.said(log_mean(rows))
    # Many workers, few labels of each: most columns of a matrix are needed for its row sums alone.
    return torch.digamma(batch.said(rows)) - torch.digamma(rows.sum(2)).index_select(0, at)


def starting_logits(crowd: Crowd, start: Start, *, scale: float = 1.0, form: str = "softmax") -> Tensor:
    """Where confusion matrices begin: worker, true, observed.

    "eye": scale × identity (softmax of it has diagonal .23 for ten classes at scale 1, .9996 at 10); "tanno": 6·I - 5
    for softplus, diagonal .956 for ten classes; "votes": log of the confusions against the majority; "dawid_skene":
    log of Dawid & Skene's. The last two look at the labels.
    """
    k = crowd.n_classes
    eye = torch.eye(k).expand(crowd.n_workers, k, k)
    if start == "eye" or (start == "dawid_skene" and not len(crowd)):  # without labels there is nothing to fit
        return scale * eye
    if start == "tanno":
        return 6.0 * eye - 5.0
    if start == "votes":
        confusion = vote_confusion(crowd)
    elif start == "dawid_skene":
        confusion = torch.tensor(dawid_skene(crowd).confusion, dtype=torch.float32)
    else:
        raise ParameterError(f"start must be eye, tanno, votes or dawid_skene, got {start!r}")
    return confusion.log() if form == "softmax" else torch.expm1(confusion).clamp_min(1e-6).log()


def vote_confusion(crowd: Crowd, smoothing: float = 1e-2) -> Tensor:
    """Confusion of each worker against the soft majority vote, floored and normalised: worker, true, observed."""
    counts = crowd.counts(crowd.soft_majority)
    share = counts / counts.sum(2, keepdim=True).clamp_min(1e-12) + smoothing
    return share / share.sum(2, keepdim=True)


def expected_confusion(crowd: Crowd, posterior: Tensor, strength: float = 1.0) -> Tensor:
    """Confusion of each worker under posterior[task, class], shrunk to the crowd's: worker, true, observed.

    `strength` × sqrt(K) pseudo-counts a row follow the whole crowd's mistakes, so that a worker with few labels
    is taken for an average one.
    """
    counts = crowd.counts(posterior)
    pooled = counts.sum(0) + 0.1
    pooled = pooled / pooled.sum(1, keepdim=True)
    smoothed: Tensor = counts + (strength * float(crowd.n_classes) ** 0.5) * pooled
    return smoothed / smoothed.sum(2, keepdim=True)


def dawid_skene(crowd: Crowd, *, max_iter: int = 50, tol: float = 1e-4) -> Result:
    """What the labels alone say."""
    from ..methods.confusion.matrices import DawidSkene

    return DawidSkene(max_iter=max_iter, tol=tol).fit(annotations_of(crowd))


def annotations_of(crowd: Crowd) -> Annotations:
    """The crowd as Annotations, with codes for names."""
    return Annotations.from_arrays(
        crowd.task.numpy(), crowd.worker.numpy(), crowd.label.numpy(), weight=crowd.weight.numpy().astype(float),
        tasks=range(crowd.n_tasks), workers=range(crowd.n_workers), classes=range(crowd.n_classes), duplicates="keep",
    )  # fmt: skip


# ----------------------------------------------------------------
# Targets for a classifier that takes the votes at their word.


def vote_targets(batch: CrowdBatch, n_classes: int, targets: Literal["soft", "hard"]) -> Tensor:
    """Shares of the votes, or equal shares of the classes that lead ("hard"): B, K. Zero for a task without labels."""
    votes = batch.votes(n_classes)
    if targets == "hard":
        votes = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
    return votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
