"""Pairs of workers: number of common tasks, agreement, and agreement beyond chance."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from ....core.arrays import F8, I8
from ....core.errors import CostWarning
from ....stats import agreement as chance
from ....workers.flags import Coefficient
from ..annotations import Annotations
from ..maths.moments import PairTables, SparsePairTables, rows_with_overlap, sparse_pairs

# Least number of common tasks of a pair in the means; number of resamples; most pairs of labels to resample.
_FEWEST = 10
_DRAWS = 60
_RESAMPLED = 200_000
_MOST = 50_000_000
# Most cells of all pair tables for resampling; most labels of one task whose pairs are used.
_CELLS = 5_000_000
_CROWD = 1000
# Most pairs of labels for which all workers are compared: half a minute with two classes.
MAX_LABEL_PAIRS = 40_000_000


def pair_table(annotations: Annotations, min_common: int = 5) -> pl.DataFrame:
    """Compute the agreement of all pairs of workers with at least `min_common` tasks in common.

    Returns:
        A table with one row per pair: first, second, n_common, n_agree, agreement, cohen_kappa, scott_pi (null if
        chance alone gives full agreement).

    >>> votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], [*"xxyyxy"])
    >>> pair_table(votes, min_common=3).row(0)[:4]
    ('a', 'b', 3, 2)
    """
    tables = sparse_pairs(comparable(_unweighted(annotations), min_common), min_common)
    identity = np.eye(annotations.n_classes)
    agree = np.bincount(
        tables.pair, weights=tables.value * (tables.label == tables.other_label), minlength=len(tables.first)
    )
    return pl.DataFrame(
        {
            "first": annotations.workers.gather(tables.first),
            "second": annotations.workers.gather(tables.second),
            "n_common": tables.n.astype(np.int64),
            "n_agree": agree.astype(np.int64),
            "agreement": agree / np.maximum(tables.n, 1),
            "cohen_kappa": pl.Series(_per_pair(tables, chance.cohen_kappa, identity)).fill_nan(None),
            "scott_pi": pl.Series(_per_pair(tables, chance.scott_pi, identity)).fill_nan(None),
        }
    )


def mean_over_pairs(votes: Annotations, weights: F8, graded: str, seed: int) -> list[Coefficient]:
    """Compute Cohen's kappa and Scott's pi, averaged over pairs of workers weighted by their common tasks."""
    kinds = {"Cohen's kappa": chance.cohen_kappa, "Scott's pi": chance.scott_pi}
    names = [f"{name}{graded}" + ("" if votes.n_workers == 2 else ", mean over pairs") for name in kinds]
    fewest = 2 if votes.n_workers == 2 else _FEWEST
    is_kept, left_out = rows_with_overlap(votes, fewest, _MOST)
    votes = _unweighted(votes.take(is_kept))
    tables = sparse_pairs(votes, fewest)
    if not len(tables.first):
        why = f"no two workers have {fewest} tasks in common"
        return [Coefficient(name, None, reason=why) for name in names]
    work = float((votes.labels_per_task.astype(np.float64) ** 2).sum())
    is_small = work <= _RESAMPLED and len(tables.first) * votes.n_classes**2 <= _CELLS
    drawn = _resampled(votes, tables.dense(), seed) if is_small else []
    restriction = (
        f"among the {_n_active(votes)} busiest workers only, because there are too many pairs" if left_out else None
    )
    coefficients = []
    for name, statistic in zip(names, kinds.values(), strict=True):
        value, n = _mean(tables.n, _per_pair(tables, statistic, weights))
        if n == 0:
            why = "on their common tasks no two workers used two classes, so chance alone gives full agreement"
            coefficients.append(Coefficient(name, None, n=len(tables.first), reason=why))
            continue
        means = np.array([_mean(tables.n, statistic(tables.count, weights))[0] for tables in drawn])
        if not len(means) or not np.isfinite(means).all():
            note = restriction or "too large to resample, or too few tasks: no interval"
            coefficients.append(Coefficient(name, value, n=n, note=note))
            continue
        # Use the spread of the draws only: repeated tasks reduce the number of distinct ones, so the draws are biased
        # low.
        half = 2.0 * float(means.std(ddof=1))
        coefficients.append(Coefficient(name, value, value - half, min(value + half, 1.0), n, note=restriction))
    return coefficients


def comparable(votes: Annotations, fewest: int) -> Annotations:
    """Return the rows of workers who may share `fewest` tasks with others; warn if there are too many and some are
    dropped."""
    is_kept, left_out = rows_with_overlap(votes, fewest, MAX_LABEL_PAIRS)
    comparable_votes = votes.take(is_kept)
    if left_out:
        warnings.warn(
            f"only the {_n_active(comparable_votes)} workers with the most labels are compared pair by pair; with the "
            f"other {left_out:,} there would be too many pairs",
            CostWarning,
            stacklevel=3,
        )
    return comparable_votes


def _n_active(votes: Annotations) -> str:
    return f"{int((votes.labels_per_worker > 0).sum()):,}"


def _per_pair(tables: SparsePairTables, statistic: Callable[[F8, F8], F8], weights: F8) -> F8:
    """Compute a coefficient of every pair, block by block."""
    values = [statistic(tables.count, weights) for tables in tables.blocks()]
    return np.concatenate(values) if values else np.empty(0)


def _mean(n: F8, values: F8) -> tuple[float, int]:
    """Mean of a coefficient over the pairs for which it is defined, weighted by common tasks, and their number."""
    is_finite = np.isfinite(values)
    return (float(np.average(values[is_finite], weights=n[is_finite])) if is_finite.any() else float("nan")), int(
        is_finite.sum()
    )


def _resampled(votes: Annotations, pair_tables: PairTables, seed: int) -> list[PairTables]:
    """Tables of the same pairs on tasks drawn with replacement."""
    rng, n = np.random.default_rng(seed), votes.n_tasks
    if len(pair_tables.first) == 1:  # with one table, drawing tasks is drawing from its cells
        cells = pair_tables.count.ravel() / pair_tables.n[0]
        tables = rng.multinomial(int(pair_tables.n[0]), cells, size=_DRAWS).astype(np.float64)
        return [replace(pair_tables, count=table.reshape(pair_tables.count.shape)) for table in tables]
    task, pair, cell = _listed_label_pairs(votes, pair_tables)
    size, out = votes.n_classes**2, []
    for _ in range(_DRAWS):
        multiplicity = rng.multinomial(n, np.full(n, 1 / n))
        flat = np.bincount(pair * size + cell, weights=multiplicity[task], minlength=len(pair_tables.first) * size)
        drawn = flat.reshape(pair_tables.count.shape)
        has_overlap = drawn.sum(axis=(1, 2)) >= 2
        out.append(
            PairTables(
                pair_tables.first[has_overlap],
                pair_tables.second[has_overlap],
                drawn[has_overlap],
                pair_tables.n_workers,
            )
        )
    return out


def label_pairs(votes: Annotations, max_pairs: int, fewest: int = 1) -> tuple[I8, I8]:
    """Return the rows of all pairs of labels on the same task by workers who may share `fewest` tasks, lower worker
    first.

    Of a task with more than _CROWD labels, only that many, evenly spaced, are used; if these still make more than
    `max_pairs` pairs, only evenly spaced tasks are used.
    """
    rows = np.flatnonzero(rows_with_overlap(votes, fewest, np.inf)[0])
    n_labels = np.bincount(votes.task[rows], minlength=votes.n_tasks)
    position = np.arange(len(rows)) - (np.cumsum(n_labels) - n_labels)[votes.task[rows]]  # within the task
    rows = rows[position % np.maximum(-(-n_labels // _CROWD), 1)[votes.task[rows]] == 0]
    task = votes.task[rows]
    size = np.bincount(task, minlength=1).astype(np.float64)
    stride = int(np.ceil(max(float((size * (size - 1)).sum()) / 2, 1.0) / max_pairs))
    current = np.flatnonzero(task % stride == 0)
    distance, pairs = 0, [np.empty((2, 0), dtype=np.int64)]
    while len(current):  # rows are sorted by task, then by worker
        distance += 1
        current = current[current + distance < len(rows)]
        current = current[task[current] == task[current + distance]]
        pairs.append(np.stack([rows[current], rows[current + distance]]))
    first, second = np.concatenate(pairs, axis=1)
    is_pair = votes.worker[first] != votes.worker[second]  # exclude repeated labels of one worker
    return first[is_pair], second[is_pair]


def _listed_label_pairs(votes: Annotations, tables: PairTables) -> tuple[I8, I8, I8]:
    """Every two labels of one task by a pair in `tables`: the task, the pair's place in it, first label · K +
    second."""
    first, second = label_pairs(votes, _MOST)
    key = votes.worker[first].astype(np.int64) * votes.n_workers + votes.worker[second]
    pair_keys = tables.first * votes.n_workers + tables.second  # in ascending order
    pair = np.minimum(np.searchsorted(pair_keys, key), len(pair_keys) - 1)
    is_listed = pair_keys[pair] == key
    first, second, pair = first[is_listed], second[is_listed], pair[is_listed]
    cell = votes.label[first].astype(np.int64) * votes.n_classes + votes.label[second]
    return votes.task[first].astype(np.int64), pair, cell


def _unweighted(annotations: Annotations) -> Annotations:
    """Drop the weights: common tasks and agreements are counted."""
    return annotations if annotations.weight is None else replace(annotations, weight=None)
