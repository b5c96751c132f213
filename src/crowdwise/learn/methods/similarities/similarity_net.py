"""Similarity nets: clusters of items from their features, and two coins of every worker.

    p = f(x_i) · f(x_j)        P(worker says same) = a_w p + (1 - b_w) (1 - p)
    minimise  mean over answers of -log P(answer)  -  strength · log det(Fᵀ F) / k

a is how often a worker sees that two are the same, b that they are not; both begin at .9. The volume of the outputs F
of a batch keeps all items from falling into one cluster.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....core.params import NonNegative, Positive, PositiveShare
from ...direct import AnswerMethod
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...pairs.crowd import PairCrowd
from ...pairs.tables import ChanceTable, terms
from ...training.processes import gather
from ...volume import log_volume

SMALLEST = 1e-6  # of a chance that two are the same


class SimilarityNet(AnswerMethod):
    """`strength` of the volume; `prior_right` and `prior_wrong` are the Beta prior of both coins, from `start`."""

    name = "similarity_net"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3, worker_lr=2e-2)

    def __init__(
        self,
        crowd: PairCrowd,
        *,
        strength: NonNegative = 0.02,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.9,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.per_item = strength, crowd.per_item
        self.table = ChanceTable(crowd.n_workers, 2, start, prior_right, prior_wrong)

    def wanted(self) -> str:
        """One output a cluster."""
        return f"there are {self.per_item} clusters"

    def answer(self, out: Output) -> Tensor:
        """log p(cluster | x) of both items: B, 2 · clusters."""
        return self._each(out).flatten(1)

    def _each(self, out: Output) -> Tensor:
        return torch.log_softmax(out.logits.view(len(out.logits), 2, self.per_item), dim=2)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """By the worker's two coins."""
        proba = self._each(out).exp()
        same = (proba[:, 0] * proba[:, 1]).sum(1).clamp(SMALLEST, 1 - SMALLEST).index_select(0, batch.row)
        coins = torch.sigmoid(self.table.rows(batch.worker))
        yes = (coins[:, 0] * same + (1 - coins[:, 1]) * (1 - same)).clamp(SMALLEST, 1 - SMALLEST)
        return torch.where(batch.label == 1, yes.log(), (1 - yes).log())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The answers' likelihood, the coins' prior, the volume."""
        proba = self._each(out).exp()
        rows = gather(proba.flatten(0, 1))
        both = terms(self.said(out, batch), self.table, batch, self.heard)
        return both | {"volume": -self.strength / self.per_item * log_volume(rows) * batch.share}

    def coins(self) -> Tensor:
        """a, b of every worker: worker, 2."""
        return torch.sigmoid(self.table.all())
