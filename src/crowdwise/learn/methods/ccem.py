"""CCEM: classifier and confusion matrices by one cross-entropy.

    p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   minimise the mean of -log p over the observed labels

Identifiable when some workers are experts of each class and some tasks are certain (anchor points); otherwise only the
product of f and the confusions is. Copied workers do no harm to f: every label enters by itself.
Rodrigues & Pereira 2018, arXiv:1709.01779 (as probabilities); Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import ConfusionTable, Start, starting_logits


class CCEM(CrowdMethod):
    """Coupled cross-entropy minimisation, without a regulariser.

    `start` and `scale` say where the confusion matrices begin (see `starting_logits`).
    """

    name = "ccem"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3, worker_lr=1e-2)

    def __init__(
        self,
        crowd: Crowd,
        *,
        start: Start = "tanno",
        scale: float = 1.0,
        form: Literal["softmax", "softplus"] = "softplus",
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        return {"cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch))}

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()
