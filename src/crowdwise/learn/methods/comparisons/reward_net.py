"""Reward nets: a score of every item from its features, and a reliability of every worker.

    s_i = f(x_i),  d = s_i - s_j        P(worker says i > j) = e_w p(d) + (1 - e_w) p(-d)
    p(d) = e^(d/2) / (e^(d/2) + e^(-d/2) + e^t),    P(tie) = e^t / (the same);    e_w ~ Beta(2, 1)

Without ties e^t is 0 and p the logistic function: CrowdBT (Chen et al. 2013, doi:10.1145/2433396.2433420) with a net in
place of free scores; with them it is Davidson's model (1970, doi:10.1080/01621459.1970.10481082). A worker below one
half turns comparisons around, and their answers then teach as much as an honest worker's.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ....core.params import NonNegative, Positive, PositiveShare
from ....maths.comparisons.rows import TIE
from ...direct import AnswerMethod
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...pairs.crowd import PairCrowd
from ...pairs.tables import ChanceTable, both_ways, terms
from ...training.sweep import Sweep


class PairMethod(AnswerMethod):
    """A method for comparisons: scores of both items, ties where there are any. `strength` draws the scores to 0."""

    sign: Tensor
    ties: Tensor

    def __init__(self, crowd: PairCrowd, strength: float) -> None:
        super().__init__(crowd)
        self.strength = strength
        share = float(crowd.weight[crowd.label == TIE].sum() / crowd.weight.sum().clamp_min(1e-12))
        self.register_buffer("ties", torch.tensor(share > 0))
        self.register_buffer("sign", torch.tensor(1.0))
        self.tie = nn.Parameter(torch.tensor(math.log(2 * max(share, 1e-3) / max(1 - share, 1e-3))))

    def wanted(self) -> str:
        """One score an item."""
        return "an item has one score"

    def answer(self, out: Output) -> Tensor:
        """Scores of both items: B, 2."""
        return self.sign * out.logits

    def log_outcomes(self, d: Tensor) -> Tensor:
        """log P(first wins, second wins, tie) by margins d[A] for who is always right: A, 3."""
        tie = self.tie.expand_as(d) if bool(self.ties) else torch.full_like(d, -torch.inf)
        return torch.log_softmax(torch.stack([d / 2, -d / 2, tie], dim=1), dim=1)

    def ridge(self, out: Output, batch: CrowdBatch) -> Tensor:
        """The pull of the scores to 0: without it they have no bound where the better item always wins."""
        return self.strength * batch.mean_over_tasks((out.logits**2).sum(1) / 2)

    def reliability(self) -> Tensor | None:
        """How often each worker follows the better item, where the method knows it."""
        return None


class RewardNet(PairMethod):
    """`prior_right` and `prior_wrong` are the Beta prior of the reliabilities, which begin at `start`."""

    name = "reward_net"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3, worker_lr=5e-2)

    def __init__(
        self,
        crowd: PairCrowd,
        *,
        strength: NonNegative = 0.01,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.8,
    ) -> None:
        super().__init__(crowd, strength)
        self.table = ChanceTable(crowd.n_workers, 1, start, prior_right, prior_wrong)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Followed or turned around."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        ahead, turned = (self.log_outcomes(each).gather(1, batch.label[:, None]).squeeze(1) for each in (d, -d))
        return both_ways(self.table.rows(batch.worker)[:, 0], ahead, turned)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The answers' likelihood, the workers' prior, the scores' ridge."""
        both = terms(self.said(out, batch), self.table, batch, self.heard)
        return both | {"ridge": self.ridge(out, batch)}

    def finish(self, sweep: Sweep) -> None:  # noqa: ARG002
        """Scores and reliabilities turned around are as likely: most workers are right, not most are wrong."""
        right = torch.sigmoid(self.table.all()[:, 0].detach())
        mean = (right * self.heard[:, 0]).sum() / self.heard.sum().clamp_min(1e-12)
        self.sign.fill_(-1.0 if float(mean) < 0.5 else 1.0)

    def reliability(self) -> Tensor:
        """Of every worker."""
        return torch.sigmoid(self.sign * self.table.all()[:, 0])
