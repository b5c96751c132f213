"""EMMethod: what the methods share that give the classifier a posterior of every task to learn."""

from __future__ import annotations

from torch import Tensor

from .feeding.batch import CrowdBatch
from .feeding.crowd import Crowd
from .method import CrowdMethod, Output


class EMMethod(CrowdMethod):
    """Keeps `target[task, class]`, what is believed of every training task; it begins as the soft majority vote.

    Rows are found by task id, whatever the order of the batches. Subclasses renew it in `begin_epoch`.
    """

    target: Tensor

    def __init__(self, crowd: Crowd) -> None:
        super().__init__(crowd)
        self.register_buffer("target", crowd.soft_majority.clone())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the classifier to the posterior: -sum_i sum_k q_i(k) log f_k(x_i)."""
        return {"cross_entropy": self.cross_entropy(out.log_proba, batch)}

    def cross_entropy(self, log_proba: Tensor, batch: CrowdBatch) -> Tensor:
        """Cross-entropy of log_proba[B, K] to what is believed of the batch's tasks."""
        return -batch.mean_over_tasks((self.target[batch.task] * log_proba).sum(1))
