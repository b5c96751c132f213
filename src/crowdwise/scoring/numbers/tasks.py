"""Which estimates of numbers are the least sure, and which tasks are worth asking again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers

F8 = npt.NDArray[np.float64]

# An interval so many times as wide as the usual one is wide.
WIDE = 1.5
# False discoveries among the tasks whose answers lie too far apart.
LEVEL = 0.01
# No worker is taken to be steadier than this share of the usual worker's spread.
_STEADIEST = 0.25


def doubtful(votes: Votes[Numbers], result: Result) -> pl.DataFrame:
    """One row a task, those to ask again first, the least sure on top: task, what is believed of it, and

    width: that of the interval beside the usual one's (1 is usual; the widest part counts; without intervals, that of
    the standard error); apart: how far the answers lie apart beside what these workers' errors explain (1 is usual);
    why: the reason to ask again, empty where there is none.
    """
    width, apart, p = _width(votes, result), *_apart(votes, result)
    n = votes.labels_per_task
    wide, far = width >= WIDE, _found(p)
    why = np.full(votes.n_tasks, "", dtype=object)
    why[wide] = "much less sure than usual"
    why[wide & (n == 1)] = "one answer only"
    why[far] = "the answers lie further apart than these workers' errors explain"
    why[n == 0] = "nobody has answered it"
    score = np.where(n == 0, np.inf, np.fmax(width, np.where(far, apart, 0.0)))
    order = np.lexsort((-np.nan_to_num(score, nan=-1.0, posinf=1e300), why == ""))
    table = result.to_table().with_columns(
        pl.Series("width", width), pl.Series("apart", apart), pl.Series("why", why.tolist(), dtype=pl.String)
    )
    sorted_table: pl.DataFrame = table.with_columns(cs.float().fill_nan(None))[order.tolist()]
    return sorted_table


def _found(p: F8) -> npt.NDArray[np.bool_]:
    from scipy.stats import false_discovery_control

    out = np.zeros(len(p), dtype=bool)
    use = np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(p[use]) <= LEVEL
    return out


def _width(votes: Votes[Numbers], result: Result) -> F8:
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    n = votes.labels_per_task
    width = estimate.high - estimate.low
    for j in range(width.shape[1]):
        if np.isnan(width[:, j]).all():
            width[:, j] = _standard_error(votes, votes.answers.value[:, j])
    known = np.where((n > 0)[:, None], width, np.nan)
    usual = [float(np.nanmedian(column)) if np.isfinite(column).any() else np.nan for column in known.T]
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = width / np.array(usual)
    # Where all is equal, nothing is wider than usual.
    return np.asarray(np.where(np.isfinite(relative), relative, 1.0).max(axis=1, initial=0.0))


def _standard_error(votes: Votes[Numbers], value: F8) -> F8:
    """Of the mean of each task's answers; where there is one answer, that of one usual answer."""
    n = np.maximum(votes.labels_per_task, 1)
    mean = np.bincount(votes.task, weights=value, minlength=votes.n_tasks) / n
    square = np.bincount(votes.task, weights=(value - mean[votes.task]) ** 2, minlength=votes.n_tasks)
    free = float((n - 1).sum())
    usual = float(square.sum()) / free if free else 0.0
    # A few answers say little of their own spread: one usual answer is mixed in.
    return np.asarray(np.sqrt((square + usual) / n / n))


def _apart(votes: Votes[Numbers], result: Result) -> tuple[F8, F8]:
    """Root of the mean squared standardised error of each task's answers, and the p-value of so large a one."""
    from scipy.stats import chi2

    estimate, picture = result.estimate, result.picture
    assert isinstance(estimate, NumberEstimate)
    who, free = votes.worker, np.maximum(votes.labels_per_task - 1, 0)
    worst, least = np.full(votes.n_tasks, np.nan), np.full(votes.n_tasks, np.nan)
    table: Any = picture
    for j in range(estimate.value.shape[1]):
        value = estimate.value[:, j]
        centre = float(value.mean()) if len(value) else 0.0
        spread = table.spread[:, j]
        heard = votes.labels_per_worker > 0
        floor = _STEADIEST * float(np.median(spread[heard])) if heard.any() else 0.0
        if not floor > 0:
            continue
        predicted = centre + table.slope[who, j] * (value[votes.task] - centre) + table.bias[who, j]
        gap = votes.answers.value[:, j] - predicted
        # A method that pulls wild answers in thinks their workers steadier than they are.
        seen = np.sqrt(
            np.bincount(who, weights=gap**2, minlength=votes.n_workers) / np.maximum(votes.labels_per_worker, 1)
        )
        z = gap / np.maximum(np.maximum(spread, seen), floor)[who]
        square = np.bincount(votes.task, weights=z**2, minlength=votes.n_tasks)
        with np.errstate(divide="ignore", invalid="ignore"):
            worst = np.fmax(worst, np.sqrt(np.where(free > 0, square / free, np.nan)))
        least = np.fmin(least, np.where(free > 0, chi2.sf(square, np.maximum(free, 1)), np.nan))
    return worst, least
