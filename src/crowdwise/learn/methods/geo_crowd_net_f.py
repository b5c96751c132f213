"""GeoCrowdNet (F): coupled cross-entropy, and the classifier's outputs as spread out as they can be.

    minimise  mean of -log p(label)  -  strength · log det(F Fᵀ),   F = [f(x_1) ... f(x_B)], classes × tasks

Identifies classifier and confusions when outputs are sufficiently scattered (some tasks near every corner); no worker
need be an expert. The volume is largest when the classes are equally frequent and every output is certain: it suffers
from imbalance, and from batches with fewer than several tasks per class. Opposite in principle to the (W) variant.
Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.
"""

from __future__ import annotations

from torch import Tensor

from ...core.params import NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import ConfusionTable, Start, starting_logits
from ..training.processes import gather
from ..volume import log_volume


class GeoCrowdNetF(CrowdMethod):
    """`strength` of the volume: .01 on CIFAR-10N, .1 or .2 on LabelMe, 1e-4 for machine workers on MNIST.

    The paper's "identity" start is softmax of the identity, `scale=1`: a diagonal of .23 for ten classes.
    """

    name = "geo_crowd_net_f"
    defaults = Defaults(epochs=100, batch_size=100, lr=1e-3, worker_lr=1e-2, weight_decay=1e-4)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        start: Start = "eye",
        scale: float = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.strength = strength
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale), sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, minus the outputs' volume over the whole batch."""
        return {
            "cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch)),
            "volume": -self.strength * output_volume(out, batch) * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


def output_volume(out: Output, batch: CrowdBatch) -> Tensor:
    """log det(F Fᵀ) of the whole batch, gathered over processes; a task counts by its weight."""
    weight = batch.task_weight.to(out.log_proba.dtype)
    return log_volume(gather(out.log_proba.exp() * weight.sqrt()[:, None]))
