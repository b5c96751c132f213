"""Crowd Layer for numbers: a slope and a bias for every worker on top of the net's number.

    S   s_w f(x)        B   f(x) + b_w        SB   s_w f(x) + b_w        BS   s_w (f(x) + b_w)
    minimise  mean over answers of (answer - that)²,  from s = 1, b = 0

Every answer weighs the same, so a careless worker costs the net as much as a careful one teaches it; `gaussian_net`
weighs them. Nothing holds a worker with one answer: their bias is what that answer is off by, which does the net no
harm.
Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.3.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from ....core.params import Count, Positive
from ....learn.data.batch import CrowdBatch
from ....learn.method import Defaults, Output
from ....learn.tables import WorkerTable
from ....learn.training.sweep import Sweep
from .crowd import SHAPE, SMALLEST, Lines, NumberCrowd, NumberMethod, Pair, settle


class _Layer(NumberMethod):
    """Slopes where the form has an s, biases where it has a b."""

    form: ClassVar[Literal["s", "b", "sb", "bs"]]
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd, *, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, p = crowd.n_workers, crowd.n_outputs
        start = {"s": torch.ones(m, p), "b": torch.zeros(m, p)}
        self.layer = nn.ModuleDict({each: WorkerTable(start[each], sparse=sparse) for each in self.form})

    def tables(self) -> list[tuple[str, WorkerTable]]:
        """What the layer is made of: s, b."""
        return [(name, table) for name, table in self.layer.items() if isinstance(table, WorkerTable)]

    def _table(self, name: str) -> WorkerTable | None:
        return dict(self.tables()).get(name)

    def _line(self, slope: Tensor | None, bias: Tensor | None) -> tuple[Tensor | float, Tensor | float]:
        """Slope and bias of the line that the form draws; 1 and 0 where it has none."""
        if slope is None or bias is None:
            return 1.0 if slope is None else slope, 0.0 if bias is None else bias
        return slope, slope * bias if self.form == "bs" else bias

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error of every answer."""
        tables = self._table("s"), self._table("b")
        slope, bias = self._line(*(None if each is None else each.rows(batch.worker) for each in tables))
        error = batch.label - slope * out.logits.index_select(0, batch.row) - bias
        return {"squared_error": batch.mean_over_labels((error**2).sum(1))}

    def raw(self) -> Pair:
        """The lines of all workers."""
        slope, bias = super().raw()
        tables = self._table("s"), self._table("b")
        own = self._line(*(None if each is None else each.all().detach() for each in tables))
        return slope * own[0], bias + own[1]


class CrowdLayerS(_Layer):
    """A slope per worker: they use another part of the scale."""

    name, form = "crowd_layer_s", "s"


class CrowdLayerB(_Layer):
    """A bias per worker: they are strict or kind."""

    name, form = "crowd_layer_b", "b"


class CrowdLayerSB(_Layer):
    """A slope, then a bias per worker."""

    name, form = "crowd_layer_sb", "sb"


class CrowdLayerBS(_Layer):
    """A bias, then a slope per worker: the same lines as SB, another way to learn them."""

    name, form = "crowd_layer_bs", "bs"


FIRST = 30  # steps of EM before the first epoch, in which the net knows nothing yet


class GaussianNet(NumberMethod):
    """Gaussian net: the truth lies around the net's number, and every worker has a bias, a slope and a spread.

        y ~ N(f(x), gap)        r_w ~ N(s_w y + b_w, sigma_w²)
        minimise  -2 log N(r; s f(x) + b, diag(sigma²) + gap s sᵀ) / unit,  the truth integrated out, task by task

    The net follows that loss by gradient. Before every epoch slopes, biases, spreads and the gap are found by some
    steps of EM, under priors that keep a worker with few answers near the crowd (`numbers/lines.py`). The gap is
    what makes answers to one task hang together: without it a worker's spread would hold the net's own errors, and
    all workers look alike. Raykar et al. 2010, Learning from crowds, JMLR 11, section 4, with slopes, priors and a
    net.

    `slopes=False`: biases and spreads only. `prior_strength`: how many half answers hold a worker's spread to the
    crowd's; `inner`: steps of EM before an epoch.
    """

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


class MeanTarget(NumberMethod):
    """Mean target: the net alone, trained on the mean of what a task's workers said.

        minimise  mean over tasks of |mean_w r_w - f(x)|²

    The baseline. Fails where workers differ in bias and tasks in workers: the net's target then says who was asked.

    Training on the workers' mean: the baseline that every other method must beat. It knows nothing of workers.
    """

    name = "mean_target"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd) -> None:
        super().__init__(crowd)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error to the mean."""
        weight = batch.sum_by_task(batch.weight.new_ones(len(batch.row), 1))
        target = batch.sum_by_task(batch.label) / weight.clamp_min(1e-12)
        error = ((target - out.logits) ** 2).sum(1)
        return {"squared_error": batch.mean_over_tasks(error * (weight[:, 0] > 0))}
