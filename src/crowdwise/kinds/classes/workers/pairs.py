"""Pairs of workers: how often they met, how often they agreed, and by how much more than chance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import CostWarning
from ....stats import agreement as chance
from ....workers.flags import Coefficient
from ..annotations import Annotations
from ..maths.moments import Pairs, SparsePairs, rows_that_meet, sparse_pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Pairs with fewer common tasks are left out of the means; _DRAWS resamples of up to _RESAMPLED pairs of labels.
_FEWEST = 10
_DRAWS = 60
_RESAMPLED = 200_000
_MOST = 50_000_000
# Cells that the tables of all pairs may have to be drawn again and again; labels of one task whose pairs are looked at.
_CELLS = 5_000_000
_CROWD = 1000
# Meetings of two labels over which workers are compared pair by pair: half a minute with two classes.
MOST_MEETINGS = 40_000_000


def pair_table(annotations: Annotations, min_common: int = 5) -> pl.DataFrame:
    """One row a pair of workers with `min_common` tasks in common.

    first, second, n_common, n_agree, agreement, cohen_kappa, scott_pi (null where chance alone gives full agreement).

    >>> votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], [*"xxyyxy"])
    >>> pair_table(votes, min_common=3).row(0)[:4]
    ('a', 'b', 3, 2)
    """
    seen = sparse_pairs(comparable(_unweighted(annotations), min_common), min_common)
    identity = np.eye(annotations.n_classes)
    agree = np.bincount(seen.place, weights=seen.value * (seen.own == seen.other), minlength=len(seen.first))
    return pl.DataFrame(
        {
            "first": annotations.workers.gather(seen.first),
            "second": annotations.workers.gather(seen.second),
            "n_common": seen.n.astype(np.int64),
            "n_agree": agree.astype(np.int64),
            "agreement": agree / np.maximum(seen.n, 1),
            "cohen_kappa": pl.Series(_each(seen, chance.cohen_kappa, identity)).fill_nan(None),
            "scott_pi": pl.Series(_each(seen, chance.scott_pi, identity)).fill_nan(None),
        }
    )


def mean_over_pairs(votes: Annotations, weights: F8, graded: str, seed: int) -> list[Coefficient]:
    """Cohen's kappa and Scott's pi, the mean over pairs of workers with each pair weighed by its common tasks."""
    kinds = {"Cohen's kappa": chance.cohen_kappa, "Scott's pi": chance.scott_pi}
    names = [f"{name}{graded}" + ("" if votes.n_workers == 2 else ", mean over pairs") for name in kinds]
    fewest = 2 if votes.n_workers == 2 else _FEWEST
    kept, left_out = rows_that_meet(votes, fewest, _MOST)
    votes = _unweighted(votes.take(kept))
    seen = sparse_pairs(votes, fewest)
    if not len(seen.first):
        why = f"no two workers have {fewest} tasks in common"
        return [Coefficient(name, None, reason=why) for name in names]
    work = float((votes.labels_per_task.astype(np.float64) ** 2).sum())
    few = work <= _RESAMPLED and len(seen.first) * votes.n_classes**2 <= _CELLS
    drawn = _resampled(votes, seen.dense(), seed) if few else []
    among = f"among the {_many(votes)} busiest workers only: all pairs would be too many" if left_out else None
    found = []
    for name, statistic in zip(names, kinds.values(), strict=True):
        value, n = _mean(seen.n, _each(seen, statistic, weights))
        if n == 0:
            why = "on their common tasks no two workers used two classes, so chance alone gives full agreement"
            found.append(Coefficient(name, None, n=len(seen.first), reason=why))
            continue
        means = np.array([_mean(tables.n, statistic(tables.count, weights))[0] for tables in drawn])
        if not len(means) or not np.isfinite(means).all():
            note = among or "too large to resample, or too few tasks: no interval"
            found.append(Coefficient(name, value, n=n, note=note))
            continue
        # The spread of the draws only: tasks drawn twice make pairs look as if they had fewer, so the draws lie low.
        half = 2.0 * float(means.std(ddof=1))
        found.append(Coefficient(name, value, value - half, min(value + half, 1.0), n, note=among))
    return found


def comparable(votes: Annotations, fewest: int) -> Annotations:
    """The rows of workers who may share `fewest` tasks with somebody; where these are too many, a warning says so."""
    kept, left_out = rows_that_meet(votes, fewest, MOST_MEETINGS)
    found = votes.take(kept)
    if left_out:
        warnings.warn(
            f"pairs of workers are looked at among the {_many(found)} with most labels; with the other {left_out:,} "
            "they would be too many",
            CostWarning,
            stacklevel=3,
        )
    return found


def _many(votes: Annotations) -> str:
    return f"{int((votes.labels_per_worker > 0).sum()):,}"


def _each(seen: SparsePairs, statistic: Callable[[F8, F8], F8], weights: F8) -> F8:
    """A coefficient of every pair, some tables at a time."""
    found = [statistic(tables.count, weights) for tables in seen.blocks()]
    return np.concatenate(found) if found else np.empty(0)


def _mean(n: F8, each: F8) -> tuple[float, int]:
    """Mean over the pairs for which the coefficient exists, weighed by their common tasks, and their number."""
    there = np.isfinite(each)
    return (float(np.average(each[there], weights=n[there])) if there.any() else float("nan")), int(there.sum())


def _resampled(votes: Annotations, seen: Pairs, seed: int) -> list[Pairs]:
    """The tables of the same pairs in tasks drawn with replacement: a task drawn twice counts twice."""
    rng, n = np.random.default_rng(seed), votes.n_tasks
    if len(seen.first) == 1:  # one table: drawing tasks is drawing from its cells
        cells = seen.count.ravel() / seen.n[0]
        tables = rng.multinomial(int(seen.n[0]), cells, size=_DRAWS).astype(np.float64)
        return [replace(seen, count=table.reshape(seen.count.shape)) for table in tables]
    task, pair, cell = _meetings(votes, seen)
    size, out = votes.n_classes**2, []
    for _ in range(_DRAWS):
        times = rng.multinomial(n, np.full(n, 1 / n))
        flat = np.bincount(pair * size + cell, weights=times[task], minlength=len(seen.first) * size)
        drawn = flat.reshape(seen.count.shape)
        there = drawn.sum(axis=(1, 2)) >= 2
        out.append(Pairs(seen.first[there], seen.second[there], drawn[there], seen.n_workers))
    return out


def label_pairs(votes: Annotations, most: int, fewest: int = 1) -> tuple[I8, I8]:
    """Rows of every two labels of one task by two workers who may share `fewest` tasks, the lower worker first.

    Of a task with more than _CROWD labels only so many, evenly spaced, are looked at; where these would still make
    more than `most` pairs, only evenly spaced tasks.
    """
    rows = np.flatnonzero(rows_that_meet(votes, fewest, np.inf)[0])
    each = np.bincount(votes.task[rows], minlength=votes.n_tasks)
    place = np.arange(len(rows)) - (np.cumsum(each) - each)[votes.task[rows]]  # within the task
    rows = rows[place % np.maximum(-(-each // _CROWD), 1)[votes.task[rows]] == 0]
    task = votes.task[rows]
    size = np.bincount(task, minlength=1).astype(np.float64)
    stride = int(np.ceil(max(float((size * (size - 1)).sum()) / 2, 1.0) / most))
    left = np.flatnonzero(task % stride == 0)
    apart, found = 0, [np.empty((2, 0), dtype=np.int64)]
    while len(left):  # rows are sorted by task, then by worker
        apart += 1
        left = left[left + apart < len(rows)]
        left = left[task[left] == task[left + apart]]
        found.append(np.stack([rows[left], rows[left + apart]]))
    first, second = np.concatenate(found, axis=1)
    others = votes.worker[first] != votes.worker[second]  # a worker's repeats are no pair
    return first[others], second[others]


def _meetings(votes: Annotations, seen: Pairs) -> tuple[I8, I8, I8]:
    """Every two labels of one task by a pair in `seen`: the task, the pair's place in it, first label · K + second."""
    first, second = label_pairs(votes, _MOST)
    key = votes.worker[first].astype(np.int64) * votes.n_workers + votes.worker[second]
    known = seen.first * votes.n_workers + seen.second  # in ascending order
    place = np.minimum(np.searchsorted(known, key), len(known) - 1)
    kept = known[place] == key
    first, second, place = first[kept], second[kept], place[kept]
    cell = votes.label[first].astype(np.int64) * votes.n_classes + votes.label[second]
    return votes.task[first].astype(np.int64), place, cell


def _unweighted(annotations: Annotations) -> Annotations:
    """How often two met and agreed is counted, not weighed."""
    return annotations if annotations.weight is None else replace(annotations, weight=None)
