"""AggNet, deep EM: the posterior of every task given classifier and crowd is the classifier's target.

    E   log q_i(k) = log f_k(x_i) + sum_w log confusion[w, k, y_iw]           (+ constant)
    M   confusion[w, k, l] ∝ sum_i q_i(k) [y_iw = l] + smoothing,   f minimises -sum_i sum_k q_i(k) log f_k(x_i)

One E-step before each epoch, from the soft majority vote. With a linear net it is Raykar's method (`raykar`).
Fails where workers copy each other (their votes multiply) and, with one label per task, turns into vanilla training.
Albarqouni et al. 2016, doi:10.1109/TMI.2016.2528120; Raykar et al. 2010, jmlr v11/raykar10a.
"""

from __future__ import annotations

from torch import Tensor

from ....core.params import Count, NonNegative
from ...em import EMMethod
from ...feeding.crowd import Crowd
from ...method import Defaults
from ...simplex import diagonal_matrix, rows_to_one
from ...training.sweep import Sweep


class AggNet(EMMethod):
    """Deep EM. `smoothing` pseudo-counts keep confusions positive; `inner` epochs pass between two E-steps."""

    name = "agg_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor
    pseudo: Tensor

    def __init__(self, crowd: Crowd, *, smoothing: NonNegative = 0.01, inner: Count = 1) -> None:
        super().__init__(crowd)
        self.inner = inner
        self.register_buffer("pseudo", diagonal_matrix(crowd.n_classes, smoothing, smoothing), persistent=False)
        self.register_buffer("matrices", self._m_step(crowd))

    def begin_epoch(self, sweep: Sweep) -> None:
        """The E-step under the classifier as it is, and the confusions that go with it."""
        if sweep.epoch == 0 or sweep.epoch % self.inner:
            return
        log = self.matrices.log()
        counts = self.renew(sweep, lambda part: part.log_proba + part.crowd.evidence(log))
        self.matrices = rows_to_one(counts + self.pseudo)

    def confusion(self) -> Tensor:
        """The confusions of the last M-step."""
        return self.matrices

    def _m_step(self, crowd: Crowd) -> Tensor:
        return rows_to_one(crowd.counts(self.target) + self.pseudo)
