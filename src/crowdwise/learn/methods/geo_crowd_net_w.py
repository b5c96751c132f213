"""GeoCrowdNet (W): coupled cross-entropy, and the workers' confusions together as far from singular as they can be.

    minimise  mean of -log p(label)  -  strength · log det(sum_w confusion[w] confusion[w]ᵀ)

Identifies classifier and confusions when the stacked confusions are sufficiently scattered: for every class there are
workers who rarely take it for another. It needs no certain tasks and does not mind imbalance; with few or poor
workers it sharpens confusions that are truly flat. Opposite in principle to the (F) variant.
Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.
"""

from __future__ import annotations

from torch import Tensor

from ...core.params import NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import ConfusionTable, Start, starting_logits
from ..volume import log_volume


class GeoCrowdNetW(CrowdMethod):
    """`strength` of the volume: .01 on CIFAR-10N, .1 or .2 on LabelMe; `start` and `scale` as in geo_crowd_net_f."""

    name = "geo_crowd_net_w"
    defaults = Defaults(epochs=100, batch_size=100, lr=1e-3, worker_lr=1e-2, weight_decay=1e-4)

    def __init__(self, crowd: Crowd, *, strength: NonNegative = 0.01, start: Start = "eye", scale: float = 1.0) -> None:
        super().__init__(crowd)
        self.strength = strength
        # Every worker's matrix is in every step's loss, so gradients are dense.
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale), sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, minus the confusions' volume."""
        seen = self.table.log_of(self.seen()).exp()
        stacked = seen.transpose(1, 2).reshape(-1, self.n_classes)  # worker·observed, true: the paper's W
        return {
            "cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch)),
            "volume": -self.strength * log_volume(stacked) * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()
