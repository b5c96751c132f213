"""Kemeny's order: the one with the fewest disagreements, exact by dynamic programming, else by local search.

Kemeny (1959), Daedalus 88(4); Betzler et al. (2009), doi:10.1016/j.tcs.2009.08.033 for the programme over subsets.
Where several orders are best, an item's place is its mean over all of them: no order of names or codes decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...stats.abilities import GRID, Chances, chances, nobody, some_rows
from ..comparisons.maths.models import Block, total

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
EXACT = 12
STARTS = 8


def kemeny_places(table: F8, rng: np.random.Generator, exact: int = EXACT) -> tuple[F8, float]:
    """Mean place (from 0) of each item over the best orders of preferences W[i, j] (i before j), and their cost."""
    k = len(table)
    if k < 2:
        return np.zeros(k), 0.0
    return _exact(table) if k <= exact else _search(table, rng)


def cost(table: F8, order: I8) -> float:
    """The weight of the preferences that an order (best first) goes against."""
    own = table[np.ix_(order, order)]
    return float(np.tril(own, -1).sum())


def _exact(table: F8) -> tuple[F8, float]:
    """best[S]: the least cost of putting the items of S first; counts of the ways there give the mean places."""
    k = len(table)
    n = 1 << k
    every = np.arange(n)
    size = np.array([bin(s).count("1") for s in range(n)]) if k <= 8 else _bits(every, k).sum(axis=1)
    # after[i][S]: what it costs to put i right after all of S: the weight of those who want i before them
    after = np.zeros((k, n))
    for j in range(k):
        has = (every >> j) & 1 == 1
        after[:, has] += table[:, j][:, None]
    scale = max(float(np.abs(table).sum()), 1.0)
    best, ways = _sweep(k, n, size, after, scale, forward=True)
    back, ways_back = _sweep(k, n, size, after, scale, forward=False)
    total = best[-1]
    place, weight = np.zeros(k), 0.0
    for i in range(k):
        free = every[(every >> i) & 1 == 0]
        there = free | (1 << i)
        on = np.abs(best[free] + after[i, free] + back[there] - total) <= 1e-9 * scale
        paths = ways[free] * ways_back[there] * on
        place[i] = float(paths @ size[free])
        weight = float(paths.sum())
        place[i] /= max(weight, 1.0)
    return place, float(total)


def _sweep(k: int, n: int, size: I8, after: F8, scale: float, *, forward: bool) -> tuple[F8, F8]:
    """Least costs and numbers of ways from nothing to S, or from S to everything."""
    every = np.arange(n)
    best, ways = np.full(n, np.inf), np.zeros(n)
    start = 0 if forward else n - 1
    best[start], ways[start] = 0.0, 1.0
    layers = range(1, k + 1) if forward else range(k - 1, -1, -1)
    for layer in layers:
        here = every[size == layer]
        options = np.full((k, len(here)), np.inf)
        counts = np.zeros((k, len(here)))
        for i in range(k):
            has = (here >> i) & 1 == (1 if forward else 0)
            other = here[has] ^ (1 << i)
            step = after[i, other] if forward else after[i, here[has]]
            options[i, has] = best[other] + step
            counts[i, has] = ways[other]
        best[here] = options.min(axis=0)
        ways[here] = (counts * (options <= best[here] + 1e-9 * scale)).sum(axis=0)
    return best, ways


def _bits(values: I8, k: int) -> I8:
    return (values[:, None] >> np.arange(k)) & 1


def _search(table: F8, rng: np.random.Generator) -> tuple[F8, float]:
    """Moves of single items to better places, from Borda's order and from drawn ones; ties of the best averaged."""
    k = len(table)
    lead = (table - table.T).sum(axis=1)
    noise = rng.random((STARTS, k))
    orders = [np.lexsort((noise[0], -lead))] + [rng.permutation(k) for _ in range(STARTS - 1)]
    found = [_improved(table, order) for order in orders]
    costs = np.array([cost(table, order) for order in found])
    least = float(costs.min())
    best = {tuple(o.tolist()) for o, c in zip(found, costs, strict=True) if c <= least + 1e-9 * max(abs(least), 1.0)}
    places = np.zeros((len(best), k))
    for row, order in zip(places, sorted(best), strict=True):
        row[list(order)] = np.arange(k)
    return places.mean(axis=0), least


def _improved(table: F8, order: I8) -> I8:
    gap = table - table.T
    tiny = 1e-9 * max(float(np.abs(table).sum()), 1.0)
    moved = True
    while moved:
        moved = False
        for item in order.tolist():
            rest = order[order != item]
            # cost of each place for the item, up to a constant: those before it who want to be after, and so on
            gain = np.concatenate([[0.0], np.cumsum(gap[item, rest])])
            at = int(np.flatnonzero(order == item)[0])
            to = int(gain.argmin())
            if gain[to] < gain[at] - tiny:
                order = np.insert(rest, to, item)
                moved = True
    return order


# ----------------------------------------------------------------
# Rankings as arrays: which items of its task a row orders, and in which order.
# An entry is an item of a task: the same name in two tasks is two entries.


@dataclass(frozen=True, eq=False)
class RankRows:
    """entry[row, place] in order, best first, padded with -1; level[row, place]: the group of ties it is in (0, 1,
    ...); size[row]: how many are ranked; rest[row]: whether its last level is all that was left, in no order.
    task[row], worker[row], weight[row] (None: 1); begin[task]: its entries are begin[task] .. begin[task + 1].
    """

    entry: I8
    level: I8
    size: I8
    rest: npt.NDArray[np.bool_]
    task: I8
    worker: I8
    weight: F8 | None
    begin: I8
    n_workers: int

    def __len__(self) -> int:
        return len(self.size)

    @property
    def n_entries(self) -> int:
        """Number of entries over all tasks."""
        return int(self.begin[-1])

    @cached_property
    def task_of_entry(self) -> I8:
        """The task of each entry."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.begin))

    @cached_property
    def weights(self) -> F8:
        """A weight for every row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def there(self) -> npt.NDArray[np.bool_]:
        """Places that hold an entry."""
        return np.arange(self.entry.shape[1])[None, :] < self.size[:, None]

    @cached_property
    def by_task(self) -> list[I8]:
        """The rows of each task that weigh something."""
        heard = np.flatnonzero(self.weights > 0)
        order = heard[np.argsort(self.task[heard], kind="stable")]
        edges = np.searchsorted(self.task[order], np.arange(len(self.begin)))
        return [order[edges[i] : edges[i + 1]] for i in range(len(self.begin) - 1)]

    @cached_property
    def choices(self) -> float:
        """How many choices of one item before others there are for each entry: how well scores can be known."""
        levels = np.where(self.there, self.level, -1)
        last = levels == levels.max(axis=1, keepdims=True, initial=-1)
        n = (self.there & ~last).sum(axis=1)
        return float(n @ (self.weights > 0)) / max(self.n_entries, 1)

    def preferences(self, task: int, weight: F8 | None = None) -> F8:
        """W[i, j]: the weight of the rows of a task that put its entry i before j; a tie is half of either."""
        rows = self.by_task[task]
        k = int(self.begin[task + 1] - self.begin[task])
        level = self.levels(task)
        w = (self.weights if weight is None else weight)[rows]
        out = np.zeros((k, k))
        for lo in range(0, len(rows), 4096):
            some = level[lo : lo + 4096]
            gap = some[:, None, :] - some[:, :, None]  # of j minus i; NaN where one is not ranked
            before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2)
            out += np.tensordot(w[lo : lo + 4096], before, axes=1)
        np.fill_diagonal(out, 0.0)
        return out

    def levels(self, task: int) -> F8:
        """level[row of the task, entry of the task], NaN where it is not ranked."""
        rows, begin = self.by_task[task], self.begin[task]
        out = np.full((len(rows), int(self.begin[task + 1] - begin)), np.nan)
        where = np.nonzero(self.there[rows])
        out[where[0], self.entry[rows][where] - begin] = self.level[rows][where]
        return out


def average_places(score: F8, task: I8) -> F8:
    """Place of each entry within its task by descending score, 1 the best, equal ones sharing the mean."""
    order = np.lexsort((-score, task))
    out = np.empty(len(score))
    t, s = task[order], score[order]
    new = np.concatenate([[True], (np.diff(t) != 0) | (np.abs(np.diff(s)) > 1e-9)]) if len(s) else np.zeros(0, bool)
    first_of_task = np.concatenate([[True], np.diff(t) != 0]) if len(s) else np.zeros(0, bool)
    start = np.maximum.accumulate(np.where(first_of_task, np.arange(len(s)), 0)) if len(s) else np.zeros(0, int)
    group = np.cumsum(new) - 1
    place = np.arange(len(s)) - start + 1
    mean = np.bincount(group, place) / np.bincount(group) if len(s) else np.zeros(0)
    out[order] = mean[group]
    return out


# ----------------------------------------------------------------
# Mallows' model with a dispersion of each worker: P(ranking) ~ exp(-phi_m x pairs that differ from the centre).
# Mallows (1957), doi:10.1093/biomet/44.1-2.114. The centre is Kemeny's order under weights phi_m; a phi below 0 is
# somebody who ranks upside down. Partial rankings count by the items that they hold.

MALLOWS_GRID = np.linspace(-3.0, 5.0, 161)


@dataclass(frozen=True, eq=False)
class Centre:
    """score[entry] (minus the mean place), dispersion[worker], the objective of each round."""

    score: F8
    dispersion: F8
    trace: F8
    n_iter: int
    converged: bool


def mallows(rows: RankRows, spread: float, per_worker: bool, max_iter: int, seed: int) -> Centre:
    """Rounds of centres and dispersions, until no centre changes."""
    phi = np.ones(rows.n_workers)
    score = np.zeros(rows.n_entries)
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter and not converged:
        new = _centres(rows, phi, seed)
        converged = bool(np.allclose(new, score)) and len(trace) > 0
        score = new
        off = distances(rows, score)
        phi, value = _dispersions(rows, off, spread, per_worker)
        trace.append(value)
    return Centre(score, phi, np.array(trace), len(trace), converged)


def _centres(rows: RankRows, phi: F8, seed: int) -> F8:
    score = np.zeros(rows.n_entries)
    rng = np.random.default_rng(seed)
    weight = rows.weights * phi[rows.worker]
    for task in range(len(rows.by_task)):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        score[begin:end] = -kemeny_places(rows.preferences(task, weight), rng)[0]
    return score


def distances(rows: RankRows, score: F8) -> F8:
    """Pairs of each row that stand the other way round in the scores; a tie on either side is a half. Scores are
    by entry, or by row and place."""
    own = np.where(rows.there, score[np.maximum(rows.entry, 0)] if score.ndim == 1 else score, np.nan)
    out = np.zeros(len(rows))
    for lo in range(0, len(rows), 4096):
        some, level = own[lo : lo + 4096], rows.level[lo : lo + 4096].astype(np.float64)
        level = np.where(np.isnan(some), np.nan, level)
        s = np.sign(np.round(some[:, :, None] - some[:, None, :], 9))
        r = np.sign(level[:, None, :] - level[:, :, None])
        out[lo : lo + 4096] = np.nansum((1 - s * r) / 2, axis=(1, 2)) / 2 - 0.25 * np.sum(~np.isnan(some), axis=1)
    return out


def _dispersions(rows: RankRows, off: F8, spread: float, per_worker: bool) -> tuple[F8, float]:
    """Posterior means under a normal prior around the crowd's, and the log posterior there."""
    m = rows.n_workers
    who = rows.worker if per_worker else np.zeros(len(rows), dtype=np.int64)
    n_groups = m if per_worker else 1
    table = -np.outer(np.bincount(who, rows.weights * off, n_groups), MALLOWS_GRID)
    for size in np.unique(rows.size):
        count = np.bincount(who, rows.weights * (rows.size == size), n_groups)
        table -= count[:, None] * log_norm(MALLOWS_GRID, int(size))[None, :]
    middle = MALLOWS_GRID[int(table.sum(axis=0).argmax())]
    if per_worker:
        table = table - 0.5 * ((MALLOWS_GRID - middle) / spread) ** 2
    top = table.max(axis=1)
    density = np.exp(table - top[:, None])
    mean = (density @ MALLOWS_GRID) / density.sum(axis=1)
    return (mean if per_worker else np.full(m, mean[0])), float(top.sum())


def log_norm(phi: F8, n: int) -> F8:
    """log of the sum of exp(-phi d) over all orders of n items."""
    out = np.zeros_like(phi)
    safe = np.where(np.abs(phi) < 1e-9, 1e-9, phi)
    for j in range(2, n + 1):
        out += np.log(np.expm1(-j * safe) / np.expm1(-safe))
    return out


# ----------------------------------------------------------------
# How far each worker's rankings go with given scores: mean Kendall's tau, and what a guesser's would be.


@dataclass(frozen=True, eq=False)
class Agreement:
    """By worker: mean tau over their rankings (longer lists count more), its standard error, the spread that the mean
    of a guesser would have, pairs of items behind it, and rankings. `tau` is by row."""

    mean: F8
    error: F8
    chance: F8
    pairs: F8
    n: npt.NDArray[np.int64]
    tau: F8


def agreement(rows: RankRows, score: F8) -> Agreement:
    """With score[entry], or score[row, place] of each row by itself; weighted by pairs of items."""
    size = rows.size.astype(np.float64)
    tied = _tie_sizes(rows)
    every = size * (size - 1) / 2
    pairs = every - (tied * (tied - 1) / 2).sum(axis=1)  # those that the row puts in an order
    ahead = every - 2 * distances(rows, score)  # pairs the same way round minus pairs the other way round
    tau = ahead / np.maximum(pairs, 1)
    heard = (rows.weights > 0) & (pairs > 0)
    w = np.where(heard, pairs, 0.0)
    m = rows.n_workers
    total = np.asarray(np.bincount(rows.worker, w, m), dtype=np.float64)
    safe = np.where(total > 0, total, np.nan)
    mean = np.bincount(rows.worker, w * tau, m) / safe
    # The variance of that difference for a random order with these ties; Kendall (1970), Rank correlation methods.
    spread = size * (size - 1) * (2 * size + 5) - (tied * (tied - 1) * (2 * tied + 5)).sum(axis=1)
    guess = spread / 18 / np.maximum(pairs, 1) ** 2
    chance = np.sqrt(np.bincount(rows.worker, w**2 * guess, m)) / safe
    n = np.bincount(rows.worker, heard, m).astype(np.int64)
    gap = np.bincount(rows.worker, w**2 * (tau - mean[rows.worker]) ** 2, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        seen = np.sqrt(gap * n / np.maximum(n - 1, 1)) / safe
    # With few rankings their spread says little: never below half of a guesser's.
    error = np.where(n > 1, np.maximum(seen, 0.5 * chance), chance)
    return Agreement(mean, error, chance, total, n, tau)


def _tie_sizes(rows: RankRows) -> F8:
    """size[row, level]: how many items share each place."""
    out = np.zeros((len(rows), rows.entry.shape[1]))
    row, place = np.nonzero(rows.there)
    np.add.at(out, (row, rows.level[row, place]), 1.0)
    return out


# ---------------------------------------------------------------- What every method for rankings gives


@dataclass(frozen=True, eq=False)
class RankFit:
    """score[entry], higher is better; blocks: its covariance, task by task (None: not known); temperature and
    dispersion of the workers (None: the method has none)."""

    score: F8
    blocks: list[Block] | None = None
    temperature: F8 | None = None
    dispersion: F8 | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True


# ----------------------------------------------------------------
# How sharply each worker sees where the others put the items: likelihoods of a heat in Plackett and Luce's model.

# Heats among which that of the usual worker is looked for, and shares are kept off 0 and 1 by this much.
HEATS, EDGE = np.exp(np.linspace(np.log(0.05), np.log(8.0), 25)), 0.04


def heat_chances(rows: RankRows, places: F8, known: npt.NDArray[np.bool_]) -> Chances:
    """places[row, place] are shares that others give the entries (`places_by_others`); 0 is somebody who shuffles."""
    use = np.flatnonzero(rows.weights > 0)
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    share = np.clip(places[use], EDGE, 1 - EDGE)
    score = np.log(share) - np.log1p(-share)
    told = _told(rows, use)
    worker = rows.worker[use]
    every = np.array([_loglik(score, told, heat).sum() for heat in HEATS])
    usual = float(HEATS[every.argmax()])
    if every.max() <= float(_loglik(score, told, 0.0).sum()):
        return nobody(rows.n_workers)  # the crowd goes with nobody's orders
    loglik = np.empty((rows.n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        loglik[:, j] = np.bincount(worker, _loglik(score, told, usual * ability), rows.n_workers)
    return chances(loglik, loglik[:, len(GRID) // 2], known)


def _told(rows: RankRows, use: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8]:
    """(entries that were put before others, the first place of each entry's level, 1 where there is an entry)."""
    there, level = rows.there[use], rows.level[use]
    place = np.arange(level.shape[1])
    new = np.concatenate([np.ones((len(use), 1), dtype=bool), np.diff(level, axis=1) != 0], axis=1)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    last = level == np.where(there, level, -1).max(axis=1, keepdims=True, initial=-1)
    return there & ~last, first, there.astype(np.float64)


def _loglik(score: F8, told: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8], heat: float) -> F8:
    """Of each row: every entry is chosen among those that do not stand before it."""
    chosen, first, there = told
    left = np.cumsum((there * np.exp(heat * score))[:, ::-1], axis=1)[:, ::-1]
    rest = np.take_along_axis(left, first, axis=1)
    each = np.where(chosen, heat * score - np.log(np.maximum(rest, 1e-300)), 0.0)
    return np.asarray(each.sum(axis=1))


# ---------------------------------------------------------------- Borda and Copeland


def borda(rows: RankRows) -> tuple[F8, list[Block]]:
    """score[entry]: the share of the other ranked items that it is put before, mean over rankings (a tie is a half);
    one half where nobody ranked it. With its covariance over the rankings of each task."""
    score, blocks = np.full(rows.n_entries, 0.5), []
    for task, own in enumerate(rows.by_task):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        if end == begin:
            continue
        share = shares(rows.levels(task))
        w = rows.weights[own][:, None] * np.isfinite(share)
        total = w.sum(axis=0)
        mean = np.where(total > 0, (w * np.nan_to_num(share)).sum(axis=0) / np.where(total > 0, total, 1.0), 0.5)
        score[begin:end] = mean
        gap = np.where(np.isfinite(share), share - mean, 0.0) * w
        spread = gap.T @ gap / np.maximum(np.outer(total, total), 1e-300)
        n = len(own)
        spread = spread * (n / (n - 1)) if n > 1 else np.full_like(spread, np.nan)
        if n > 1:  # a crowd of one mind still is a sample
            spread += np.diag(np.full(end - begin, 1e-12))
        blocks.append(Block(np.arange(begin, end)[None], spread[None], np.diag(spread)[None]))
    return score, blocks


def shares(level: F8) -> F8:
    """Of each row and entry: the share of the others in the row that come after it."""
    out = np.full_like(level, np.nan)
    n = np.isfinite(level).sum(axis=1)
    for lo in range(0, len(level), 4096):
        some = level[lo : lo + 4096]
        gap = some[:, None, :] - some[:, :, None]
        before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2).sum(axis=2) - 0.5  # not before itself
        others = np.maximum(n[lo : lo + 4096] - 1, 1)[:, None]
        out[lo : lo + 4096] = np.where(np.isnan(some), np.nan, np.where(others > 0, before / others, np.nan))
    out[n < 2] = np.nan
    return out


def copeland(rows: RankRows) -> F8:
    """score[entry]: the share of the others that a majority puts it before; a draw is a half."""
    score = np.zeros(rows.n_entries)
    for task in range(len(rows.by_task)):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        table = rows.preferences(task)
        lead = np.sign(np.round(table - table.T, 9))
        score[begin:end] = ((lead + 1) / 2).sum(axis=1) - 0.5
        score[begin:end] /= max(end - begin - 1, 1)
    return score


# ---------------------------------------------------------------- Where the others put the items of each ranking

# How often the others are weighed again, and the voices for the middle that what few others say is drawn by.
ROUNDS, MIDDLE = 2, 1.0


def places_by_others(rows: RankRows) -> F8:
    """score[row, place]: the mean Borda share that everybody else gives the entry, higher is better; one half where
    nobody else ranked it. The others count by how far they go with the rest, and who goes against them is heard
    turned round."""
    put = _put(rows)
    found = _without_own(rows, put, rows.weights)
    for _ in range(ROUNDS):
        tau = np.nan_to_num(agreement(rows, found).mean)
        say = np.clip(tau / max(float(tau.max(initial=0.0)), 1e-9), -1.0, 1.0)
        found = _without_own(rows, put, rows.weights * say[rows.worker])
    return found


def _put(rows: RankRows) -> F8:
    """share[row, place] of the other ranked items that the entry stands before."""
    out = np.full(rows.entry.shape, np.nan)
    for task, own in enumerate(rows.by_task):
        if len(own):
            begin = int(rows.begin[task])
            table = shares(rows.levels(task))
            row, place = np.nonzero(rows.there[own])
            out[own[row], place] = table[row, rows.entry[own[row], place] - begin]
    return out


def _without_own(rows: RankRows, put: F8, weight: F8) -> F8:
    heard = np.isfinite(put) & rows.there & (rows.weights > 0)[:, None]
    entry = np.maximum(rows.entry, 0)
    w = np.where(heard, np.broadcast_to(weight[:, None], put.shape), 0.0)
    value = w * (np.nan_to_num(put) - 0.5)
    total, sums = (np.bincount(entry.ravel(), each.ravel(), rows.n_entries) for each in (np.abs(w), value))
    rest, left = sums[entry] - value, np.maximum(total[entry] - np.abs(w), 0.0)
    return np.asarray(0.5 + np.where(heard, rest / (left + MIDDLE), 0.0))


# ----------------------------------------------------------------
# Plackett and Luce's model with a temperature of each worker: from what is left, item i is taken next with chance
# proportional to exp(b_m score_i), b_m ~ N(1, sd²): 0 guesses, below 0 ranks upside down.
#
# Plackett (1975), doi:10.2307/2346567. Tied items are taken one by one from what their whole group leaves (Breslow).


@dataclass(frozen=True, eq=False)
class PlackettLuce:
    """x = scores of the entries, then temperatures of the workers (held at `held` where `spread` is 0)."""

    rows: RankRows
    strength: float
    spread: float
    held: F8 | None = None

    @cached_property
    def _stage(self) -> tuple[I8, npt.NDArray[np.bool_]]:
        """The place at which the group of each place begins, and which places are choices that tell something."""
        rows = self.rows
        width = rows.entry.shape[1]
        place = np.broadcast_to(np.arange(width), rows.entry.shape)
        new = np.ones_like(rows.there)
        new[:, 1:] = rows.level[:, 1:] != rows.level[:, :-1]
        start = np.maximum.accumulate(np.where(new, place, 0), axis=1)
        last = rows.level == np.take_along_axis(rows.level, np.maximum(rows.size - 1, 0)[:, None], axis=1)
        tells = rows.there & ~(last & rows.rest[:, None])
        # All items in one group, or the last item alone, tell nothing.
        alone = last & (start == (rows.size - 1)[:, None])
        return start, tells & ~alone & ~(rows.level.max(axis=1, initial=0) == 0)[:, None]

    def parts(self, x: F8) -> tuple[F8, F8]:
        """Scores and temperatures."""
        k = self.rows.n_entries
        held = np.ones(self.rows.n_workers) if self.held is None else self.held
        return x[:k], x[k:] if self.spread > 0 else held

    def start(self) -> F8:
        """All alike."""
        return np.concatenate([np.zeros(self.rows.n_entries), np.ones(self.rows.n_workers)])

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, b = self.parts(x)
        value, by_entry, by_row = self._pass(score, b)
        value -= 0.5 * self.strength * float(score @ score)
        entry = rows.entry[rows.there]
        gs = total(entry, by_entry[0], rows.n_entries) - self.strength * score
        hs = total(entry, by_entry[1], rows.n_entries) + self.strength + 1e-9
        gb, hb = np.zeros(rows.n_workers), np.ones(rows.n_workers)
        if self.spread > 0:
            gap = (b - 1) / self.spread
            value -= 0.5 * float(gap @ gap)
            gb = total(rows.worker, by_row[0], rows.n_workers) - gap / self.spread
            hb = total(rows.worker, by_row[1], rows.n_workers) + 1 / self.spread**2
        return value, np.concatenate([gs, gb]), np.concatenate([hs, hb])

    def _pass(self, score: F8, b: F8) -> tuple[float, tuple[F8, F8], tuple[F8, F8]]:
        """Log-likelihood; gradient and curvature of each place's score, and of each row's temperature."""
        rows = self.rows
        there, weight = rows.there, rows.weights[:, None]
        start, tells = self._stage
        own = np.where(there, score[np.maximum(rows.entry, 0)], 0.0)
        heat = b[rows.worker][:, None]
        u = np.where(there, heat * own, -np.inf)
        top = u.max(axis=1, keepdims=True, initial=-1e300)
        mass = np.where(there, np.exp(u - top), 0.0)
        left = _from(mass, start)
        log_left = np.log(np.maximum(left, 1e-300))
        gone = np.where(tells, 1 / np.maximum(left, 1e-300), 0.0)
        value = float((weight * np.where(tells, u - top - log_left, 0.0)).sum()) if len(rows) else 0.0
        once, twice = _until(gone, start), _until(gone**2, start)
        pick = mass * once  # expected number of times that it would have been taken
        gu = weight * np.where(there, tells - pick, 0.0)
        hu = weight * np.where(there, mass * once - mass**2 * twice, 0.0)
        mean = _from(mass * own, start) * gone
        square = _from(mass * own**2, start) * gone
        hb = (weight * (square - mean**2)).sum(axis=1)
        return value, ((heat * gu)[there], (heat**2 * hu)[there]), ((own * gu).sum(axis=1), hb)

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores of each task, temperatures taken as known."""
        rows = self.rows
        score, b = self.parts(x)
        start, tells = self._stage
        out = []
        for task, own in enumerate(rows.by_task):
            begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
            if end > begin:
                info = _information(rows, own, score, b, start, tells, begin, end - begin)
                full = np.linalg.inv(info + self.strength * np.eye(end - begin))
                full = full - full.mean(axis=0, keepdims=True)
                full = full - full.mean(axis=1, keepdims=True)
                variance = np.maximum(np.diag(full), 0.0)
                out.append(Block(np.arange(begin, end)[None], full[None], variance[None]))
        return out


def _information(
    rows: RankRows, own: I8, score: F8, b: F8, start: I8, tells: npt.NDArray[np.bool_], begin: int, k: int
) -> F8:
    """Fisher's information of a task's scores: over all choices, diag(p) - p p'."""
    info = np.zeros((k, k))
    if not len(own):
        return info
    there, entry = rows.there[own], np.maximum(rows.entry[own] - begin, 0)
    heat = b[rows.worker[own]][:, None]
    u = np.where(there, heat * score[np.maximum(rows.entry[own], 0)], -np.inf)
    mass = np.where(there, np.exp(u - u.max(axis=1, keepdims=True)), 0.0)
    w = rows.weights[own] * b[rows.worker[own]] ** 2
    at = np.arange(len(own))[:, None]
    for stage in range(mass.shape[1]):
        choice = tells[own, stage]
        if not choice.any():
            continue
        some = np.where(np.arange(mass.shape[1])[None, :] >= start[own, stage][:, None], mass, 0.0)
        p = some / np.maximum(some.sum(axis=1, keepdims=True), 1e-300)
        full = np.zeros((len(own), k))
        np.add.at(full, (at, entry), np.where(there, p, 0.0))
        full, weight = full[choice], w[choice]
        info += np.diag(weight @ full) - (full * weight[:, None]).T @ full
    return info


def _from(values: F8, start: I8) -> F8:
    """Sums from the place where a place's group begins to the end of the row."""
    tail = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return np.take_along_axis(tail, start, axis=1)


def _until(values: F8, start: I8) -> F8:
    """Sums over all choices that an item was still there for: those of earlier groups and of its own."""
    width = values.shape[1]
    head = np.cumsum(values, axis=1)
    # The end of the group of a place: one before the next group's begin.
    following = np.full_like(start, width - 1)
    for place in range(width - 2, -1, -1):
        same = start[:, place + 1] == start[:, place]
        following[:, place] = np.where(same, following[:, place + 1], place)
    return np.take_along_axis(head, following, axis=1)
