"""The baseline for comparisons: a reward net on each pair's majority, workers left out of it.

minimise  mean over pairs of the cross-entropy to the outcome that leads  +  strength · mean of s² / 2
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....core.params import NonNegative
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...pairs.crowd import PairCrowd
from .reward_net import PairMethod


class MajorityReward(PairMethod):
    """The net alone, trained on the outcome that leads among each pair's answers. `strength` draws the scores to 0."""

    name = "majority_reward"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3)

    def __init__(self, crowd: PairCrowd, *, strength: NonNegative = 0.01) -> None:
        super().__init__(crowd, strength)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """As if everybody were right."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        return self.log_outcomes(d).gather(1, batch.label[:, None]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the outcome that leads; outcomes that lead together share."""
        votes = batch.votes(3)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        lead = lead / lead.sum(1, keepdim=True).clamp_min(1e-12)
        likely = self.log_outcomes(out.logits[:, 0] - out.logits[:, 1])
        said = torch.where(lead > 0, lead * likely, torch.zeros_like(lead)).sum(1)
        return {"cross_entropy": -batch.mean_over_tasks(said), "ridge": self.ridge(out, batch)}
