"""Which rows are compared: with others of the same task, with rows of any task, with rows of a worker's other tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# How far rows i are from rows j, 0 to 1.
Distance = Callable[[I8, I8], F8]
# Others of the same task that a row is compared with at most, and pairs in all, about.
MOST_OTHERS, PAIRS = 32, 4_000_000


@dataclass(frozen=True, eq=False)
class Rows:
    """Task and worker of every row, sorted by task."""

    task: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    n_tasks: int
    n_workers: int

    @cached_property
    def begin(self) -> I8:
        """Where each task's rows begin, one place more than there are tasks."""
        return np.searchsorted(self.task, np.arange(self.n_tasks + 1)).astype(np.int64)

    @cached_property
    def size(self) -> I8:
        """The number of rows of each row's task."""
        return np.asarray(np.diff(self.begin)[self.task])

    @cached_property
    def by_worker(self) -> tuple[I8, I8]:
        """Rows in tasks with several answers, worker by worker, and where each worker's begin."""
        shared = np.flatnonzero(self.size > 1)
        order = shared[np.argsort(self.worker[shared], kind="stable")]
        return order, np.searchsorted(self.worker[order], np.arange(self.n_workers + 1)).astype(np.int64)


def within_tasks(rows: Rows, rng: np.random.Generator) -> tuple[I8, I8]:
    """Pairs of rows of the same task, each once: all of them, or of large tasks so many a row, drawn evenly."""
    n = len(rows.task)
    most = int(np.clip(PAIRS // max(n, 1), 2, MOST_OTHERS))
    # Rows of a task in a random ring; each is compared with those up to so many places further on.
    order = np.lexsort((rng.random(n), rows.task))
    place = np.arange(n) - rows.begin[rows.task]
    first, second = [], []
    for step in range(1, max(most // 2, 1) + 1):
        twice = 2 * step == rows.size  # half of an even ring would be met from both sides
        here = np.flatnonzero((2 * step < rows.size) | (twice & (place < step)))
        if not len(here):
            break
        base = rows.begin[rows.task[here]]
        first.append(order[here])
        second.append(order[base + (place[here] + step) % rows.size[here]])
    if not first:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(first), np.concatenate(second)


def anywhere(rows: Rows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Each row of a task with several answers beside `draws` other such rows of any task."""
    shared = rows.by_worker[0]
    if len(shared) < 2:
        return shared[:0], shared[:0]
    first = np.repeat(np.arange(len(shared)), draws)
    second = (first + rng.integers(1, len(shared), len(first))) % len(shared)
    return shared[first], shared[second]


def elsewhere(rows: Rows, draws: int, rng: np.random.Generator) -> tuple[I8, I8]:
    """Each row beside what others said of the same worker's other tasks: `draws` each, where they have any."""
    order, begin = rows.by_worker
    n = np.diff(begin)[rows.worker[order]]
    place = np.arange(len(order)) - begin[rows.worker[order]]
    mine = np.repeat(np.flatnonzero(n > 1), draws)
    if not len(mine):
        return order[:0], order[:0]
    step = rng.integers(1, n[mine])
    other = order[begin[rows.worker[order[mine]]] + (place[mine] + step) % n[mine]]
    # Somebody else's row of that other task.
    base, size = rows.begin[rows.task[other]], rows.size[other]
    somebody = base + (other - base + rng.integers(1, size)) % size
    return order[mine], somebody


# ----------------------------------------------------------------
# How far answers go together: Krippendorff's alpha from any distance, and how far each worker follows the tasks.

# Random rows that each row is compared with; fewer rows are compared with more.
DRAWS, LEAST_PAIRS, MOST_DRAWS = 4, 40_000, 64


@dataclass(frozen=True, eq=False)
class Closeness:
    """`alpha` with its 95 % interval (NaN where nothing can be said). Of each worker: `n` answers to tasks that others
    answered too, `apart` (mean distance from the others' answers to the same tasks), and `follows` with the standard
    error `error`: 1 - apart / the same distance if their answers were dealt out to their tasks at random. Whoever
    answers without looking has 0, whatever their habits. `pairs` are the compared rows, with `distance`."""

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


def closeness(rows: Rows, distance: Distance, seed: int = 0) -> Closeness:
    """From rows and a distance between rows."""
    rng = np.random.default_rng(seed)
    i, j = within_tasks(rows, rng)
    d = distance(i, j) if len(i) else np.empty(0)
    near = _row_means(len(rows.task), np.concatenate([i, j]), np.concatenate([d, d]))
    draws = int(np.clip(LEAST_PAIRS // max(len(rows.by_worker[0]), 1), DRAWS, MOST_DRAWS))
    alpha, low, high = _alpha(rows, near, distance, draws, rng)
    follows, error = _follows(rows, near, distance, draws, rng)
    n = np.diff(rows.by_worker[1])
    heard = np.isfinite(near)
    total = np.bincount(rows.worker[heard], near[heard], rows.n_workers)
    with np.errstate(invalid="ignore"):
        apart = total / np.where(n > 0, n, np.nan)
    several = int((np.diff(rows.begin) > 1).sum())
    return Closeness(alpha, low, high, several, n, apart, follows, error, (i, j), d)


def _row_means(n: int, at: I8, values: F8) -> F8:
    """Mean of the values that fall on each row; NaN where none does."""
    count = np.bincount(at, minlength=n)
    total = np.bincount(at, weights=values, minlength=n)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _alpha(
    rows: Rows, near: F8, distance: Distance, draws: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """1 - observed / expected disagreement, each row once; the interval draws tasks again."""
    i, j = anywhere(rows, draws, rng)
    if not len(i):
        return np.nan, np.nan, np.nan
    far = _row_means(len(rows.task), i, distance(i, j))
    seen = rows.by_worker[0]
    by_task = np.stack([np.bincount(rows.task[seen], v[seen], rows.n_tasks) for v in (near, far)], axis=1)
    by_task = by_task[np.bincount(rows.task[seen], minlength=rows.n_tasks) > 0]
    block = random_blocks(len(by_task), MAX_BLOCKS, rng)
    n_blocks = int(block.max()) + 1
    terms = np.stack([np.bincount(block, column, n_blocks) for column in by_task.T], axis=1).astype(np.float64)

    def ratio(sums: F8) -> F8:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1 - sums[..., 0] / sums[..., 1])

    if terms[:, 1].sum() <= 0:
        return np.nan, np.nan, np.nan
    found = bootstrap_interval(terms, ratio, 0.95, rng)
    low, high = (np.nan, np.nan) if found is None else found
    return float(ratio(terms.sum(axis=0))), low, high


def _follows(rows: Rows, near: F8, distance: Distance, draws: int, rng: np.random.Generator) -> tuple[F8, F8]:
    i, j = elsewhere(rows, draws, rng)
    dealt = _row_means(len(rows.task), i, distance(i, j) if len(i) else np.empty(0))
    has = np.flatnonzero(np.isfinite(dealt) & np.isfinite(near))
    who, m = rows.worker[has], rows.n_workers
    n = np.bincount(who, minlength=m)
    x, y = (np.bincount(who, values[has], m) for values in (near, dealt))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(y > 0, x / y, np.nan)
        # Delta method: rows are independent given the worker.
        gap = near[has] - share[who] * dealt[has]
        square = np.bincount(who, np.nan_to_num(gap**2), m)
        error = np.sqrt(square * n / np.maximum(n - 1, 1)) / np.where(y > 0, y, np.nan)
    return np.asarray(1 - share), np.asarray(np.where(n > 1, error, np.nan))


# ----------------------------------------------------------------
# Two workers who share answers that nobody else gave, and that are not the estimate either.
# Two good workers agree because both are right, so equal answers accuse nobody. What tells is the same answer, other
# than the estimate, that no third worker of the task gave. How often two independent workers share one is read off
# all other pairs of the crowd, and off what each of the two shares with everybody else: the largest of these rates is
# the null.

# Tasks of which both gave something other than the estimate, and equal answers among them, to be tested at all.
LEAST, HITS = 5, 5
# The rate of the null is never taken to be below this, and is raised by so much, for what the crowd does not show.
FLOOR, MARGIN = 0.05, 1.5


@dataclass(frozen=True, eq=False)
class Copies:
    """Pairs of workers: tasks on which both differ from the estimate, equal answers among them, how many two who work
    on their own would share, and a p-value corrected for the number of pairs. `rows` are the first's equal rows."""

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8
    rows: list[I8]


def copies(rows: Rows, same_as: I8, astray: np.ndarray, pairs: tuple[I8, I8], alpha: float = 0.01) -> Copies:
    """`same_as[row]` is equal for equal answers, `astray` marks rows that differ from the estimate of their task."""
    from scipy.stats import binom, false_discovery_control

    i, j = pairs
    keep = astray[i] & astray[j]
    # With one answer besides the right one there is nothing to recognise: three workers at least must meet a task.
    keep &= rows.size[i] > 2
    i, j = i[keep], j[keep]
    swap = rows.worker[i] > rows.worker[j]
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    third = _others_say(rows, same_as)[i] > 1
    equal = same_as[i] == same_as[j]
    i, j, equal = (values[~(equal & third)] for values in (i, j, equal))
    key, at = np.unique(rows.worker[i].astype(np.int64) * rows.n_workers + rows.worker[j], return_inverse=True)
    a, b = key // rows.n_workers, key % rows.n_workers
    n = np.bincount(at, minlength=len(key))
    hits = np.bincount(at, equal, len(key)).astype(np.int64)
    rate = np.minimum(MARGIN * _null(a, b, n, hits, rows.n_workers), 1.0)
    tested = n >= LEAST
    a, b, n, hits, rate, which = (v[tested] for v in (a, b, n, hits, rate, np.arange(len(key))))
    p = np.atleast_1d(binom.sf(hits - 1, n, rate)) if len(n) else np.empty(0)
    if len(p):
        p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    held = (p <= alpha) & (hits >= HITS) & (hits >= 0.5 * n)
    shown = [i[(at == k) & equal] for k in which[held].tolist()]
    return Copies(a[held], b[held], n[held], hits[held], np.asarray(rate * n, dtype=np.float64)[held], p[held], shown)


def _others_say(rows: Rows, same_as: I8) -> I8:
    """How many others of the task gave the answer of each row."""
    key = rows.task.astype(np.int64) * (int(same_as.max(initial=0)) + 1) + same_as
    _, at, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[at] - 1)


def _null(a: I8, b: I8, n: I8, hits: I8, n_workers: int) -> F8:
    """The rate at which a pair would share answers: that of all other pairs, or of either with everybody else."""
    tries, found = (np.bincount(a, v, n_workers) + np.bincount(b, v, n_workers) for v in (n, hits))
    # Everybody's tries without those of the two; half a hit in ten tries is everybody's at the start.
    rest_n = n.sum() - tries[a] - tries[b] + n
    rest = (hits.sum() - found[a] - found[b] + hits + 0.5) / (rest_n + 10.0)
    own = [(found[w] - hits + 0.5) / (tries[w] - n + 10.0) for w in (a, b)]
    return np.asarray(np.maximum(np.maximum(*own), np.maximum(rest, FLOOR)), dtype=np.float64)
