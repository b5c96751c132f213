"""deepMF: deep EM with beliefs over every worker's confusion matrix, and a classifier whose say is bounded.

    h = clip(f(x), c)                                                                       (section 3.3)
    log q_i(k) = log h_k(x_i) + sum_w E log confusion[w, k, y_iw]      (+ constant)         (eq. 16)
    belief[w, k, l] = prior[k, l] + sum_i q_i(k) [y_iw = l]                                 (eq. 29)
    f minimises KL(q || f)                                                                  (eq. 30)

With point beliefs and one label per task its steps are those of `ccem`, and with prior < 1 on the diagonal those of the
log-trace (appendix C). Fails, as every mean field, under a prior that does not fit when someone labels everything at
random: see `deep_bp`.
Kim, Cho, Kim & Ok 2022, Robust deep learning from crowds with belief propagation, AISTATS.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....aggregate.bayes.base import PriorCount
from ....core.errors import ParameterError
from ....core.params import Share
from ...em import EMMethod
from ...feeding.batch import CrowdBatch
from ...feeding.crowd import Crowd
from ...method import Defaults, Output
from ...simplex import clip_simplex, diagonal_matrix, log_mean
from ...tables import said_log_mean
from ...training.sweep import Part, Sweep


class DeepMF(EMMethod):
    """`prior_diagonal` and `prior_off` are pseudo-counts of right and of each wrong label, at least 0.05.

    `clip` bounds what the classifier may claim in the E-step: 1 trusts it, 1 / classes ignores it.
    """

    name = "deep_mf"
    defaults = Defaults(epochs=200, batch_size=None, lr=1e-3)
    belief: Tensor
    prior: Tensor

    def __init__(
        self, crowd: Crowd, *, prior_diagonal: PriorCount = 2.0, prior_off: PriorCount = 1.0, clip: Share = 0.9
    ) -> None:
        super().__init__(crowd)
        self.clip = check_clip(clip, crowd.n_classes)
        self.register_buffer("prior", diagonal_matrix(crowd.n_classes, prior_diagonal, prior_off), persistent=False)
        self.register_buffer("belief", self.prior + crowd.counts(crowd.soft_majority))

    def begin_epoch(self, sweep: Sweep) -> None:
        """The E-step under the clipped classifier, then the beliefs in closed form."""
        expected = log_mean(self.belief)

        def log_posterior(part: Part) -> Tensor:  # eq. 16
            return self._log_h(part.log_proba) + part.crowd.evidence(expected)

        self.belief = self.prior + self.renew(sweep, log_posterior)  # eq. 29

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Eq. 16 for the tasks of the batch."""
        return torch.softmax(self._log_h(out.log_proba) + batch.sum_by_task(said_log_mean(self.belief, batch)), dim=1)

    def _log_h(self, log_proba: Tensor) -> Tensor:
        return clip_simplex(log_proba.exp(), self.clip).clamp_min(1e-12).log()

    def confusion(self) -> Tensor:
        """The mean of the beliefs."""
        return self.belief / self.belief.sum(2, keepdim=True)


def check_clip(clip: float, n_classes: int) -> float:
    """The bound on the classifier's probabilities; with a single class there is nothing to bound."""
    if n_classes > 1 and clip < 1 / n_classes:
        raise ParameterError(f"clip must be at least {1 / n_classes:g}, 1 / classes, got {clip!r}")
    return clip if n_classes > 1 else 1.0
