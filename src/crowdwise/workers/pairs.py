"""Pairs of workers: how often they met, how often they agreed, and by how much more than chance."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import polars as pl

from ..annotations import Annotations
from ..maths import chance
from ..maths.moments import Pairs, pairs

if TYPE_CHECKING:
    from .agreement import Coefficient

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Pairs with fewer common tasks are left out of the means; _DRAWS resamples of up to _RESAMPLED pairs of labels.
_FEWEST = 10
_DRAWS = 60
_RESAMPLED = 200_000
_MOST = 50_000_000


def pair_table(annotations: Annotations, min_common: int = 5) -> pl.DataFrame:
    """One row a pair of workers with `min_common` tasks in common.

    first, second, n_common, n_agree, agreement, cohen_kappa, scott_pi (null where chance alone gives full agreement).

    >>> votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], [*"xxyyxy"])
    >>> pair_table(votes, min_common=3).row(0)[:4]
    ('a', 'b', 3, 2)
    """
    seen = _tables(annotations, min_common)
    identity = np.eye(annotations.n_classes)
    agree = np.einsum("pll->p", seen.count)
    return pl.DataFrame(
        {
            "first": annotations.workers.gather(seen.first),
            "second": annotations.workers.gather(seen.second),
            "n_common": seen.n.astype(np.int64),
            "n_agree": agree.astype(np.int64),
            "agreement": agree / np.maximum(seen.n, 1),
            "cohen_kappa": pl.Series(chance.cohen_kappa(seen.count, identity)).fill_nan(None),
            "scott_pi": pl.Series(chance.scott_pi(seen.count, identity)).fill_nan(None),
        }
    )


def mean_over_pairs(votes: Annotations, weights: F8, graded: str, seed: int) -> list[Coefficient]:
    """Cohen's kappa and Scott's pi, the mean over pairs of workers with each pair weighed by its common tasks."""
    from .agreement import Coefficient

    work = float((votes.labels_per_task.astype(np.float64) ** 2).sum())
    kinds = {"Cohen's kappa": chance.cohen_kappa, "Scott's pi": chance.scott_pi}
    names = [f"{name}{graded}" + ("" if votes.n_workers == 2 else ", mean over pairs") for name in kinds]
    if work > _MOST:
        why = "there are too many pairs of labels to look at every pair of workers"
        return [Coefficient(name, None, reason=why) for name in names]
    fewest = 2 if votes.n_workers == 2 else _FEWEST
    seen = _tables(votes, fewest)
    if not len(seen.first):
        why = f"no two workers have {fewest} tasks in common"
        return [Coefficient(name, None, reason=why) for name in names]
    drawn = _resampled(votes, seen, seed) if work <= _RESAMPLED else []
    found = []
    for name, statistic in zip(names, kinds.values(), strict=True):
        value, n = _mean(seen, statistic(seen.count, weights))
        if n == 0:
            why = "on their common tasks no two workers used two classes, so chance alone gives full agreement"
            found.append(Coefficient(name, None, n=len(seen.first), reason=why))
            continue
        means = np.array([_mean(tables, statistic(tables.count, weights))[0] for tables in drawn])
        if not len(means) or not np.isfinite(means).all():
            found.append(Coefficient(name, value, n=n, note="too large to resample, or too few tasks: no interval"))
            continue
        # The spread of the draws only: tasks drawn twice make pairs look as if they had fewer, so the draws lie low.
        half = 2.0 * float(means.std(ddof=1))
        found.append(Coefficient(name, value, value - half, min(value + half, 1.0), n))
    return found


def _mean(seen: Pairs, each: F8) -> tuple[float, int]:
    """Mean over the pairs for which the coefficient exists, and their number."""
    there = np.isfinite(each)
    return (float(np.average(each[there], weights=seen.n[there])) if there.any() else float("nan")), int(there.sum())


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


def label_pairs(votes: Annotations, most: int) -> tuple[I8, I8]:
    """Rows of every two labels of one task by two workers, the lower worker first.

    Where these would be more than `most`, only evenly spaced tasks are looked at.
    """
    each = votes.labels_per_task.astype(np.float64)
    stride = int(np.ceil(max(float((each * (each - 1)).sum()) / 2, 1.0) / most))
    left = np.flatnonzero(votes.task % stride == 0)
    apart, found = 0, [np.empty((2, 0), dtype=np.int64)]
    while len(left):  # rows are sorted by task, then by worker
        apart += 1
        left = left[left + apart < len(votes)]
        left = left[votes.task[left] == votes.task[left + apart]]
        found.append(np.stack([left, left + apart]))
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


def _tables(annotations: Annotations, min_common: int) -> Pairs:
    return pairs(annotations if annotations.weight is None else replace(annotations, weight=None), min_common)
