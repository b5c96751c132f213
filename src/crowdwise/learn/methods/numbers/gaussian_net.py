"""Gaussian net: the truth lies around the net's number, and every worker has a bias, a slope and a spread.

    y ~ N(f(x), gap)        r_w ~ N(s_w y + b_w, sigma_w²)
    minimise  -2 log N(r; s f(x) + b, diag(sigma²) + gap s sᵀ) / unit,  the truth integrated out, task by task

The net follows that loss by gradient. Before every epoch slopes, biases, spreads and the gap are found by some steps of
EM, under priors that keep a worker with few answers near the crowd (`numbers/lines.py`). The gap is what makes answers
to one task hang together: without it a worker's spread would hold the net's own errors, and all workers look alike.
Raykar et al. 2010, Learning from crowds, JMLR 11, section 4, with slopes, priors and a net.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from ....core.params import Count, Positive
from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...numbers.crowd import NumberCrowd
from ...numbers.lines import SHAPE, SMALLEST, Lines, Pair, settle
from ...numbers.method import NumberMethod
from ...training.sweep import Sweep

FIRST = 30  # steps of EM before the first epoch, in which the net knows nothing yet


class GaussianNet(NumberMethod):
    """`slopes=False`: biases and spreads only. `prior_strength`: how many half answers hold a worker's spread to the
    crowd's; `inner`: steps of EM before an epoch."""

    name = "gaussian_net"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)
    slope: Tensor
    bias: Tensor
    variance: Tensor
    gap: Tensor
    noise: Tensor
    unit: Tensor

    def __init__(
        self, crowd: NumberCrowd, *, slopes: bool = True, prior_strength: Positive = SHAPE, inner: Count = 3
    ) -> None:
        super().__init__(crowd)
        self.slopes, self.prior_strength, self.inner = slopes, prior_strength, inner
        for name, value in Lines.start(crowd.n_workers, crowd.n_outputs).tensors().items():
            self.register_buffer(name, value.float())
        self.register_buffer("unit", torch.full((crowd.n_outputs,), 2.0))

    def _lines(self) -> Lines:
        return Lines(**{name: getattr(self, name).double() for name in Lines.__dataclass_fields__})

    def begin_epoch(self, sweep: Sweep) -> None:
        """Some steps of EM, from where the last ones ended; in units of the net's own numbers."""
        slope, bias = self.gauge()
        own = (sweep.value - bias) / torch.where(slope.abs() > 1e-6, slope, 1.0)
        steps = self.inner if sweep.epoch else FIRST
        found = settle(self._lines(), own, self.crowd_of(sweep), steps, slopes=self.slopes, shape=self.prior_strength)
        for name, value in found.tensors().items():
            getattr(self, name).copy_(value)
        self.unit.copy_(_pull(found, self.crowd_of(sweep)))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """-log p(answers of a task | x), by the matrix determinant lemma: no matrix is built."""
        kind = out.logits.dtype
        slope, bias, variance = (each[batch.worker].to(kind) for each in (self.slope, self.bias, self.variance))
        gap = self.gap.to(kind)
        rest = batch.label - bias - slope * out.logits.index_select(0, batch.row)
        square, lead, total, logs = (
            batch.sum_by_task(each)
            for each in (rest**2 / variance, slope * rest / variance, slope**2 / variance, variance.log())
        )
        spent = square - lead**2 / (1 / gap + total) + torch.log1p(gap * total) + logs
        return {"likelihood": batch.mean_over_tasks((spent / self.unit.to(kind)).sum(1))}

    def raw(self) -> Pair:
        """The lines of all workers."""
        return self.slope, self.bias

    def trust(self) -> Pair:
        """Slopes by what the answers tell of the truth. Biases each once, for each is one draw, which the prior has
        pulled to the crowd where answers are few; but who does not follow the truth has no say in where it lies."""
        follows = (self.heard > 0) * self.slope.clamp_min(0.0)
        if not bool((follows.sum(0) > 0).all()):
            return super().trust()
        return self.heard * follows / self.variance, follows

    def model(self) -> Lines:
        """Lines, spreads and gap against what the mean worker would say; who was unseen has the crowd's spread."""
        mean, (slope, bias) = self.gauge()[0], self.lines()
        variance = torch.where(self.heard > 0, self.variance, self.noise.expand_as(self.variance)).double()
        gap = (self.gap * mean**2).double().clamp_min(SMALLEST)
        return replace(self._lines(), slope=slope.double(), bias=bias.double(), variance=variance, gap=gap)


def _pull(lines: Lines, crowd: NumberCrowd) -> Tensor:
    """How hard a task's answers pull at the net, on the mean over tasks: part.

    The loss is divided by it. It is then in units of a squared error, so that weight decay holds the net as it holds
    that of other methods, and does not let go when the net comes nearer and the gap shrinks.
    """
    precision = crowd.weight[:, None] * (lines.slope**2 / lines.variance)[crowd.worker]
    total = precision.new_zeros(crowd.n_tasks, precision.shape[1]).index_add_(0, crowd.task, precision)
    return (total / (1 + lines.gap * total))[crowd.labelled].mean(0).clamp_min(SMALLEST)
