"""AggNet, deep EM: the posterior of every task given classifier and crowd is the classifier's target.

    E   log q_i(k) = log f_k(x_i) + sum_w log confusion[w, k, y_iw]           (+ constant)
    M   confusion[w, k, l] ∝ sum_i q_i(k) [y_iw = l] + smoothing,   f minimises -sum_i sum_k q_i(k) log f_k(x_i)

One E-step before each epoch, from the soft majority vote. With a linear net it is Raykar's method.
Fails where workers copy each other (their votes multiply) and, with one label per task, turns into vanilla training.
Albarqouni et al. 2016, doi:10.1109/TMI.2016.2528120; Raykar et al. 2010, jmlr v11/raykar10a.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..batch import CrowdBatch
from ..crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..sweep import Sweep


class AggNet(CrowdMethod):
    """Deep EM. `smoothing` pseudo-counts keep confusions positive; `inner` epochs pass between two E-steps."""

    name = "agg_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    target: Tensor
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, smoothing: float = 0.01, inner: int = 1) -> None:
        super().__init__(crowd)
        self.smoothing, self.inner = smoothing, inner
        self.register_buffer("target", crowd.soft_majority.clone())
        self.register_buffer("matrices", self._m_step(crowd, crowd.soft_majority))

    def begin_epoch(self, sweep: Sweep) -> None:
        """The E-step under the classifier as it is, and the confusions that go with it."""
        if sweep.epoch == 0 or sweep.epoch % self.inner:
            return
        log_q = sweep.log_proba + sweep.crowd.evidence(self.matrices.log())
        self.target = torch.softmax(log_q, dim=1)
        self.matrices = self._m_step(sweep.crowd, self.target)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the classifier to the posterior."""
        return {"cross_entropy": -batch.mean_over_tasks((self.target[batch.task] * out.log_proba).sum(1))}

    def confusion(self) -> Tensor:
        """The confusions of the last M-step."""
        return self.matrices

    def _m_step(self, crowd: Crowd, posterior: Tensor) -> Tensor:
        counts = crowd.counts(posterior) + self.smoothing
        return counts / counts.sum(2, keepdim=True)
