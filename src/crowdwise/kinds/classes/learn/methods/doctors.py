"""Doctor Net: a head per worker on shared features, trained on the worker's labels; predictions are averaged.

    p_w(x) = softmax(V phi(x) + V_w phi(x)),   cross-entropy of p_w(x_i) to y_iw,   p(x) = mean_w p_w(x)

V is the last layer of the net, which all heads share, and V_w the difference of worker w, initially zero: the same
family of models as free heads, but a worker with few labels stays close to the others. Workers are predicted and not
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
from .....learn.training.processes import sum_over_processes

# Most numbers (tasks × workers × classes) in memory when all heads are evaluated, and most heads in the estimate by
# which an epoch is scored: its standard deviation is that of a head divided by 16.
CHUNK, SAMPLED = 2_000_000, 256


class DoctorNet(CrowdMethod):
    """Doctor Net: a head per worker on the input of the net's last linear layer, averaged.

    A step updates only the heads of the batch's workers.
    """

    name = "doctor_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    needs_features = True

    def __init__(self, crowd: Crowd, *, n_features: int, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, k = crowd.n_workers, crowd.n_classes
        self.heads = WorkerHeads(torch.zeros(m, k, n_features), torch.zeros(m, k), sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of every head to its worker's labels."""
        head_logits = self.heads(_features(out), batch)
        log_p = torch.log_softmax(out.logits.index_select(0, batch.row) + head_logits, dim=1)
        log_likelihood = log_p.gather(1, batch.label[:, None]).squeeze(1)
        return {"cross_entropy": -batch.mean_over_labels(log_likelihood)}

    def shares(self) -> Tensor:
        """Weight of every head in the mean: equal for all workers with labels."""
        has_labels = (self.label_weight.sum(1) > 0).to(self.label_weight)
        has_labels = has_labels if bool(has_labels.any()) else torch.ones_like(has_labels)
        return has_labels / has_labels.sum()

    def head_probabilities(self, out: Output, workers: Tensor) -> Tensor:
        """Class probabilities by the heads of these workers: B, worker, K."""
        weight, bias = self.heads.weight.rows(workers), self.heads.bias.rows(workers)
        head_logits = torch.einsum("wkd,bd->bwk", weight, _features(out)) + bias
        return torch.softmax(out.logits[:, None] + head_logits, dim=2)

    def classify(self, out: Output) -> Tensor:
        """Return the log of the heads' weighted mean, computed in chunks of heads."""
        return self._mean_of_heads(out, self.shares())

    def estimate(self, out: Output) -> Tensor:
        """Return the same mean over at most 256 heads, drawn by their weights, the same in every epoch."""
        share = self.shares()
        if int((share > 0).sum()) <= SAMPLED:
            return self._mean_of_heads(out, share)
        draws = torch.multinomial(share.cpu(), SAMPLED, True, generator=torch.Generator().manual_seed(0))
        return self._mean_of_heads(out, torch.bincount(draws, minlength=len(share)).to(share) / SAMPLED)

    def _mean_of_heads(self, out: Output, share: Tensor) -> Tensor:
        active = share.nonzero().squeeze(1)
        width = max(1, CHUNK // max(1, out.logits.numel()))
        total = torch.zeros_like(out.logits)
        for heads in torch.split(active, width):
            total = total + torch.einsum("w,bwk->bk", share[heads].to(total), self.head_probabilities(out, heads))
        return total.clamp_min(1e-12).log()

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """None, because heads do not model the labels given the truth."""
        return None


def _features(out: Output) -> Tensor:
    if out.features is None:
        raise ValueError("the net's features were not tapped; wrap net and method in a CrowdModel")
    return out.features


class WeightedDoctorNet(DoctorNet):
    """Weighted Doctor Net: Doctor Net whose heads are averaged with learned weights.

        p(x_i) = sum_w a_w p_w(x_i) / sum_w a_w,  w over the heads that may vote on task i
        minimise over a >= 0 the cross-entropy of p(x_i) to the vote shares t_i

    The average of a task excludes the heads of the workers who labelled it, because they would confirm themselves (all
    heads are used if no other is left). With S_i = sum_w a_w over the heads that may vote, the weights are updated by
    damped steps of

        a_w <- a_w · sum_i r_iw / S_i  :  sum_i 1 / S_i,   r_iw = sum_k t_ik p_wk(x_i) / p_k(x_i),   i where w may vote

    which never increase the cross-entropy (an MM algorithm as in EM, with the tangent of log S_i) and are stationary
    where the gradient is zero. Every step uses all heads, because subsets of them have other optimal weights. The
    updates alternate with the gradient steps of the heads and use no gradients. Fails where the majority is wrong,
    because the vote shares are the targets. Guan, Gulshan, Dai & Hinton 2018, Who said what, arXiv:1703.08774.

    `rate` in (0, 1] is the step size of the weights; the heads are those of Doctor Net.
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
        """Loss of Doctor Net; the output is kept for the update of the weights."""
        features = None if out.features is None else out.features.detach()
        self._out = Output(out.logits.detach(), features)
        return super().loss(out, batch)

    def shares(self) -> Tensor:
        """Weight of every head in the mean."""
        return torch.softmax(torch.where(super().shares() > 0, self.log_weight, -torch.inf), dim=0)

    def end_step(self, batch: CrowdBatch) -> None:
        """Update all weights by a damped step; in large crowds only at every n-th step."""
        if self._out is None:
            return
        out, self._out = self._out, None
        share = self.shares()
        heads = share.nonzero().squeeze(1)
        tasks = int(sum_over_processes(torch.tensor(float(len(batch)), device=share.device)))
        interval = -(-tasks * len(heads) * self.n_classes // CHUNK)
        self.turn += 1
        if interval > 1 and int(self.turn) % interval:
            return
        task_rows = self._task_rows(len(batch), interval)
        numerator, denominator = (
            sum_over_processes(part)
            for part in self._weight_gradients(out, batch.wide(), heads, share[heads], task_rows)
        )
        n = sum_over_processes(denominator.new_tensor(float(len(task_rows)))).clamp_min(1)
        # Use the mean of the denominator over steps, because a ratio of two noisy sums would be biased.
        scale = self.usual[heads]
        scale = torch.where(scale > 0, scale.lerp(denominator / n, self.rate), denominator / n)
        self.usual[heads] = scale
        slope = (numerator - denominator) / n / scale.clamp_min(1e-12)
        self.log_weight[heads] += torch.log1p(self.rate * slope.clamp_min(-1 + 1e-6))

    def _task_rows(self, tasks: int, interval: int) -> Tensor:
        """Rows of the tasks used in the update: all of them, or as many as fit into memory."""
        if interval <= 1:
            return torch.arange(tasks, device=self.turn.device)
        order = torch.randperm(tasks, generator=torch.Generator().manual_seed(int(self.turn)))
        return order[: -(-tasks // interval)].to(self.turn.device)

    def _weight_gradients(
        self, out: Output, batch: CrowdBatch, heads: Tensor, share: Tensor, task_rows: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Weighted sums over the tasks of r_iw / S_i and 1 / S_i for every head."""
        votes = batch.votes(self.n_classes)[task_rows]
        target = votes / votes.sum(1, keepdim=True).clamp_min(1e-12)
        features = None if out.features is None else out.features[task_rows]
        head_proba = self.head_probabilities(Output(out.logits[task_rows], features), heads)  # task, head, class
        may_vote = self._may_vote(batch, heads)[task_rows]
        weight = may_vote * share
        total = weight.sum(1, keepdim=True).clamp_min(1e-30)  # S
        mean = (torch.einsum("bw,bwk->bk", weight, head_proba) / total).clamp_min(1e-12)
        may_vote = may_vote * (batch.task_weight[task_rows, None] * (votes.sum(1, keepdim=True) > 0)) / total
        return (may_vote * torch.einsum("bk,bwk->bw", target / mean, head_proba)).sum(0), may_vote.sum(0)

    def _may_vote(self, batch: CrowdBatch, heads: Tensor) -> Tensor:
        """Return 1 where a head may vote on a task: its worker did not label it, or no other head is left. B, head."""
        may_vote = torch.ones(len(batch), len(heads), dtype=batch.weight.dtype, device=heads.device)
        head_index = torch.searchsorted(heads, batch.worker).clamp_max(max(len(heads) - 1, 0))
        is_own_task = heads[head_index] == batch.worker
        may_vote[batch.row[is_own_task], head_index[is_own_task]] = 0.0
        return torch.where(may_vote.sum(1, keepdim=True) > 0, may_vote, torch.ones_like(may_vote))
