"""Doctor Net: a head per worker on shared features, each trained on its worker's labels; their mean decides.

    p_w(x) = softmax(V phi(x) + V_w phi(x)),   cross-entropy of p_w(x_i) to y_iw,   p(x) = mean_w p_w(x)

V is the net's own last layer, which all heads share, and V_w what worker w does differently, at first nothing: the same
family as free heads, but a worker with few labels stays near the others. Every worker learns to be predicted, not to be
corrected: a crowd that is wrong on average stays wrong (case 2 of Max-MIG's experiments).
Guan, Gulshan, Dai & Hinton 2018, Who said what, arXiv:1703.08774.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....core.params import PositiveShare
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.nets.heads import WorkerHeads
from .....learn.training.processes import add_up

# Tasks × workers × classes that are in memory at once when all heads speak.
CHUNK = 2_000_000


class DoctorNet(CrowdMethod):
    """Heads on what the net's last linear layer sees; a step touches only the heads of the batch's workers."""

    name = "doctor_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    needs_features = True

    def __init__(self, crowd: Crowd, *, n_features: int, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, k = crowd.n_workers, crowd.n_classes
        self.heads = WorkerHeads(torch.zeros(m, k, n_features), torch.zeros(m, k), sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of each head to its worker's labels."""
        own = self.heads(_features(out), batch)
        log_p = torch.log_softmax(out.logits.index_select(0, batch.row) + own, dim=1)
        said = log_p.gather(1, batch.label[:, None]).squeeze(1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def shares(self) -> Tensor:
        """Weight of every head in the mean: equal among the workers who labelled something."""
        heard = (self.heard.sum(1) > 0).to(self.heard)
        heard = heard if bool(heard.any()) else torch.ones_like(heard)
        return heard / heard.sum()

    def speak(self, out: Output, workers: Tensor) -> Tensor:
        """What the heads of these workers say: B, worker, K."""
        weight, bias = self.heads.weight.rows(workers), self.heads.bias.rows(workers)
        own = torch.einsum("wkd,bd->bwk", weight, _features(out)) + bias
        return torch.softmax(out.logits[:, None] + own, dim=2)

    def classify(self, out: Output) -> Tensor:
        """log of the heads' weighted mean, a chunk of heads at a time."""
        share = self.shares()
        speakers = share.nonzero().squeeze(1)
        width = max(1, CHUNK // max(1, out.logits.numel()))
        total = torch.zeros_like(out.logits)
        for part in torch.split(speakers, width):
            total = total + torch.einsum("w,bwk->bk", share[part].to(total), self.speak(out, part))
        return total.clamp_min(1e-12).log()

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """Heads predict workers, not workers given the truth: no forecaster."""
        return None


def _features(out: Output) -> Tensor:
    if out.features is None:
        raise ValueError("the net's features were not tapped; wrap net and method in a CrowdModel")
    return out.features


class WeightedDoctorNet(DoctorNet):
    """Weighted Doctor Net: Doctor Net whose heads are averaged by learnt weights.

        p(x_i) = sum_w a_w p_w(x_i) / sum_w a_w,  w over the heads that may speak on task i
        minimise over a >= 0 the cross-entropy of p(x_i) to the vote shares t_i

    A task's average leaves out the heads of those who labelled it, who would confirm themselves (all heads where
    nobody else is left). With S_i = sum_w a_w over the heads that may speak, the weights move by damped steps of

        a_w <- a_w · sum_i r_iw / S_i  :  sum_i 1 / S_i,   r_iw = sum_k t_ik p_wk(x_i) / p_k(x_i),   i where w may speak

    which never raises the cross-entropy (it is minorised as in EM, log S_i by its tangent) and stands still where
    the slope is zero. Every head is heard at every step: among a part of them the best weights would be other ones.
    The steps go beside the heads' gradient steps, without gradients of their own. Fails where the majority does: the
    vote shares are the judge. Guan, Gulshan, Dai & Hinton 2018, Who said what, arXiv:1703.08774.

    `rate` in (0, 1] is how far the weights move in one step; the heads are Doctor Net's.
    """

    name = "weighted_doctor_net"
    log_weight: Tensor
    usual: Tensor
    turn: Tensor

    def __init__(
        self, crowd: Crowd, *, n_features: int, rate: PositiveShare = 0.05, sparse: bool | None = None
    ) -> None:
        super().__init__(crowd, n_features=n_features, sparse=sparse)
        self.rate = rate
        self._out: Output | None = None
        self.register_buffer("log_weight", torch.zeros(crowd.n_workers))
        self.register_buffer("usual", torch.zeros(crowd.n_workers))  # of sum_i 1 / S_i, over the steps so far
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
        """One damped step of all weights; in a crowd too large to ask every head each time, in every n-th step only."""
        if self._out is None:
            return
        out, self._out = self._out, None
        share = self.shares()
        heads = share.nonzero().squeeze(1)
        tasks = int(add_up(torch.tensor(float(len(batch)), device=share.device)))
        every = -(-tasks * len(heads) * self.n_classes // CHUNK)
        self.turn += 1
        if every > 1 and int(self.turn) % every:
            return
        graded = self._some(len(batch), every)
        gain, seen = (add_up(part) for part in self._grade(out, batch.wide(), heads, share[heads], graded))
        n = add_up(seen.new_tensor(float(len(graded)))).clamp_min(1)
        # The mean of `seen` over steps, not the step's own: a ratio of two noisy sums would be off on average.
        usual = self.usual[heads]
        usual = torch.where(usual > 0, usual.lerp(seen / n, self.rate), seen / n)
        self.usual[heads] = usual
        slope = (gain - seen) / n / usual.clamp_min(1e-12)
        self.log_weight[heads] += torch.log1p(self.rate * slope.clamp_min(-1 + 1e-6))

    def _some(self, tasks: int, every: int) -> Tensor:
        """Places of the tasks on which the heads are graded: all of them, or as many as there is room for."""
        if every <= 1:
            return torch.arange(tasks, device=self.turn.device)
        order = torch.randperm(tasks, generator=torch.Generator().manual_seed(int(self.turn)))
        return order[: -(-tasks // every)].to(self.turn.device)

    def _grade(
        self, out: Output, batch: CrowdBatch, heads: Tensor, share: Tensor, graded: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Sums over the graded tasks of r_iw / S_i and 1 / S_i of every head, tasks counted by their weight."""
        votes = batch.votes(self.n_classes)[graded]
        target = votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
        features = None if out.features is None else out.features[graded]
        said = self.speak(Output(out.logits[graded], features), heads)  # task, head, class
        free = self._free(batch, heads)[graded]
        weight = free * share
        total = weight.sum(1, keepdim=True).clamp_min(1e-30)  # S
        mean = (torch.einsum("bw,bwk->bk", weight, said) / total).clamp_min(1e-12)
        free = free * (batch.task_weight[graded, None] * (votes.sum(1, keepdim=True) > 0)) / total
        return (free * torch.einsum("bk,bwk->bw", target / mean, said)).sum(0), free.sum(0)

    def _free(self, batch: CrowdBatch, heads: Tensor) -> Tensor:
        """1 where a head may speak on a task: its worker did not label it, or nobody else is there. B, head."""
        free = torch.ones(len(batch), len(heads), dtype=batch.weight.dtype, device=heads.device)
        place = torch.searchsorted(heads, batch.worker).clamp_max(max(len(heads) - 1, 0))
        labelled = heads[place] == batch.worker
        free[batch.row[labelled], place[labelled]] = 0.0
        return torch.where(free.sum(1, keepdim=True) > 0, free, torch.ones_like(free))
