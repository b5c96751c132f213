"""Max-MIG: maximise the mutual information between a classifier and an aggregator of the labels.

    h_i = f(x_i),   g_i ∝ prior · exp(sum_w W[w, :, y_iw]),   K_ij = sum_c h_ic g_jc / prior_c
    maximise  mean_i ∂f(K_ii) - mean_{i≠j} f*(∂f(K_ij)),   at the truth the f-mutual information of x and labels

Robust to copying and uninformative workers. Fails where the prior is far from the class frequencies: set them if they
are known. A batch of one has no pair i ≠ j, so its second term is zero.
Cao et al. 2019, arXiv:1905.13436 (seed of W: eq. 2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from .....core.errors import ParameterError
from .....core.params import Positive, Proportions
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.tables import WorkerTable
from .....learn.training.processes import gather
from ..tables import dawid_skene

Divergence = Literal["kl", "chi2", "js"]
Prior = Literal["uniform", "votes", "dawid_skene", "learnt"]
FLOOR = 1e-3  # lower bound of a class prior (or a tenth of the uniform share), because K is bounded by 1 / prior


class MaxMIG(CrowdMethod):
    """Max-MIG: classifier and aggregator with the most mutual information.

    `divergence` is kl, chi2 (Pearson) or js.

    `prior` is fixed ("uniform"; class frequencies of the "votes" or of "dawid_skene", which are usually more accurate;
    or a probability for each class in class order) or "learnt", starting at the votes.
    """

    name = "max_mig"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3, worker_lr=1e-4)

    def __init__(
        self,
        crowd: Crowd,
        *,
        divergence: Divergence = "kl",
        prior: Prior | Annotated[Sequence[float], Proportions(within=1e-4)] = "uniform",
        smoothing: Positive = 1e-4,
    ) -> None:
        super().__init__(crowd)
        self.divergence = divergence
        self.floor = min(FLOOR, 0.1 / crowd.n_classes)
        self.table = WorkerTable(_vote_weights(crowd, smoothing))  # worker, class, label
        share = _class_prior(crowd, prior).clamp_min(2 * self.floor)
        share = (share / share.sum() - self.floor) / (1 - crowd.n_classes * self.floor)
        self.rho = nn.Parameter(share.log(), requires_grad=isinstance(prior, str) and prior == "learnt")

    def log_prior(self) -> Tensor:
        """Log of the class prior with its lower bound."""
        free = 1 - self.n_classes * self.floor
        return torch.log(torch.softmax(self.rho, 0) * free + self.floor)

    def aggregate(self, batch: CrowdBatch) -> Tensor:
        """Return log g, the posterior by the labels alone: B, K. For a task without labels it is the class prior."""
        workers, _ = batch.present
        return torch.log_softmax(self.log_prior() + batch.evidence(self.table.rows(workers)), dim=1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative mutual-information gain of the whole batch."""
        log_h, log_g, weight = map(gather, (out.log_proba, self.aggregate(batch), batch.task_weight))
        gain = mutual_information_gain(log_h, log_g, self.log_prior(), self.divergence, weight)
        return {"mig": -gain * batch.share}

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return h · g / prior, normalised."""
        return torch.softmax(out.log_proba + self.aggregate(batch) - self.log_prior(), dim=1)

    def mean_confusion(self) -> Tensor | None:
        """Mean of the confusion matrices implied by the aggregator's weights, which start as their logarithms (eq.
        2)."""
        return self.mean_of(torch.softmax(self.table.all(), dim=2))


def mutual_information_gain(
    log_h: Tensor, log_g: Tensor, log_prior: Tensor, divergence: Divergence, weight: Tensor | None = None
) -> Tensor:
    """Mutual-information gain of log_h[B, K] and log_g[B, K] with task weights[B], over all B × (B - 1) pairs."""
    w = torch.ones_like(log_h[:, 0]) if weight is None else weight.to(log_h)
    log_own = torch.logsumexp(log_h + log_g - log_prior, dim=1)  # log K_ii
    gain = (w * own_term(log_own, divergence)).sum() / w.sum()
    if len(log_h) < 2:
        return gain
    pairs = (log_h - log_prior).exp() @ log_g.exp().T  # K_ij
    pair_weight = torch.outer(w, w).fill_diagonal_(0.0)
    return gain - (pair_weight * pair_term(pairs, divergence)).sum() / pair_weight.sum()


def own_term(log_own: Tensor, divergence: Divergence) -> Tensor:
    """∂f(K) from log K: 1 + log K, 2 (K - 1), log 2K / (1 + K)."""
    if divergence == "kl":
        return 1 + log_own
    if divergence == "chi2":
        return 2 * torch.expm1(log_own)
    return math.log(2) + nn.functional.logsigmoid(log_own)


def pair_term(pairs: Tensor, divergence: Divergence) -> Tensor:
    """f*(∂f(K)): K, K² - 1, log (1 + K) / 2. K is at most 1 / the smallest prior, so nothing overflows."""
    if divergence == "kl":
        return pairs
    if divergence == "chi2":
        return pairs.square() - 1
    return torch.log1p(pairs) - math.log(2)


def _vote_weights(crowd: Crowd, smoothing: Positive) -> Tensor:
    """Log of each worker's label shares under the soft majority vote, over the worker's tasks (eq. 2)."""
    counts = crowd.counts(crowd.soft_majority)
    return torch.log(counts / counts.sum(2, keepdim=True).clamp_min(1e-12) + smoothing)


def _class_prior(crowd: Crowd, prior: str | Sequence[float]) -> Tensor:
    k = crowd.n_classes
    if not isinstance(prior, str):
        values = torch.tensor([float(p) for p in prior])
        if len(values) != k:
            raise ParameterError(f"prior must be {k} positive numbers that sum to 1, got {prior!r}")
        return values
    if prior == "uniform" or not bool(crowd.labelled.any()):
        return torch.full((k,), 1 / k)
    share = crowd.soft_majority
    if prior == "dawid_skene":  # until convergence, because frequencies converge last
        share = torch.tensor(dawid_skene(crowd, max_iter=1000, tol=1e-6).posterior, dtype=torch.float32)
    return share[crowd.labelled].mean(0)
