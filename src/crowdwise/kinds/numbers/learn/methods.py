"""Training methods for numbers: crowd layers, the Gaussian network, and the mean target.

A crowd layer adds a slope and a bias for each worker on top of the network's output.

    S   s_w f(x)        B   f(x) + b_w        SB   s_w f(x) + b_w        BS   s_w (f(x) + b_w)
    minimise  mean over answers of (answer - prediction)²,  starting at s = 1, b = 0

All answers have the same weight, so careless workers do as much harm as careful ones do good; `gaussian_net` weights
them. The parameters have no prior: the bias of a worker with a single answer is its residual, which does not affect
the network. Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.3.
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
    """Base class of the crowd layers: slopes where the form has an s, biases where it has a b."""

    form: ClassVar[Literal["s", "b", "sb", "bs"]]
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd, *, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, p = crowd.n_workers, crowd.n_outputs
        start = {"s": torch.ones(m, p), "b": torch.zeros(m, p)}
        self.layer = nn.ModuleDict({name: WorkerTable(start[name], sparse=sparse) for name in self.form})

    def tables(self) -> list[tuple[str, WorkerTable]]:
        """Parameter tables of the layer by name (s, b)."""
        return [(name, table) for name, table in self.layer.items() if isinstance(table, WorkerTable)]

    def _table(self, name: str) -> WorkerTable | None:
        return dict(self.tables()).get(name)

    def _line(self, slope: Tensor | None, bias: Tensor | None) -> tuple[Tensor | float, Tensor | float]:
        """Slope and bias of the form's line; 1 and 0 where it has none."""
        if slope is None or bias is None:
            return 1.0 if slope is None else slope, 0.0 if bias is None else bias
        return slope, slope * bias if self.form == "bs" else bias

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error of each answer."""
        tables = self._table("s"), self._table("b")
        slope, bias = self._line(*(None if table is None else table.rows(batch.worker) for table in tables))
        error = batch.label - slope * out.logits.index_select(0, batch.row) - bias
        return {"squared_error": batch.mean_over_labels((error**2).sum(1))}

    def raw(self) -> Pair:
        """slope, bias[worker, part] relative to the network's output."""
        slope, bias = super().raw()
        tables = self._table("s"), self._table("b")
        form_line = self._line(*(None if table is None else table.all().detach() for table in tables))
        return slope * form_line[0], bias + form_line[1]


class CrowdLayerS(_Layer):
    """A slope per worker: workers use different parts of the scale."""

    name, form = "crowd_layer_s", "s"


class CrowdLayerB(_Layer):
    """A bias per worker: workers are strict or lenient."""

    name, form = "crowd_layer_b", "b"


class CrowdLayerSB(_Layer):
    """A slope, then a bias per worker."""

    name, form = "crowd_layer_sb", "sb"


class CrowdLayerBS(_Layer):
    """A bias, then a slope per worker: the same lines as SB in another parametrisation."""

    name, form = "crowd_layer_bs", "bs"


FIRST = 30  # EM steps before the first epoch, when the network is untrained


class GaussianNet(NumberMethod):
    """Gaussian network: the truth lies around the network's output; workers have a bias, a slope and a spread.

        y ~ N(f(x), gap)        r_w ~ N(s_w y + b_w, sigma_w²)
        minimise  -2 log N(r; s f(x) + b, diag(sigma²) + gap s sᵀ) / unit,  the truth integrated out, task by task

    The network is trained on this loss by gradient descent. Before each epoch, slopes, biases, spreads and the gap are
    updated by a few EM steps, under priors that keep workers with few answers near the crowd (see `Lines`). The gap
    models the correlation of the answers to one task: without it, the workers' spreads would absorb the network's
    errors and all workers would look the same. Raykar et al. 2010, Learning from crowds, JMLR 11, section 4, with
    slopes, priors and a network.

    Args:
        crowd: The answers.
        slopes: Whether to fit slopes; otherwise only biases and spreads.
        prior_strength: Weight of the crowd's spread in that of a worker, in half answers.
        inner: Number of EM steps before each epoch.
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
        """Run a few EM steps from the current state, in units of the network's output."""
        slope, bias = self.gauge()
        output = (sweep.value - bias) / torch.where(slope.abs() > 1e-6, slope, 1.0)
        steps = self.inner if sweep.epoch else FIRST
        lines = settle(
            self._lines(), output, self.crowd_of(sweep), steps, slopes=self.slopes, shape=self.prior_strength
        )
        for name, value in lines.tensors().items():
            getattr(self, name).copy_(value)
        self.unit.copy_(_pull(lines, self.crowd_of(sweep)))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """-log p(answers of a task | x), by the matrix determinant lemma: no matrix is built."""
        dtype = out.logits.dtype
        slope, bias, variance = (values[batch.worker].to(dtype) for values in (self.slope, self.bias, self.variance))
        gap = self.gap.to(dtype)
        residual = batch.label - bias - slope * out.logits.index_select(0, batch.row)
        square, lead, total, logs = (
            batch.sum_by_task(values)
            for values in (residual**2 / variance, slope * residual / variance, slope**2 / variance, variance.log())
        )
        loss = square - lead**2 / (1 / gap + total) + torch.log1p(gap * total) + logs
        return {"likelihood": batch.mean_over_tasks((loss / self.unit.to(dtype)).sum(1))}

    def raw(self) -> Pair:
        """slope, bias[worker, part] relative to the network's output."""
        return self.slope, self.bias

    def trust(self) -> Pair:
        """Weights of slopes: information of the answers about the truth. Weights of biases: the slope, equal for all
        who follow the truth, because the prior already shrinks the biases of workers with few answers."""
        follows = (self.label_weight > 0) * self.slope.clamp_min(0.0)
        if not bool((follows.sum(0) > 0).all()):
            return super().trust()
        return self.label_weight * follows / self.variance, follows

    def model(self) -> Lines:
        """Lines, spreads and gap relative to the mean worker. Workers without answers get the crowd's spread."""
        mean, (slope, bias) = self.gauge()[0], self.lines()
        variance = torch.where(self.label_weight > 0, self.variance, self.noise.expand_as(self.variance)).double()
        gap = (self.gap * mean**2).double().clamp_min(SMALLEST)
        return replace(self._lines(), slope=slope.double(), bias=bias.double(), variance=variance, gap=gap)


def _pull(lines: Lines, crowd: NumberCrowd) -> Tensor:
    """Mean over tasks of the precision with which the answers determine the network's output, by part.

    The loss is divided by it. It is then in units of a squared error, so that weight decay is as strong as for other
    methods and does not weaken when the gap shrinks during training.
    """
    precision = crowd.weight[:, None] * (lines.slope**2 / lines.variance)[crowd.worker]
    total = precision.new_zeros(crowd.n_tasks, precision.shape[1]).index_add_(0, crowd.task, precision)
    return (total / (1 + lines.gap * total))[crowd.labelled].mean(0).clamp_min(SMALLEST)


class MeanTarget(NumberMethod):
    """Mean target: the network trained on the mean of each task's answers, without a model of the workers.

        minimise  mean over tasks of |mean_w r_w - f(x)|²

    The baseline. Fails where workers differ in bias and tasks in workers: the target then depends on which workers
    answered.
    """

    name = "mean_target"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd) -> None:
        super().__init__(crowd)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error relative to the mean."""
        weight = batch.sum_by_task(batch.weight.new_ones(len(batch.row), 1))
        target = batch.sum_by_task(batch.label) / weight.clamp_min(1e-12)
        error = ((target - out.logits) ** 2).sum(1)
        return {"squared_error": batch.mean_over_tasks(error * (weight[:, 0] > 0))}
