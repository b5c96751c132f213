"""Confusion matrices of all workers as parameters, of which only those of a batch's workers are gathered."""

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


class ConfusionLogits(nn.Module):
    """Trainable confusion matrices of all workers.

    `form="softmax"` is a row-wise softmax of free parameters, "softplus" normalises their softplus (Tanno et al.).
    Methods with a regulariser on all workers use `sparse=False`.
    """

    def __init__(self, logits: Tensor, *, form: Literal["softmax", "softplus"] = "softmax", sparse: bool | None = None):
        super().__init__()
        if form not in ("softmax", "softplus"):
            raise ParameterError(f"form must be softmax or softplus, got {form!r}")
        self.form = form
        self.table = WorkerTable(logits, sparse=sparse)

    def log_of(self, workers: Tensor) -> Tensor:
        """Log confusion matrices of these workers [worker, true, observed]."""
        return self._log(self.table.rows(workers))

    def log_all(self) -> Tensor:
        """Log confusion matrices of all workers."""
        return self._log(self.table.all())

    def _log(self, logits: Tensor) -> Tensor:
        if self.form == "softmax":
            return torch.log_softmax(logits, dim=2)
        positive = F.softplus(logits) + 1e-10
        return positive.log() - positive.sum(2, keepdim=True).log()

    def log_likelihood(self, log_proba: Tensor, batch: CrowdBatch) -> Tensor:
        """Return log sum_k p(k | x) confusion[worker, k, label] for every label: A."""
        workers, at = batch.present
        logits = self.table.rows(workers)  # worker, true, observed
        # Only the observed columns are normalised: most entries of a matrix are needed for its row sums only.
        if self.form == "softmax":
            columns, total = batch.label_columns(logits), torch.logsumexp(logits, dim=2)
        else:
            positive = F.softplus(logits) + 1e-10
            columns, total = batch.label_columns(positive).log(), positive.sum(2).log()
        log_likelihood = columns - total.index_select(0, at)  # label, true
        return torch.logsumexp(log_proba.index_select(0, batch.row) + log_likelihood, dim=1)


def expected_log_likelihood(belief: Tensor, batch: CrowdBatch) -> Tensor:
    """Return E log confusion[worker, :, label] of every label under Dirichlet beliefs[worker, true, observed]: A, K."""
    workers, at = batch.present
    rows = belief.index_select(0, workers)
    if rows.shape[2] * len(workers) <= len(at):
        return batch.label_columns(log_mean(rows))
    # Many workers with few labels: most columns of a matrix are needed for its row sums only.
    return torch.digamma(batch.label_columns(rows)) - torch.digamma(rows.sum(2)).index_select(0, at)


def starting_logits(crowd: Crowd, start: Start, *, scale: float = 1.0, form: str = "softmax") -> Tensor:
    """Return the initial logits of the confusion matrices [worker, true, observed].

    "eye": scale × identity (its softmax has diagonal .23 for ten classes at scale 1, .9996 at 10); "tanno": 6·I - 5
    for softplus, diagonal .956 for ten classes; "votes": log of the confusion matrices against the majority vote;
    "dawid_skene": log of those of Dawid & Skene. The last two depend on the labels.
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
    """Confusion of each worker against the soft majority vote, smoothed and normalised [worker, true, observed]."""
    counts = crowd.counts(crowd.soft_majority)
    share = counts / counts.sum(2, keepdim=True).clamp_min(1e-12) + smoothing
    return share / share.sum(2, keepdim=True)


def expected_confusion(crowd: Crowd, posterior: Tensor, strength: float = 1.0) -> Tensor:
    """Confusion of each worker under posterior[task, class], shrunk to the crowd's [worker, true, observed].

    `strength` × sqrt(K) pseudo-counts per row are distributed as the labels of the whole crowd, so that a worker with
    few labels is treated as an average one.
    """
    counts = crowd.counts(posterior)
    pooled = counts.sum(0) + 0.1
    pooled = pooled / pooled.sum(1, keepdim=True)
    smoothed: Tensor = counts + (strength * float(crowd.n_classes) ** 0.5) * pooled
    return smoothed / smoothed.sum(2, keepdim=True)


def dawid_skene(crowd: Crowd, *, max_iter: int = 50, tol: float = 1e-4) -> Result:
    """Fit Dawid & Skene to the labels alone."""
    from ..methods.confusion.matrices import DawidSkene

    return DawidSkene(max_iter=max_iter, tol=tol).fit(annotations_of(crowd))


def annotations_of(crowd: Crowd) -> Annotations:
    """Return the crowd as Annotations, with codes as names."""
    return Annotations.from_arrays(
        crowd.task.numpy(), crowd.worker.numpy(), crowd.label.numpy(), weight=crowd.weight.numpy().astype(float),
        tasks=range(crowd.n_tasks), workers=range(crowd.n_workers), classes=range(crowd.n_classes), duplicates="keep",
    )  # fmt: skip


# ----------------------------------------------------------------
# Targets of a classifier that is trained on the votes directly.


def vote_targets(batch: CrowdBatch, n_classes: int, targets: Literal["soft", "hard"]) -> Tensor:
    """Vote shares, or equal shares of the leading classes ("hard"): B, K. Zero for tasks without labels."""
    votes = batch.votes(n_classes)
    if targets == "hard":
        votes = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
    return votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
