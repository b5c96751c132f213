"""NumberCrowd: the numbers that a crowd gave, as tensors in standard units, in the order of the features' rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor

from ....core.errors import DataError
from ....core.vocabulary import as_series
from ....core.votes import Votes
from ....learn.data.crowd import Rows, in_rows
from ....learn.data.dataset import FeatureError
from ....learn.method import Method, Output
from ....learn.training.sweep import Sweep
from ..kind import Numbers, number_votes

F8 = npt.NDArray[np.float64]
# An answer further from the task's median than this many usual distances, those between tasks included, is pulled to
# it: one slip of the keyboard (1e6 among numbers of order 1) would otherwise be all that a squared error sees.
FURTHEST = 8.0


@dataclass(frozen=True, eq=False)
class Units:
    """The crowd's own units: value = centre + scale · (what the net says), each by part."""

    centre: F8
    scale: F8

    @classmethod
    def of(cls, votes: Votes[Numbers]) -> Units:
        """Mean and standard deviation of the answers; numbers that are all equal have scale 1."""
        value, weight = votes.answers.value, votes.weight
        if not len(value):
            return cls(np.zeros(value.shape[1]), np.ones(value.shape[1]))
        centre = np.average(value, axis=0, weights=weight)
        spread = np.sqrt(np.average((value - centre) ** 2, axis=0, weights=weight))
        return cls(centre, np.where(spread > 1e-9 * np.abs(value).max(axis=0), spread, 1.0))

    def inward(self, value: F8) -> F8:
        """Standard units."""
        found: F8 = (value - self.centre) / self.scale
        return found

    def outward(self, value: F8) -> F8:
        """The crowd's units again."""
        found: F8 = self.centre + self.scale * value
        return found


@dataclass(frozen=True, eq=False)
class NumberCrowd(Rows):
    """Answers to `n_tasks` tasks as task, worker, label[row, part], weight, sorted by task; a task may have none."""

    n_tasks: int
    n_workers: int
    task: Tensor
    worker: Tensor
    label: Tensor
    weight: Tensor
    offset: Tensor

    @property
    def n_outputs(self) -> int:
        """One number a part of the answer."""
        return int(self.label.shape[1])

    @classmethod
    def of(cls, votes: Votes[Numbers], tasks: pl.Series | None = None, units: Units | None = None) -> Self:
        """The votes as tensors, in `units` (by default their own); `tasks` names the rows of the features."""
        value = votes.answers.value if units is None else units.inward(votes.answers.value)
        order, n_tasks, of, by, weight, offset = in_rows(votes, tasks)
        said = torch.from_numpy(np.ascontiguousarray(value[order], dtype=np.float32))
        return cls(n_tasks, votes.n_workers, of, by, said, weight, offset)

    @classmethod
    def shape(cls, n_workers: int, n_parts: int, n_tasks: int = 0) -> Self:
        """A crowd that has said nothing."""
        none, offset = torch.empty(0, dtype=torch.int64), torch.zeros(n_tasks + 1, dtype=torch.int64)
        return cls(n_tasks, n_workers, none, none, torch.empty(0, n_parts), torch.empty(0), offset)


def numbers_for(y: Any, tasks: Any, n: int) -> tuple[Votes[Numbers], pl.Series]:
    """Votes and the names of the features' rows; rows that weigh nothing are left out."""
    if isinstance(y, Votes):
        if not isinstance(y.answers, Numbers):
            raise FeatureError(
                f"y holds {y.kind.people}; CrowdRegressor learns from numbers, CrowdClassifier from classes"
            )
        votes, names = y, y.tasks if tasks is None else as_series(tasks, "task")
        if tasks is None and len(names) != n:
            raise DataError(
                f"there are {n:,} rows of features for {len(names):,} tasks; say with tasks= which row is which"
            )
    else:
        names = pl.Series("task", np.arange(n) if tasks is None else tasks)
        votes = _from_matrix(y, names, n)
    if len(names) != n:
        raise DataError(f"tasks= names {len(names):,} tasks, X has {n:,} rows")
    if votes.weight is not None:
        votes = votes.take(votes.weight > 0)
    return votes, names


def _from_matrix(y: Any, names: pl.Series, n: int) -> Votes[Numbers]:
    """A wide matrix, one column a worker (missing: nan), or one number a row."""
    if y is None:
        raise FeatureError("CrowdRegressor requires y to be passed, but the target y is None; give what the crowd said")
    try:
        matrix = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y, dtype=np.float64)
    except (TypeError, ValueError):
        raise FeatureError("y must be numbers, one column a worker; a missing one is nan") from None
    if matrix.ndim not in (1, 2) or len(matrix) != n or len(names) != n:
        raise FeatureError(f"y has shape {matrix.shape} and X has {n:,} rows; one row a task is needed")
    if np.isinf(matrix).any() or (matrix.ndim == 1 and np.isnan(matrix).any()):
        raise FeatureError("y contains NaN or infinity; a missing number is nan only in a matrix, one column a worker")
    wide = matrix if matrix.ndim == 2 else matrix[:, None]
    task, worker = np.nonzero(~np.isnan(wide))
    return number_votes(names.gather(task), worker, wide[task, worker], tasks=names, workers=range(wide.shape[1]))


def pulled_in(votes: Votes[Numbers]) -> Votes[Numbers]:
    """The votes with answers no further than FURTHEST usual distances from the median of their task."""
    value = np.array(votes.answers.value)
    for part in range(value.shape[1] if len(value) else 0):
        table = pl.DataFrame({"task": votes.task, "value": value[:, part]})
        middle = table.select(pl.col("value").median().over("task")).to_series().to_numpy()
        away = value[:, part] - middle
        reach = FURTHEST * max(_usual(away), _usual(value[:, part] - np.median(value[:, part])))
        value[:, part] = np.where(np.abs(away) > reach, middle + np.clip(away, -reach, reach), value[:, part])
    return replace(votes, answers=Numbers(value, votes.answers.parts))


def _usual(away: F8) -> float:
    """The median distance of those who are away at all."""
    some = np.abs(away[away != 0])
    return float(np.median(some)) if len(some) else 0.0


# ----------------------------------------------------------------
# Workers as lines: what each makes of the truth, found by EM with what a net says of every task as what is known.
#     y_n ~ N(f_n, gap)     r ~ N(slope_w y_n + bias_w, variance_w)     for each part of an answer by itself
#     slope_w ~ N(1, slope_prior)     bias_w ~ N(0, bias_prior)     1 / variance_w ~ Gamma(a, a · noise)
#
# `gap` is how far the truth is from the net, `noise` the crowd's own variance; both, and the two prior variances, are
# fitted. A worker with one answer stays near the crowd. Lines and truth share one scale, which answers cannot tell:
# slopes are held to a mean of one, workers counting by what their answers tell. No worker is taken for more than 4
# times as precise as the median: one who always says the same would otherwise be trusted without end.

SHAPE = 10.0  # a, in half labels
CAP = 4.0
SMALLEST = 1e-4  # of a variance, in standard units
PSEUDO = 1.0  # workers that the priors of the priors count for
BIAS, SLOPE = 0.1, 0.05  # what this worker says of bias_prior and slope_prior


@dataclass(frozen=True, eq=False)
class Lines:
    """slope, bias, variance[worker, part]; gap, noise, bias_prior, slope_prior[part]: in standard units."""

    slope: Tensor
    bias: Tensor
    variance: Tensor
    gap: Tensor
    noise: Tensor
    bias_prior: Tensor
    slope_prior: Tensor

    @classmethod
    def start(cls, n_workers: int, n_parts: int) -> Lines:
        """Everybody is right, half of the variance is noise."""
        every, each = torch.ones(n_workers, n_parts, dtype=torch.float64), torch.ones(n_parts, dtype=torch.float64)
        return cls(every, 0 * every, every / 2, each / 2, each / 2, BIAS * each, SLOPE * each)

    def tensors(self) -> dict[str, Tensor]:
        """All of it by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


Pair = tuple[Tensor, Tensor]  # of slope and bias


def mean_line(line: Pair, trust: Pair) -> Pair:
    """slope, bias[part] of the mean worker, who counts everybody's by trust[worker, part] in each; all alike where
    nobody has any."""
    by_slope, by_bias = (torch.where((total := each.sum(0)) > 0, each / total.clamp_min(1e-30), 1 / max(len(each), 1))
                         for each in trust)  # fmt: skip
    slope = (by_slope * line[0]).sum(0)
    return slope, (by_bias * line[1]).sum(0) / _safe((by_bias * line[0]).sum(0) / _safe(slope))


def _safe(slope: Tensor) -> Tensor:
    """Something to divide by."""
    return torch.where(slope.abs() > 1e-6, slope, torch.ones_like(slope))


def against(line: Pair, mean: Pair) -> Pair:
    """slope, bias[worker, part] against what the mean worker would say: there the mean slope is 1, the mean bias 0."""
    own = line[0] / _safe(mean[0])
    return own, line[1] - own * mean[1]


def truth(lines: Lines, value: Tensor, crowd: NumberCrowd) -> tuple[Tensor, Tensor]:
    """Mean and variance of y[task, part] given the net's value[task, part] and the answers."""
    slope, precision = lines.slope[crowd.worker], crowd.weight.double()[:, None] / lines.variance[crowd.worker]
    said = crowd.label.double() - lines.bias[crowd.worker]
    total = (1 / lines.gap).expand(crowd.n_tasks, -1).index_add(0, crowd.task, precision * slope**2)
    lead = (value.double() / lines.gap).index_add(0, crowd.task, precision * slope * said)
    return lead / total, 1 / total


def renew(lines: Lines, value: Tensor, crowd: NumberCrowd, *, slopes: bool = True, shape: float = SHAPE) -> Lines:
    """One step of EM: the truth under these lines, then the lines under that truth."""
    mean, spread = truth(lines, value, crowd)
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    y, r, v = mean[crowd.task], crowd.label.double(), spread[crowd.task]

    def total(values: Tensor) -> Tensor:
        return torch.zeros(crowd.n_workers, values.shape[1], dtype=torch.float64).index_add_(0, worker, weight * values)

    n, sum_y, sum_r = total(torch.ones_like(y)), total(y), total(r)
    # The two normal equations of bias and slope, with their priors; the slope's is left out where slopes are one.
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
    rest = r - bias[worker] - slope[worker] * y
    variance = (total(rest**2 + slope[worker] ** 2 * v) + 2 * shape * lines.noise) / (n + 2 * shape)
    seen = n[:, 0] > 0
    variance = torch.maximum(variance, variance[seen].median(0).values / CAP).clamp_min(SMALLEST)
    known, m = crowd.labelled, float(seen.sum())
    if slopes:
        say = n * slope.clamp_min(0.0) / variance
        slope = slope / _safe((say * slope).sum(0) / say.sum(0).clamp_min(1e-30))
    return Lines(
        slope, bias, variance,
        gap=((mean - value.double())[known] ** 2 + spread[known]).mean(0).clamp_min(SMALLEST),
        noise=1 / (1 / variance[seen]).mean(0),
        bias_prior=((bias**2 + bias_sure)[seen].sum(0) + PSEUDO * BIAS) / (m + PSEUDO),
        slope_prior=(((slope - 1) ** 2 + slope_sure)[seen].sum(0) + PSEUDO * SLOPE) / (m + PSEUDO),
    )  # fmt: skip


def settle(
    lines: Lines, value: Tensor, crowd: NumberCrowd, steps: int, *, slopes: bool = True, shape: float = SHAPE
) -> Lines:
    """So many steps of EM, on the processor and in double precision, wherever the crowd is."""
    there, crowd, value = lines.gap.device, crowd.to("cpu"), value.cpu()
    lines = Lines(**{name: part.cpu() for name, part in lines.tensors().items()})
    for _ in range(steps if len(crowd) else 0):
        lines = renew(lines, value, crowd, slopes=slopes, shape=shape)
    return Lines(**{name: part.to(there) for name, part in lines.tensors().items()})


def gap_of(lines: Lines, value: Tensor, crowd: NumberCrowd, steps: int = 50) -> Tensor:
    """How far the truth of these tasks is from the net's value[task, part], the workers being as they are: part."""
    known = crowd.labelled
    for _ in range(steps):
        mean, spread = truth(lines, value, crowd)
        found = ((mean - value.double())[known] ** 2 + spread[known]).mean(0).clamp_min(SMALLEST)
        lines = replace(lines, gap=found)
    return lines.gap


# ----------------------------------------------------------------
# NumberMethod: what a training method must say that learns from numbers.


class NumberMethod(Method):
    """A worker's answer is slope_w f(x) + bias_w and noise. f, slopes and biases are told apart only by convention.

    So what is reported is what the crowd's mean worker would answer: there slopes have mean one and biases mean zero,
    over the workers by `trust`. `heard[worker, 1]` is the weight of each worker's answers; whoever has none is the mean
    worker.
    """

    def __init__(self, crowd: NumberCrowd) -> None:
        heard = torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)
        super().__init__(crowd, heard[:, None])

    def wanted(self) -> str:
        """One output a part of an answer."""
        return "an answer is one number" if self.n_outputs == 1 else f"an answer has {self.n_outputs} numbers"

    def raw(self) -> Pair:
        """slope, bias[worker, part] of every worker in the net's own numbers."""
        ones = self.heard.new_ones(self.n_workers, self.n_outputs)
        return ones, torch.zeros_like(ones)

    def trust(self) -> Pair:
        """How much each worker counts in the mean worker's slope and bias: worker, part. By default by answers."""
        heard = self.heard.expand(-1, self.n_outputs)
        return heard, heard

    def gauge(self) -> Pair:
        """slope, bias[part] of the mean worker in the net's own numbers."""
        return mean_line(self.raw(), self.trust())

    def answer(self, out: Output) -> Tensor:
        """What the mean worker would say: B, part."""
        slope, bias = self.gauge()
        return slope * out.logits + bias

    def lines(self) -> Pair:
        """slope, bias[worker, part] against what the mean worker would say."""
        slope, bias = against(self.raw(), self.gauge())
        heard = self.heard > 0
        return torch.where(heard, slope, 1.0), torch.where(heard, bias, 0.0)

    def model(self) -> Lines | None:
        """Lines with variances against what the mean worker would say, for methods that have a likelihood."""
        return None

    @staticmethod
    def crowd_of(sweep: Sweep) -> NumberCrowd:
        """The whole crowd of a sweep, which for these methods has numbers."""
        return cast("NumberCrowd", cast("object", sweep.crowd))
