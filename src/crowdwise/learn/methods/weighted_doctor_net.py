"""Weighted Doctor Net: Doctor Net whose heads are averaged by learnt weights.

    p(x) = sum_w a_w p_w(x),   a on the simplex,   minimise the cross-entropy of p(x_i) to the vote shares of task i

A task's average leaves out the heads of those who labelled it, who would vouch for themselves (all heads where nobody
else is left). The cross-entropy is concave in a, so the weights move by damped EM steps of a mixture, beside the heads'
gradient steps and without gradients of their own: a_w ← a_w (1 - rate + rate · mean_i sum_k t_ik p_wk(x_i) / p_k(x_i)).
Fails where the majority does: the vote shares are the judge.
Guan, Gulshan, Dai & Hinton 2018, Who said what, arXiv:1703.08774.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...aggregate.base import check_number
from ..batch import CrowdBatch
from ..crowd import Crowd
from ..method import Output
from ..processes import add_up, gather
from .doctor_net import DoctorNet

# Heads that are graded in one step, by turns: a step's cost hardly depends on how many workers a batch holds.
GRADED = 8


class WeightedDoctorNet(DoctorNet):
    """`rate` in (0, 1] is how far the weights move in one step; the heads are Doctor Net's."""

    name = "weighted_doctor_net"
    log_weight: Tensor
    turn: Tensor

    def __init__(self, crowd: Crowd, *, n_features: int, rate: float = 0.05, sparse: bool | None = None) -> None:
        check_number("rate", rate, above=0, high=1)
        super().__init__(crowd, n_features=n_features, sparse=sparse)
        self.rate = rate
        self._out: Output | None = None
        self.register_buffer("log_weight", torch.zeros(crowd.n_workers))
        self.register_buffer("turn", torch.zeros((), dtype=torch.int64))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Doctor Net's; what the net said is kept for the weights' step."""
        features = None if out.features is None else out.features.detach()
        self._out = Output(out.logits.detach(), features)
        return super().loss(out, batch)

    def shares(self) -> Tensor:
        """Weight of every head in the mean."""
        return torch.softmax(torch.where(super().shares() > 0, self.log_weight, -torch.inf), dim=0)

    def end_step(self, batch: CrowdBatch) -> None:
        """One damped EM step of the weights of the heads in the batch."""
        if self._out is None:
            return
        out, self._out = self._out, None
        graded = torch.unique(gather(batch.present[0]))
        if not len(graded):
            return
        stride = -(-len(graded) // GRADED)
        graded = graded[int(self.turn) % stride :: stride].contiguous()  # other heads in the next step
        self.turn += 1
        said = self.speak(out, graded)  # task, head, class
        free = self._free(batch, graded)
        votes = batch.votes(self.n_classes)
        target = votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
        share = free * torch.exp(self.log_weight[graded] - self.log_weight[graded].max())
        share = share / share.sum(1, keepdim=True)
        mean = torch.einsum("bw,bwk->bk", share, said).clamp_min(1e-12)
        free = free * batch.task_weight[:, None] * (votes.sum(1, keepdim=True) > 0)
        gain = add_up((free * torch.einsum("bk,bwk->bw", target / mean, said)).sum(0))
        seen = add_up(free.sum(0))
        grade = torch.where(seen > 0, gain / seen.clamp_min(1e-12), torch.ones_like(gain))
        self.log_weight[graded] += torch.log(1 - self.rate + self.rate * grade)

    def _free(self, batch: CrowdBatch, graded: Tensor) -> Tensor:
        """1 where a head may speak on a task: its worker did not label it, or nobody else is there. B, head."""
        free = torch.ones(len(batch), len(graded), device=graded.device)
        place = torch.searchsorted(graded, batch.worker).clamp_max(len(graded) - 1)
        labelled = graded[place] == batch.worker
        free[batch.row[labelled], place[labelled]] = 0.0
        return torch.where(free.sum(1, keepdim=True) > 0, free, torch.ones_like(free))
