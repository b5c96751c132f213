"""A picture of each worker beside the others: bias, spread, slope, correlation, and flags with p-values.

A worker is held against the estimates of their tasks without their own answers, so that nobody confirms themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...alike.population import Chances
from ..apply import without_own
from ..fit import Fit
from ..rows import F8, I4, Mask, Rows
from .copying import Copying, copying
from .following import following

LEAST = 8  # answers below which no flag is raised
ALPHA = 0.01


@dataclass(frozen=True, eq=False)
class Quality:
    """Arrays by worker; intervals are 95 %, [worker, 2]; NaN where there is too little to say.

    `bias` is the mean of answer minus the others' estimate, `correlation` that of the two. `p_constant` is corrected
    for the number of workers, NaN where nothing was tested; `chances` are those of not looking and of turning the
    scale round. `copying` lists pairs.
    """

    n: F8
    bias: F8
    bias_interval: F8
    spread: F8
    spread_interval: F8
    slope: F8
    slope_interval: F8
    correlation: F8
    correlation_interval: F8
    distinct: F8
    p_constant: F8
    constant: Mask
    chances: Chances
    copying: Copying


def quality(rows: Rows, fit: Fit, *, alpha: float = ALPHA) -> Quality:
    """Of every worker, from rows and a fit of them."""
    rows = rows.present()
    others, doubt = without_own(fit, rows)
    alone = _alone(rows)
    several = rows.take(~alone)
    others, doubt = others[~alone], doubt[~alone]
    n = rows.per_worker
    bias, bias_interval = _bias(several, others)
    r, r_interval, size = _correlation(several, others)
    tested = size >= LEAST
    p_constant = _corrected(_constant(several), tested)
    constant = p_constant <= alpha
    return Quality(
        n, bias, bias_interval, fit.spread, _spread_interval(rows, fit), fit.slope,
        _slope_interval(several, fit, others, doubt), r, r_interval, _distinct(rows),
        p_constant, constant, following(several, others, doubt, tested & ~constant & np.isfinite(r)),
        copying(several, fit, alpha),
    )  # fmt: skip


def _alone(rows: Rows) -> Mask:
    """Rows of tasks that only one worker answered."""
    low, high = np.full(rows.n_tasks, rows.n_workers), np.full(rows.n_tasks, -1)
    np.minimum.at(low, rows.task, rows.worker)
    np.maximum.at(high, rows.task, rows.worker)
    return np.asarray((low == high)[rows.task])


def _bias(rows: Rows, others: F8) -> tuple[F8, F8]:
    from scipy.special import stdtrit

    n, gap = rows.per_worker, rows.value - others
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.worker_sum(gap) / n
        square = rows.worker_sum((gap - mean[rows.worker]) ** 2)
        half = stdtrit(np.where(n > 1, n - 1, np.nan), 0.975) * np.sqrt(square / (n - 1) / n)
    return mean, np.stack([mean - half, mean + half], axis=1)


def _spread_interval(rows: Rows, fit: Fit) -> F8:
    """From a Gamma posterior of the precision; an answer tells as much as the others know of its task."""
    from scipy.special import gammaincinv

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    prior = float(base.extra.get("strength_of_spread", 0.0))
    own = base.weight[rows.worker]
    total = rows.task_sum(own)[rows.task]
    free = rows.worker_sum(1 - np.clip(own / np.maximum(total, 1e-300), 0.0, 1.0))
    shape = prior + np.maximum(free - 1, 0.0) / 2
    shape = np.where(shape > 0, shape, np.nan)
    ends = [fit.spread * np.sqrt(shape / gammaincinv(shape, p)) for p in (0.975, 0.025)]
    return np.stack(ends, axis=1)


def _slope_interval(rows: Rows, fit: Fit, others: F8, doubt: F8) -> F8:
    """Around the fit's slope, as wide as a regression on the others' estimates is unsure, the crowd's slopes counted.

    An answer is off by the worker's own spread and by what the others do not know of its task. NaN where the method
    takes everybody's slope for one.
    """
    from scipy.special import ndtri

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    heard = rows.per_worker > 0
    if bool((fit.slope[heard] == 1).all()):
        return np.full((rows.n_workers, 2), np.nan)
    n = np.maximum(rows.per_worker, 1e-300)
    y = others - (rows.worker_sum(others) / n)[rows.worker]
    unknown = rows.worker_sum(np.nan_to_num(doubt)) / n
    told = rows.worker_sum(y**2) / np.maximum(fit.spread**2 + fit.slope**2 * unknown, 1e-300)
    some = heard & (told > 0)
    if some.any():
        # How far slopes lie apart is itself unsure: two standard errors of a variance over so many workers.
        least = 2 * np.sqrt(2 / some.sum()) * float(np.median(1 / told[some]))
        told = told + 1 / max(float(base.extra.get("slope_variance", np.inf)), least)
    half = float(ndtri(0.975)) / np.sqrt(np.where(heard & (told > 0), told, np.nan))
    return np.stack([fit.slope - half, fit.slope + half], axis=1)


def _correlation(rows: Rows, others: F8) -> tuple[F8, F8, F8]:
    """Pearson's r of answers and the others' estimates, its Fisher interval, and the number of answers."""
    n, m = rows.per_worker, rows.worker
    with np.errstate(divide="ignore", invalid="ignore"):
        x = rows.value - (rows.worker_sum(rows.value) / n)[m]
        y = others - (rows.worker_sum(others) / n)[m]
        xx, yy, xy = (rows.worker_sum(column) for column in (x**2, y**2, x * y))
        tiny = 1e-20 * max(float(rows.value.var()) if len(rows) else 0.0, 1e-300) * np.maximum(n, 1.0)
        r = np.where((xx > tiny) & (yy > tiny), np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0), np.nan)
        half = 1.96 / np.sqrt(np.where(n > 3, n - 3, np.nan))
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    return r, np.stack([np.tanh(z - half), np.tanh(z + half)], axis=1), n


def _constant(rows: Rows) -> F8:
    """p-value of saying one value so often, had the worker said it as often as the others do of the same tasks.

    Values within a tenth of the answers' standard deviation are one. Only where nine of ten answers are that value.
    """
    from scipy.stats import binom

    out = np.full(rows.n_workers, np.nan)
    if not len(rows):
        return out
    order = np.lexsort((rows.value, rows.worker))
    ends = np.searchsorted(rows.worker[order], np.arange(rows.n_workers + 1))
    reach = 0.1 * float(rows.value.std())
    count = np.diff(rows.offsets)
    overall = np.sort(rows.value)
    for m in range(rows.n_workers):
        mine = order[ends[m] : ends[m + 1]]
        if len(mine) < 2:
            continue
        value = rows.value[mine]
        middle = float(value[len(value) // 2])
        same = int((np.abs(value - middle) <= reach).sum())
        out[m] = 1.0
        if same < 0.9 * len(value):
            continue
        tasks = rows.task[mine]
        near = _near(rows, tasks, middle, reach) - (np.abs(rows.value[mine] - middle) <= reach)
        total = count[tasks] - 1
        edges = np.searchsorted(overall, [middle - reach, middle + reach], side="left")
        base = float(edges[1] - edges[0] + 1) / (len(overall) + 1)
        share = float(((near + base) / (total + 1)).mean())
        out[m] = float(binom.sf(same - 1, len(value), min(share, 1.0)))
    return out


def _near(rows: Rows, tasks: I4, middle: float, reach: float) -> F8:
    """Answers near a value, in each of some tasks."""
    out = [int((np.abs(rows.value[rows.offsets[t] : rows.offsets[t + 1]] - middle) <= reach).sum()) for t in tasks]
    return np.array(out, dtype=np.float64)


def _distinct(rows: Rows) -> F8:
    """Distinct values per answer."""
    pairs = np.unique(np.stack([rows.worker.astype(np.float64), rows.value], axis=1), axis=0)
    different = np.bincount(pairs[:, 0].astype(np.int64), minlength=rows.n_workers)
    answers = np.bincount(rows.worker, minlength=rows.n_workers)
    return np.where(answers > 0, different / np.maximum(answers, 1), np.nan)


def _corrected(p: F8, tested: Mask) -> F8:
    """The least false discovery rate at which each p-value holds (Benjamini-Hochberg), NaN where it was not tested."""
    from scipy.stats import false_discovery_control

    out = np.full(len(p), np.nan)
    use = tested & np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(np.clip(p[use], 0.0, 1.0), method="bh")
    return out
