"""Max-MIG: maximise the mutual information between a classifier and an aggregator of the labels.

    h_i = f(x_i),   g_i ∝ prior · exp(sum_w W[w, :, y_iw]),   K_ij = sum_c h_ic g_jc / prior_c
    maximise  mean_i ∂f(K_ii) - mean_{i≠j} f*(∂f(K_ij)),   at the truth the f-mutual information of x and labels

Robust to copying and uninformative workers. Fails where the prior is far from the class frequencies: at the optimum the
classifier's mean prediction is the prior, whatever the labels say. By default it is estimated jointly with the
classifier, as the frequencies under which labels and features are most probable: with the workers' confusions under the
posterior h g / prior,

    maximise over p   sum_i log sum_c p_c h_ic / prior_c prod_w confusion[w, c, y_iw]

by a few steps of EM before the second to the sixth epoch, when h changes most, and before every fifth epoch from then
on. Errors of the estimate feed back into h, so that it is made only for classes that are clearly unequal: if the votes'
frequencies are within .12 of even ones (total variation), the prior stays even. A batch of one has no pair i ≠ j, so
that its second term is zero. Cao et al. 2019, arXiv:1905.13436 (seed of W: eq. 2; prior: section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from .....core.errors import ParameterError
from .....core.params import Positive, Proportions
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.tables import WorkerTable
from .....learn.training.processes import gather
from .....learn.training.sweep import Sweep
from ..tables import dawid_skene, expected_confusion

Divergence = Literal["kl", "chi2", "js"]
Prior = Literal["joint", "uniform", "votes", "dawid_skene", "learnt"]
EARLY, ROUNDS = 5, 5  # epochs between estimates of the prior, and steps of EM in one
EVEN = 0.12  # total variation of the votes' frequencies from even ones up to which the prior stays even
FLOOR = 1e-3  # lower bound of a class prior (or a tenth of the uniform share), because K is bounded by 1 / prior


class MaxMIG(CrowdMethod):
    """Max-MIG: classifier and aggregator with the most mutual information.

    `divergence` is kl, chi2 (Pearson) or js.

    `prior` is "joint" (estimated with the classifier if the votes are uneven, or else uniform), "learnt" (by gradient
    steps from the votes' frequencies), or fixed: "uniform", class frequencies of the "votes" or of "dawid_skene",
    or a probability for each class in class order.
    """

    name = "max_mig"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3, worker_lr=1e-4)
    frequency: Tensor  # estimate of the class frequencies

    def __init__(
        self,
        crowd: Crowd,
        *,
        divergence: Divergence = "kl",
        prior: Prior | Annotated[Sequence[float], Proportions(within=1e-4)] = "joint",
        smoothing: Positive = 1e-4,
    ) -> None:
        super().__init__(crowd)
        self.divergence = divergence
        self.floor = min(FLOOR, 0.1 / crowd.n_classes)
        self.table = WorkerTable(_vote_weights(crowd, smoothing))  # worker, class, label
        learnt = isinstance(prior, str) and prior == "learnt"
        share = _class_prior(crowd, prior)
        self.joint = isinstance(prior, str) and prior == "joint"
        if self.joint and nearly_even(share):
            self.joint, share = False, torch.full_like(share, 1 / crowd.n_classes)
        self.rho = nn.Parameter(self._logits_of(share), requires_grad=learnt)
        self.register_buffer("frequency", share.clone())

    def _logits_of(self, share: Tensor) -> Tensor:
        """The logits whose prior, with its lower bound, is `share`."""
        share = share.clamp_min(2 * self.floor)
        return ((share / share.sum() - self.floor) / (1 - self.n_classes * self.floor)).log()

    def begin_epoch(self, sweep: Sweep) -> None:
        """With `prior="joint"`, estimate the class prior."""
        if not self.joint or sweep.epoch == 0 or (sweep.epoch > EARLY and sweep.epoch % EARLY):
            return
        crowd, log_h, log_prior = sweep.crowd, sweep.log_proba, self.log_prior()
        posterior = torch.softmax(log_h + crowd.evidence(self.table.all()), dim=1)
        log_ratio = log_h - log_prior + crowd.evidence(expected_confusion(crowd, posterior).log())
        self.frequency = most_probable_prior(log_ratio[crowd.labelled], self.frequency)
        self.rho.copy_(self._logits_of(self.frequency))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *more: Any) -> None:
        # Models that were saved when the prior was always fixed have no estimate of the frequencies.
        state_dict.setdefault(f"{prefix}frequency", self.frequency)
        super()._load_from_state_dict(state_dict, prefix, *more)

    def class_prior(self) -> Tensor | None:
        """The class prior, unless it follows the classifier."""
        return None if self.joint else self.log_prior().exp()

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


def most_probable_prior(log_ratio: Tensor, share: Tensor) -> Tensor:
    """Class frequencies p with a higher sum_i log sum_c p_c exp(log_ratio[i, c]), by steps of EM from `share`."""
    for _ in range(ROUNDS):
        share = torch.softmax(log_ratio + share.clamp_min(1e-12).log(), dim=1).mean(0)
    return share


def nearly_even(share: Tensor) -> bool:
    """Whether class frequencies are close to even ones."""
    return 0.5 * float((share - 1 / len(share)).abs().sum()) <= EVEN


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
