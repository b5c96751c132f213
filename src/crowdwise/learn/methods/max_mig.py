"""Max-MIG: classifier and a crowd aggregator that agree on nothing but the truth.

    h_i = f(x_i),   g_i ∝ prior · exp(sum_w W[w, :, y_iw]),   K_ij = sum_c h_ic g_jc / prior_c
    maximise  mean_i ∂f(K_ii) - mean_{i≠j} f*(∂f(K_ij)),   at the truth the f-mutual information of x and labels

Robust to copied and junk workers. A batch of one has no pair i ≠ j: its second term is zero.
Cao et al. 2019, arXiv:1905.13436 (seed of W: eq. 2).
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...errors import ParameterError
from ..batch import CrowdBatch
from ..crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..processes import gather
from ..tables import WorkerTable

Divergence = Literal["kl", "chi2", "js"]
FLOOR = 1e-3  # a learnt class prior stays above it: K is bounded by 1 / prior


class MaxMIG(CrowdMethod):
    """`divergence` is kl, chi2 (Pearson) or js; `prior` is fixed ("uniform", "votes") or "learnt"."""

    name = "max_mig"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3, worker_lr=1e-4)

    def __init__(
        self, crowd: Crowd, *, divergence: Divergence = "kl", prior: Literal["uniform", "votes", "learnt"] = "uniform"
    ) -> None:
        super().__init__(crowd)
        if divergence not in ("kl", "chi2", "js"):
            raise ParameterError(f"divergence must be kl, chi2 or js, got {divergence!r}")
        if prior not in ("uniform", "votes", "learnt"):
            raise ParameterError(f"prior must be uniform, votes or learnt, got {prior!r}")
        self.divergence = divergence
        self.table = WorkerTable(_vote_weights(crowd))  # worker, class, label
        start = torch.zeros(crowd.n_classes)
        if prior != "uniform" and bool(crowd.labelled.any()):
            start = crowd.soft_majority[crowd.labelled].mean(0).clamp_min(FLOOR).log()
        self.rho = nn.Parameter(start, requires_grad=prior == "learnt")

    def log_prior(self) -> Tensor:
        """Log of the class prior, floored."""
        k = self.n_classes
        return torch.log(torch.softmax(self.rho, 0) * (1 - k * FLOOR) + FLOOR) if k * FLOOR < 1 else self.rho * 0

    def aggregate(self, batch: CrowdBatch) -> Tensor:
        """log g, what the labels alone say: B, K. A task without labels has the class prior."""
        found, _ = batch.present
        return torch.log_softmax(self.log_prior() + batch.evidence(self.table.rows(found)), dim=1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Minus the mutual-information gain of the whole batch."""
        log_h, log_g = gather(out.log_proba), gather(self.aggregate(batch))
        return {"mig": -mutual_information_gain(log_h, log_g, self.log_prior(), self.divergence) * batch.share}

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """h · g / prior, normalised."""
        return torch.softmax(out.log_proba + self.aggregate(batch) - self.log_prior(), dim=1)


def mutual_information_gain(log_h: Tensor, log_g: Tensor, log_prior: Tensor, divergence: Divergence) -> Tensor:
    """The gain of log_h[B, K] and log_g[B, K]; the sum over pairs is taken in full, (B × B)."""
    b = len(log_h)
    log_own = torch.logsumexp(log_h + log_g - log_prior, dim=1)  # log K_ii
    pairs = (log_h - log_prior).exp() @ log_g.exp().T  # K_ij
    off = ~torch.eye(b, dtype=torch.bool, device=log_h.device)
    if divergence == "kl":
        gain, cost = 1 + log_own, pairs
    elif divergence == "chi2":
        gain, cost = 2 * (log_own.exp() - 1), pairs.square() - 1
    else:
        log_pairs = pairs.clamp_min(1e-30).log()
        gain = log_own - F.softplus(log_own) + torch.log(torch.tensor(2.0))
        cost = F.softplus(log_pairs) - torch.log(torch.tensor(2.0))
    if b < 2:
        return gain.mean()
    return gain.mean() - (cost * off).sum() / (b * (b - 1))


def _vote_weights(crowd: Crowd) -> Tensor:
    """Eq. 2: log of each worker's label shares under the soft majority, over the tasks that he labelled."""
    counts = crowd.counts(crowd.soft_majority)
    return torch.log(counts / counts.sum(2, keepdim=True).clamp_min(1e-12) + 1e-4)
