"""Workers as lines: what each makes of the truth, found by EM with what a net says of every task as what is known.

    y_n ~ N(f_n, gap)     r ~ N(slope_w y_n + bias_w, variance_w)     for each part of an answer by itself
    slope_w ~ N(1, slope_prior)     bias_w ~ N(0, bias_prior)     1 / variance_w ~ Gamma(a, a · noise)

`gap` is how far the truth is from the net, `noise` the crowd's own variance; both, and the two prior variances, are
fitted. A worker with one answer stays near the crowd. Lines and truth share one scale, which answers cannot tell:
slopes are held to a mean of one, workers counting by what their answers tell. No worker is taken for more than 4 times
as precise as the median: one who always says the same would otherwise be trusted without end.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from .crowd import NumberCrowd

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
