"""Answers of a crowd as tensors, workers as lines fitted by EM, and the base class of the training methods."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self, cast

import numpy as np
import polars as pl
import torch
from torch import Tensor

from ....core.arrays import F8
from ....core.votes import Votes
from ....learn.data.crowd import AnswerRows, in_rows
from ....learn.data.dataset import FeatureError, task_names
from ....learn.method import Output, TrainingMethod
from ....learn.training.sweep import Sweep
from ..answers import Numbers, number_votes

# Answers are clamped to this many typical distances (including those between tasks) from the median of their task.
# Otherwise a single typo (1e6 among numbers of order 1) would dominate the squared error.
FURTHEST = 8.0


@dataclass(frozen=True, eq=False)
class AnswerScale:
    """AnswerScale of the answers by part: value = centre + scale · (output of the network)."""

    centre: F8
    scale: F8

    @classmethod
    def of(cls, votes: Votes[Numbers]) -> AnswerScale:
        """Mean and standard deviation of the answers; equal answers have scale 1."""
        value, weight = votes.answers.value, votes.weight
        if not len(value):
            return cls(np.zeros(value.shape[1]), np.ones(value.shape[1]))
        centre = np.average(value, axis=0, weights=weight)
        spread = np.sqrt(np.average((value - centre) ** 2, axis=0, weights=weight))
        return cls(centre, np.where(spread > 1e-9 * np.abs(value).max(axis=0), spread, 1.0))

    def to_standard(self, value: F8) -> F8:
        """Convert to standard units."""
        scaled: F8 = (value - self.centre) / self.scale
        return scaled

    def from_standard(self, value: F8) -> F8:
        """Convert from standard units to those of the answers."""
        restored: F8 = self.centre + self.scale * value
        return restored


@dataclass(frozen=True, eq=False)
class NumberCrowd(AnswerRows):
    """Answers as task, worker, label[row, part] and weight, sorted by task; a task may have no answers."""

    n_tasks: int
    n_workers: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """Number of parts of an answer."""
        return int(self.label.shape[1])

    @classmethod
    def of(cls, votes: Votes[Numbers], tasks: pl.Series | None = None, units: AnswerScale | None = None) -> Self:
        """Convert votes to tensors, in standard units if `units` is given; `tasks` names the rows of the features."""
        value = votes.answers.value if units is None else units.to_standard(votes.answers.value)
        order, n_tasks, task, worker, weight, offset = in_rows(votes, tasks)
        labels = torch.from_numpy(np.ascontiguousarray(value[order], dtype=np.float32))
        return cls(n_tasks, votes.n_workers, task, worker, labels, weight, offset)

    @classmethod
    def shape(cls, n_workers: int, n_parts: int, n_tasks: int = 0) -> Self:
        """A crowd without answers."""
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(n_tasks, n_workers, none, none, torch.empty(0, n_parts), torch.empty(0), offset)


def numbers_for(y: Any, tasks: Any, n: int) -> tuple[Votes[Numbers], pl.Series]:
    """Votes and the task of each row of features; answers of weight 0 are dropped."""
    if isinstance(y, Votes):
        if not isinstance(y.answers, Numbers):
            raise FeatureError(
                f"y holds {y.kind.display_name}; CrowdRegressor learns from numbers, CrowdClassifier from classes"
            )
        votes, names = y, task_names(y, tasks, n)
    else:
        names = task_names(None, tasks, n)
        votes = _from_matrix(y, names, n)
    if votes.weight is not None:
        votes = votes.take(votes.weight > 0)
    return votes, names


def _from_matrix(y: Any, names: pl.Series, n: int) -> Votes[Numbers]:
    """Votes from a matrix with one column per worker (missing: nan), or from one number per row."""
    if y is None:
        raise FeatureError("CrowdRegressor requires y to be passed, but the target y is None; pass the crowd's answers")
    try:
        matrix = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=np.float64)
    except (TypeError, ValueError):
        raise FeatureError("y must be numeric, with one column per worker and nan for missing answers") from None
    if matrix.ndim not in (1, 2) or len(matrix) != n:
        raise FeatureError(f"y has shape {matrix.shape} and X has {n:,} rows; one row per task is needed")
    if np.isinf(matrix).any() or (matrix.ndim == 1 and np.isnan(matrix).any()):
        raise FeatureError("y contains NaN or infinity; nan is allowed only in a matrix with one column per worker")
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    task, worker = np.nonzero(~np.isnan(wide))
    return number_votes(names.gather(task), worker, wide[task, worker], tasks=names, workers=range(wide.shape[1]))


def clamp_outliers(votes: Votes[Numbers]) -> Votes[Numbers]:
    """Clamp answers to FURTHEST typical distances from the median of their task."""
    value = np.array(votes.answers.value)
    for part in range(value.shape[1] if len(value) else 0):
        table = pl.DataFrame({"task": votes.task, "value": value[:, part]})
        middle = table.select(pl.col("value").median().over("task")).to_series().to_numpy()
        away = value[:, part] - middle
        reach = FURTHEST * max(_usual(away), _usual(value[:, part] - np.median(value[:, part])))
        value[:, part] = np.where(np.abs(away) > reach, middle + np.clip(away, -reach, reach), value[:, part])
    return replace(votes, answers=Numbers(value, votes.answers.parts))


def _usual(distance: F8) -> float:
    """Median of the nonzero distances."""
    nonzero = np.abs(distance[distance != 0])
    return float(np.median(nonzero)) if len(nonzero) else 0.0


# ----------------------------------------------------------------
# Workers as lines, fitted by EM with the predictions f of a network as the prior of the truth.
#     y_n ~ N(f_n, gap)     r ~ N(slope_w y_n + bias_w, variance_w)     for each part of an answer separately
#     slope_w ~ N(1, slope_prior)     bias_w ~ N(0, bias_prior)     1 / variance_w ~ Gamma(a, a · noise)
#
# `gap` is the variance of the truth around the network's prediction, `noise` the crowd's variance; both, and the two
# prior variances, are fitted. A worker with one answer stays near the crowd. Lines and truth share one scale that the
# answers do not determine: slopes are fixed to an information-weighted mean of one. No worker is taken to be more than
# 4 times as precise as the median; a worker who always gives the same answer would otherwise be trusted without limit.

SHAPE = 10.0  # a, in half answers
CAP = 4.0
SMALLEST = 1e-4  # smallest variance, in standard units
PSEUDO = 1.0  # weight of the hyperpriors, in workers
BIAS, SLOPE = 0.1, 0.05  # hyperprior values of bias_prior and slope_prior


@dataclass(frozen=True, eq=False)
class Lines:
    """slope, bias, variance[worker, part] and gap, noise, bias_prior, slope_prior[part], in standard units."""

    slope: Tensor
    bias: Tensor
    variance: Tensor
    gap: Tensor
    noise: Tensor
    bias_prior: Tensor
    slope_prior: Tensor

    @classmethod
    def start(cls, n_workers: int, n_parts: int) -> Lines:
        """Start with slopes of one, no biases, and half of the variance as noise."""
        per_worker, per_part = (
            torch.ones(n_workers, n_parts, dtype=torch.float64),
            torch.ones(n_parts, dtype=torch.float64),
        )
        return cls(
            per_worker, 0 * per_worker, per_worker / 2, per_part / 2, per_part / 2, BIAS * per_part, SLOPE * per_part
        )

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


Pair = tuple[Tensor, Tensor]  # of slope and bias


def mean_line(line: Pair, trust: Pair) -> Pair:
    """slope, bias[part] of the mean worker, weighted by trust[worker, part]; equal weights where all are zero."""
    by_slope, by_bias = (
        torch.where((total := weight.sum(0)) > 0, weight / total.clamp_min(1e-30), 1 / max(len(weight), 1))
        for weight in trust
    )
    slope = (by_slope * line[0]).sum(0)
    return slope, (by_bias * line[1]).sum(0) / _safe((by_bias * line[0]).sum(0) / _safe(slope))


def _safe(slope: Tensor) -> Tensor:
    """Replace slopes near zero by one, to divide by."""
    return torch.where(slope.abs() > 1e-6, slope, torch.ones_like(slope))


def relative_to(line: Pair, mean: Pair) -> Pair:
    """slope, bias[worker, part] relative to the mean worker, so that the mean slope is 1 and the mean bias 0."""
    slope = line[0] / _safe(mean[0])
    return slope, line[1] - slope * mean[1]


def truth(lines: Lines, value: Tensor, crowd: NumberCrowd) -> tuple[Tensor, Tensor]:
    """Mean and variance of y[task, part] given the network's value[task, part] and the answers."""
    slope, precision = lines.slope[crowd.worker], crowd.weight.double()[:, None] / lines.variance[crowd.worker]
    debiased = crowd.label.double() - lines.bias[crowd.worker]
    total = (1 / lines.gap).expand(crowd.n_tasks, -1).index_add(0, crowd.task, precision * slope**2)
    lead = (value.double() / lines.gap).index_add(0, crowd.task, precision * slope * debiased)
    return lead / total, 1 / total


def renew(lines: Lines, value: Tensor, crowd: NumberCrowd, *, slopes: bool = True, shape: float = SHAPE) -> Lines:
    """Run one EM step: the truth under these lines, then the lines under that truth."""
    mean, spread = truth(lines, value, crowd)
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    y, r, v = mean[crowd.task], crowd.label.double(), spread[crowd.task]

    def total(values: Tensor) -> Tensor:
        return torch.zeros(crowd.n_workers, values.shape[1], dtype=torch.float64).index_add_(0, worker, weight * values)

    n, sum_y, sum_r = total(torch.ones_like(y)), total(y), total(r)
    # Normal equations of bias and slope with their priors; without the slope where slopes are fixed to one.
    bb = n / lines.variance + 1 / lines.bias_prior
    if slopes:
        ss, bs = total(y**2 + v) / lines.variance + 1 / lines.slope_prior, sum_y / lines.variance
        to_b, to_s = sum_r / lines.variance, total(r * y) / lines.variance + 1 / lines.slope_prior
        det = bb * ss - bs**2
        bias, slope = (to_b * ss - bs * to_s) / det, (bb * to_s - bs * to_b) / det
        bias_sure, slope_sure = ss / det, bb / det
    else:
        bias, slope = (sum_r - sum_y) / lines.variance / bb, torch.ones_like(n)
        bias_sure, slope_sure = 1 / bb, torch.zeros_like(n)
    residual = r - bias[worker] - slope[worker] * y
    variance = (total(residual**2 + slope[worker] ** 2 * v) + 2 * shape * lines.noise) / (n + 2 * shape)
    active = n[:, 0] > 0
    variance = torch.maximum(variance, variance[active].median(0).values / CAP).clamp_min(SMALLEST)
    labelled, m = crowd.labelled, float(active.sum())
    if slopes:
        influence = n * slope.clamp_min(0.0) / variance
        slope = slope / _safe((influence * slope).sum(0) / influence.sum(0).clamp_min(1e-30))
    return Lines(
        slope, bias, variance,
        gap=((mean - value.double())[labelled] ** 2 + spread[labelled]).mean(0).clamp_min(SMALLEST),
        noise=1 / (1 / variance[active]).mean(0),
        bias_prior=((bias**2 + bias_sure)[active].sum(0) + PSEUDO * BIAS) / (m + PSEUDO),
        slope_prior=(((slope - 1) ** 2 + slope_sure)[active].sum(0) + PSEUDO * SLOPE) / (m + PSEUDO),
    )  # fmt: skip


def settle(
    lines: Lines, value: Tensor, crowd: NumberCrowd, steps: int, *, slopes: bool = True, shape: float = SHAPE
) -> Lines:
    """Run EM steps on the CPU in double precision and return the lines on their original device."""
    device, crowd, value = lines.gap.device, crowd.to("cpu"), value.cpu()
    lines = Lines(**{name: part.cpu() for name, part in lines.tensors().items()})
    for _ in range(steps if len(crowd) else 0):
        lines = renew(lines, value, crowd, slopes=slopes, shape=shape)
    return Lines(**{name: part.to(device) for name, part in lines.tensors().items()})


def gap_of(lines: Lines, value: Tensor, crowd: NumberCrowd, steps: int = 50) -> Tensor:
    """Fit gap[part], the variance of the truth around the network's value[task, part], with the workers fixed."""
    labelled = crowd.labelled
    for _ in range(steps):
        mean, spread = truth(lines, value, crowd)
        gap = ((mean - value.double())[labelled] ** 2 + spread[labelled]).mean(0).clamp_min(SMALLEST)
        lines = replace(lines, gap=gap)
    return lines.gap


# ----------------------------------------------------------------
# Base class of the training methods for numbers.


class NumberMethod(TrainingMethod):
    """Base class: a worker's answer is slope_w f(x) + bias_w plus noise.

    The scale and offset of f, slopes and biases are identified only by convention. Predictions are therefore those of
    the mean worker: weighted by `trust`, slopes have mean one and biases mean zero. Workers without answers are taken
    for the mean worker.
    """

    def __init__(self, crowd: NumberCrowd) -> None:
        weight = torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)
        super().__init__(crowd, weight[:, None])

    def outputs_reason(self) -> str:
        """Describe the required number of outputs: one per part of an answer."""
        return "an answer is one number" if self.n_outputs == 1 else f"an answer has {self.n_outputs} numbers"

    def raw(self) -> Pair:
        """slope, bias[worker, part] relative to the network's output."""
        ones = self.label_weight.new_ones(self.n_workers, self.n_outputs)
        return ones, torch.zeros_like(ones)

    def trust(self) -> Pair:
        """Weights [worker, part] of the workers in the mean slope and the mean bias; by default numbers of answers."""
        weight = self.label_weight.expand(-1, self.n_outputs)
        return weight, weight

    def gauge(self) -> Pair:
        """slope, bias[part] of the mean worker relative to the network's output."""
        return mean_line(self.raw(), self.trust())

    def answer(self, out: Output) -> Tensor:
        """Answers [batch, part] of the mean worker."""
        slope, bias = self.gauge()
        return slope * out.logits + bias

    def lines(self) -> Pair:
        """slope, bias[worker, part] relative to the mean worker."""
        slope, bias = relative_to(self.raw(), self.gauge())
        has_answers = self.label_weight > 0
        return torch.where(has_answers, slope, 1.0), torch.where(has_answers, bias, 0.0)

    def model(self) -> Lines | None:
        """Lines and variances relative to the mean worker, for methods with a likelihood."""
        return None

    @staticmethod
    def crowd_of(sweep: Sweep) -> NumberCrowd:
        """The crowd of a sweep."""
        return cast("NumberCrowd", cast("object", sweep.crowd))
