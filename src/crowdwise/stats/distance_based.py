"""Agreement from distances between answers: pairs to compare, Krippendorff's alpha, and copied answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8, I8
from .bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks

# Distance between rows i and rows j, 0 to 1.
Distance = Callable[[I8, I8], F8]
# Maximum number of rows of the same task that a row is compared with, and approximate number of pairs in all.
MOST_OTHERS, PAIRS = 32, 4_000_000


@dataclass(frozen=True, eq=False)
class TaskRows:
    """Task and worker of every row, sorted by task."""

    task: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    n_tasks: int
    n_workers: int

    @cached_property
    def begin(self) -> I8:
        """Index of the first row of each task, and the number of rows."""
        return np.searchsorted(self.task, np.arange(self.n_tasks + 1)).astype(np.int64)

    @cached_property
    def size(self) -> I8:
        """Number of rows of each row's task."""
        return np.asarray(np.diff(self.begin)[self.task])

    @cached_property
    def by_worker(self) -> tuple[I8, I8]:
        """Rows in tasks with several answers, sorted by worker, and the index of each worker's first."""
        shared = np.flatnonzero(self.size > 1)
        order = shared[np.argsort(self.worker[shared], kind="stable")]
        return order, np.searchsorted(self.worker[order], np.arange(self.n_workers + 1)).astype(np.int64)


def pairs_within_tasks(rows: TaskRows, rng: np.random.Generator) -> tuple[I8, I8]:
    """Return pairs of rows of the same task without duplicates: all, or for large tasks a balanced random subset."""
    n = len(rows.task)
    most = int(np.clip(PAIRS // max(n, 1), 2, MOST_OTHERS))
    # Rows of a task form a random ring; each is compared with those up to `most` // 2 places further on.
    order = np.lexsort((rng.random(n), rows.task))
    place = np.arange(n) - rows.begin[rows.task]
    first, second = [], []
    for step in range(1, max(most // 2, 1) + 1):
        is_half = 2 * step == rows.size  # the opposite row in an even ring would be paired twice
        paired = np.flatnonzero((2 * step < rows.size) | (is_half & (place < step)))
        if not len(paired):
            break
        base = rows.begin[rows.task[paired]]
        first.append(order[paired])
        second.append(order[base + (place[paired] + step) % rows.size[paired]])
    if not first:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(first), np.concatenate(second)


def random_pairs(rows: TaskRows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Pair each row of a task with several answers with `draws` other such rows of any task."""
    shared = rows.by_worker[0]
    if len(shared) < 2:
        return shared[:0], shared[:0]
    first = np.repeat(np.arange(len(shared)), draws)
    second = (first + rng.integers(1, len(shared), len(first))) % len(shared)
    return shared[first], shared[second]


def other_task_pairs(rows: TaskRows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Pair each row with `draws` answers of others to the same worker's other tasks."""
    order, begin = rows.by_worker
    n = np.diff(begin)[rows.worker[order]]
    place = np.arange(len(order)) - begin[rows.worker[order]]
    eligible = np.repeat(np.flatnonzero(n > 1), draws)
    if not len(eligible):
        return order[:0], order[:0]
    step = rng.integers(1, n[eligible])
    other = order[begin[rows.worker[order[eligible]]] + (place[eligible] + step) % n[eligible]]
    # Another worker's row of that other task.
    base, size = rows.begin[rows.task[other]], rows.size[other]
    other_row = base + (other - base + rng.integers(1, size)) % size
    return order[eligible], other_row


# ----------------------------------------------------------------
# Krippendorff's alpha from any distance, and how closely each worker follows the tasks.

# Random rows that each row is compared with: minimum, pairs in all, and maximum.
DRAWS, LEAST_PAIRS, MOST_DRAWS = 4, 40_000, 64


@dataclass(frozen=True, eq=False)
class Closeness:
    """Agreement of a crowd and of its workers.

    Attributes:
        alpha: Krippendorff's alpha; NaN if undefined.
        alpha_low: Low end of its 95 % interval.
        alpha_high: High end of its 95 % interval.
        n_tasks: Number of tasks with several answers.
        n: Answers of each worker to tasks that others answered too.
        apart: Mean distance of each worker from the others' answers to the same tasks.
        follows: 1 - apart / the expected distance if the worker's answers were assigned to tasks at random. A worker
            who answers without looking has 0, whatever the worker's habits.
        error: Standard error of `follows`.
        pairs: The compared rows.
        distance: Their distances.
    """

    alpha: float
    alpha_low: float
    alpha_high: float
    n_tasks: int
    n: I8
    apart: F8
    follows: F8
    error: F8
    pairs: tuple[I8, I8]
    distance: F8


def closeness(rows: TaskRows, distance: Distance, seed: int = 0) -> Closeness:
    """Compute agreement from rows and a distance between rows."""
    rng = np.random.default_rng(seed)
    i, j = pairs_within_tasks(rows, rng)
    d = distance(i, j) if len(i) else np.empty(0)
    within = _row_means(len(rows.task), np.concatenate([i, j]), np.concatenate([d, d]))
    draws = int(np.clip(LEAST_PAIRS // max(len(rows.by_worker[0]), 1), DRAWS, MOST_DRAWS))
    alpha, low, high = _alpha(rows, within, distance, draws, rng)
    follows, error = _follows(rows, within, distance, draws, rng)
    n = np.diff(rows.by_worker[1])
    has_distance = np.isfinite(within)
    total = np.bincount(rows.worker[has_distance], within[has_distance], rows.n_workers)
    with np.errstate(invalid="ignore"):
        apart = total / np.where(n > 0, n, np.nan)
    n_several = int((np.diff(rows.begin) > 1).sum())
    return Closeness(alpha, low, high, n_several, n, apart, follows, error, (i, j), d)


def _row_means(n: int, at: I8, values: F8) -> F8:
    """Mean of the values of each row; NaN if there are none."""
    count = np.bincount(at, minlength=n)
    total = np.bincount(at, weights=values, minlength=n)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _alpha(
    rows: TaskRows, within: F8, distance: Distance, draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """1 - observed / expected disagreement, each row counted once; the interval resamples tasks."""
    i, j = random_pairs(rows, draws, rng)
    if not len(i):
        return np.nan, np.nan, np.nan
    between = _row_means(len(rows.task), i, distance(i, j))
    shared = rows.by_worker[0]
    by_task = np.stack([np.bincount(rows.task[shared], v[shared], rows.n_tasks) for v in (within, between)], axis=1)
    by_task = by_task[np.bincount(rows.task[shared], minlength=rows.n_tasks) > 0]
    block = random_blocks(len(by_task), MAX_BLOCKS, rng)
    n_blocks = int(block.max()) + 1
    terms = np.stack([np.bincount(block, column, n_blocks) for column in by_task.T], axis=1).astype(np.float64)

    def ratio(sums: F8) -> F8:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - sums[..., 0] / sums[..., 1])

    if terms[:, 1].sum() <= 0:
        return np.nan, np.nan, np.nan
    limits = bootstrap_interval(terms, ratio, 0.95, rng)
    low, high = (np.nan, np.nan) if limits is None else limits
    return float(ratio(terms.sum(axis=0))), low, high


def _follows(rows: TaskRows, within: F8, distance: Distance, draws: int, rng: np.random.Generator) -> tuple[F8, F8]:
    i, j = other_task_pairs(rows, draws, rng)
    expected = _row_means(len(rows.task), i, distance(i, j) if len(i) else np.empty(0))
    has_both = np.flatnonzero(np.isfinite(expected) & np.isfinite(within))
    worker, m = rows.worker[has_both], rows.n_workers
    n = np.bincount(worker, minlength=m)
    x, y = (np.bincount(worker, values[has_both], m) for values in (within, expected))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(y > 0, x / y, np.nan)
        # Delta method: rows are independent given the worker.
        gap = within[has_both] - share[worker] * expected[has_both]
        square = np.bincount(worker, np.nan_to_num(gap**2), m)
        error = np.sqrt(square * n / np.maximum(n - 1, 1)) / np.where(y > 0, y, np.nan)
    return np.asarray(1 - share), np.asarray(np.where(n > 1, error, np.nan))


# ----------------------------------------------------------------
# Pairs of workers who share answers that no other worker gave and that differ from the estimate.
# Two good workers agree because both are right, so equal answers alone are no evidence. Evidence is an equal answer
# other than the estimate that no third worker of the task gave. The rate of such answers under independence is taken
# from all other pairs of the crowd, and from what each of the two shares with all others; the largest of these rates
# is the null hypothesis.

# Minimum number of common tasks on which both differ from the estimate, and of equal answers among them, for a test.
LEAST, HITS = 5, 5
# Lower bound of the null rate, and a safety factor.
FLOOR, MARGIN = 0.05, 1.5


@dataclass(frozen=True, eq=False)
class Copies:
    """Pairs of workers with suspiciously many equal answers.

    Attributes:
        first: First worker of each pair.
        second: Second worker of each pair.
        common: Tasks on which both differ from the estimate.
        equal: Equal answers among them.
        expected: Equal answers expected of independent workers.
        p: p-value corrected for the number of pairs.
        rows: The first worker's rows with equal answers.
    """

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8
    rows: list[I8]


def copies(rows: TaskRows, answer_codes: I8, differs: np.ndarray, pairs: tuple[I8, I8], alpha: float = 0.01) -> Copies:
    """Find pairs of workers who copy.

    `answer_codes[row]` is equal for equal answers; `differs` marks rows that differ from the estimate of their task.
    """
    from scipy.stats import binom, false_discovery_control

    i, j = pairs
    keep = differs[i] & differs[j]
    # With two workers per task an answer that no third worker gave means nothing.
    keep &= rows.size[i] > 2
    i, j = i[keep], j[keep]
    swap = rows.worker[i] > rows.worker[j]
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    third = _equal_answers(rows, answer_codes)[i] > 1
    equal = answer_codes[i] == answer_codes[j]
    i, j, equal = (values[~(equal & third)] for values in (i, j, equal))
    key, at = np.unique(rows.worker[i].astype(np.int64) * rows.n_workers + rows.worker[j], return_inverse=True)
    a, b = key // rows.n_workers, key % rows.n_workers
    n = np.bincount(at, minlength=len(key))
    hits = np.bincount(at, equal, len(key)).astype(np.int64)
    rate = np.minimum(MARGIN * _null(a, b, n, hits, rows.n_workers), 1.0)
    tested = n >= LEAST
    a, b, n, hits, rate, pair_code = (v[tested] for v in (a, b, n, hits, rate, np.arange(len(key))))
    p = np.atleast_1d(binom.sf(hits - 1, n, rate)) if len(n) else np.empty(0)
    if len(p):
        p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    significant = (p <= alpha) & (hits >= HITS) & (hits >= 0.5 * n)
    equal_rows = [i[(at == k) & equal] for k in pair_code[significant].tolist()]
    return Copies(
        a[significant],
        b[significant],
        n[significant],
        hits[significant],
        np.asarray(rate * n, dtype=np.float64)[significant],
        p[significant],
        equal_rows,
    )


def _equal_answers(rows: TaskRows, answer_codes: I8) -> I8:
    """Number of other rows of the task with the answer of each row."""
    key = rows.task.astype(np.int64) * (int(answer_codes.max(initial=0)) + 1) + answer_codes
    _, at, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[at] - 1)


def _null(a: I8, b: I8, n: I8, hits: I8, n_workers: int) -> F8:
    """Return the rate at which a pair would share answers: that of all other pairs, or of either with all others."""
    tasks_of, hits_of = (np.bincount(a, v, n_workers) + np.bincount(b, v, n_workers) for v in (n, hits))
    # Counts of the others without the two, with half a hit in ten tries as prior.
    rest_n = n.sum() - tasks_of[a] - tasks_of[b] + n
    rest_rate = (hits.sum() - hits_of[a] - hits_of[b] + hits + 0.5) / (rest_n + 10.0)
    own_rate = [(hits_of[w] - hits + 0.5) / (tasks_of[w] - n + 10.0) for w in (a, b)]
    return np.asarray(np.maximum(np.maximum(*own_rate), np.maximum(rest_rate, FLOOR)), dtype=np.float64)
