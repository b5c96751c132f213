"""Models of rankings on arrays: Kemeny, Mallows, Borda, Copeland, Plackett-Luce, and the agreement of workers.

Kemeny's order has the fewest disagreements: exact by dynamic programming over subsets, else by local search. Kemeny
(1959), Daedalus 88(4); Betzler et al. (2009), doi:10.1016/j.tcs.2009.08.033. Where several orders are best, the rank of
an item is its mean over all of them, so that names do not decide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8, I8
from ...stats.abilities import GRID, BehaviourPosterior, chances, some_rows, zero_posterior
from ..comparisons.maths.models import ScoreBlock, total

EXACT = 12
STARTS = 8


def kemeny_places(table: F8, rng: np.random.Generator, exact: int = EXACT) -> tuple[F8, float]:
    """Mean rank (from 0) of each item over the best orders given preferences W[i, j] (i before j), and their cost."""
    k = len(table)
    if k < 2:
        return np.zeros(k), 0.0
    return _exact(table) if k <= exact else _search(table, rng)


def cost(table: F8, order: I8) -> float:
    """Weight of the preferences that an order (best first) violates."""
    in_order = table[np.ix_(order, order)]
    return float(np.tril(in_order, -1).sum())


def _exact(table: F8) -> tuple[F8, float]:
    """Dynamic programming over subsets S of leading items; counts of optimal paths give the mean ranks."""
    k = len(table)
    n = 1 << k
    subsets = np.arange(n)
    size = np.bitwise_count(subsets).astype(np.int64)
    # after[i][S]: the cost of i right after all of S, which is the weight of the preferences for i before them
    after = np.zeros((k, n))
    for j in range(k):
        has = (subsets >> j) & 1 == 1
        after[:, has] += table[:, j][:, None]
    scale = max(float(np.abs(table).sum()), 1.0)
    best, ways = _sweep(k, n, size, after, scale, forward=True)
    backward, backward_ways = _sweep(k, n, size, after, scale, forward=False)
    total = best[-1]
    place, weight = np.zeros(k), 0.0
    for i in range(k):
        without_item = subsets[(subsets >> i) & 1 == 0]
        with_item = without_item | (1 << i)
        on = np.abs(best[without_item] + after[i, without_item] + backward[with_item] - total) <= 1e-9 * scale
        paths = ways[without_item] * backward_ways[with_item] * on
        place[i] = float(paths @ size[without_item])
        weight = float(paths.sum())
        place[i] /= max(weight, 1.0)
    return place, float(total)


def _sweep(k: int, n: int, size: I8, after: F8, scale: float, *, forward: bool) -> tuple[F8, F8]:
    """Least costs and numbers of optimal paths from the empty set to S, or from S to the full set."""
    subsets = np.arange(n)
    best, ways = np.full(n, np.inf), np.zeros(n)
    start = 0 if forward else n - 1
    best[start], ways[start] = 0.0, 1.0
    layers = range(1, k + 1) if forward else range(k - 1, -1, -1)
    for layer in layers:
        members = subsets[size == layer]
        options = np.full((k, len(members)), np.inf)
        counts = np.zeros((k, len(members)))
        for i in range(k):
            has = (members >> i) & 1 == (1 if forward else 0)
            other = members[has] ^ (1 << i)
            step = after[i, other] if forward else after[i, members[has]]
            options[i, has] = best[other] + step
            counts[i, has] = ways[other]
        best[members] = options.min(axis=0)
        ways[members] = (counts * (options <= best[members] + 1e-9 * scale)).sum(axis=0)
    return best, ways


def _search(table: F8, rng: np.random.Generator) -> tuple[F8, float]:
    """Local search that moves single items, from Borda's order and random ones; ties of the best are averaged."""
    k = len(table)
    lead = (table - table.T).sum(axis=1)
    noise = rng.random((STARTS, k))
    orders = [np.lexsort((noise[0], -lead))] + [rng.permutation(k) for _ in range(STARTS - 1)]
    local = [_improved(table, order) for order in orders]
    costs = np.array([cost(table, order) for order in local])
    least = float(costs.min())
    best = {tuple(o.tolist()) for o, c in zip(local, costs, strict=True) if c <= least + 1e-9 * max(abs(least), 1.0)}
    places = np.zeros((len(best), k))
    for row, order in zip(places, sorted(best), strict=True):
        row[list(order)] = np.arange(k)
    return places.mean(axis=0), least


def _improved(table: F8, order: I8) -> I8:
    gap = table - table.T
    tiny = 1e-9 * max(float(np.abs(table).sum()), 1.0)
    changed = True
    while changed:
        changed = False
        for item in order.tolist():
            others = order[order != item]
            # cost of each position of the item, up to a constant
            gain = np.concatenate([[0.0], np.cumsum(gap[item, others])])
            at = int(np.flatnonzero(order == item)[0])
            to = int(gain.argmin())
            if gain[to] < gain[at] - tiny:
                order = np.insert(others, to, item)
                changed = True
    return order


# ----------------------------------------------------------------
# Rankings as arrays. An entry is an item of a task: the same name in two tasks is two entries.


@dataclass(frozen=True, eq=False)
class RankRows:
    """Rankings as arrays.

    entry[row, place] lists entries in order, best first, padded with -1; level[row, place] is the group of ties (0, 1,
    ...); size[row] is the number of ranked entries; rest[row] marks rows whose last level is all other items, in no
    order. task[row], worker[row], weight[row] (None: 1). The entries of a task are begin[task] .. begin[task + 1].
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
        """The weight of each row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def has_entry(self) -> npt.NDArray[np.bool_]:
        """Marks places with an entry."""
        return np.arange(self.entry.shape[1])[None, :] < self.size[:, None]

    @cached_property
    def first_of_level(self) -> I8:
        """The first place of the level of each place."""
        is_first = np.ones_like(self.has_entry)
        is_first[:, 1:] = self.level[:, 1:] != self.level[:, :-1]
        return np.maximum.accumulate(np.where(is_first, np.arange(self.level.shape[1]), 0), axis=1)

    @cached_property
    def by_task(self) -> list[I8]:
        """The rows of each task with weight."""
        counted = np.flatnonzero(self.weights > 0)
        order = counted[np.argsort(self.task[counted], kind="stable")]
        edges = np.searchsorted(self.task[order], np.arange(len(self.begin)))
        return [order[edges[i] : edges[i + 1]] for i in range(len(self.begin) - 1)]

    @cached_property
    def choices(self) -> float:
        """Mean number of choices (one item before others) per entry: how well scores can be estimated."""
        levels = np.where(self.has_entry, self.level, -1)
        last = levels == levels.max(axis=1, keepdims=True, initial=-1)
        n = (self.has_entry & ~last).sum(axis=1)
        return float(n @ (self.weights > 0)) / max(self.n_entries, 1)

    def preferences(self, task: int, weight: F8 | None = None) -> F8:
        """W[i, j]: weight of the rows of a task with entry i before j; a tie counts half for either."""
        rows = self.by_task[task]
        k = int(self.begin[task + 1] - self.begin[task])
        level = self.levels(task)
        w = (self.weights if weight is None else weight)[rows]
        out = np.zeros((k, k))
        for lo in range(0, len(rows), 4096):
            chunk = level[lo : lo + 4096]
            gap = chunk[:, None, :] - chunk[:, :, None]  # of j minus i; NaN where one is not ranked
            before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2)
            out += np.tensordot(w[lo : lo + 4096], before, axes=1)
        np.fill_diagonal(out, 0.0)
        return out

    def levels(self, task: int) -> F8:
        """level[row of the task, entry of the task], NaN where it is not ranked."""
        rows, begin = self.by_task[task], self.begin[task]
        out = np.full((len(rows), int(self.begin[task + 1] - begin)), np.nan)
        where = np.nonzero(self.has_entry[rows])
        out[where[0], self.entry[rows][where] - begin] = self.level[rows][where]
        return out


def average_places(score: F8, task: I8) -> F8:
    """Rank of each entry within its task by descending score, 1 the best; equal scores share the mean."""
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
# Mallows (1957), doi:10.1093/biomet/44.1-2.114. The centre is Kemeny's order with weights phi_m; phi is negative for
# reversed workers. Partial rankings count by the items that they contain.

MALLOWS_GRID = np.linspace(-3.0, 5.0, 161)


@dataclass(frozen=True, eq=False)
class Centre:
    """score[entry] (minus the mean rank), dispersion[worker], and the objective of each round."""

    score: F8
    dispersion: F8
    trace: F8
    n_iter: int
    converged: bool


def mallows(rows: RankRows, spread: float, per_worker: bool, max_iter: int, seed: int) -> Centre:
    """Alternate centres and dispersions until no centre changes."""
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
    """Number of pairs of each row that the scores order the other way; a tie on either side is a half.

    Scores are by entry, or by row and place.
    """
    value = np.where(rows.has_entry, score[np.maximum(rows.entry, 0)] if score.ndim == 1 else score, np.nan)
    out = np.zeros(len(rows))
    for lo in range(0, len(rows), 4096):
        chunk, level = value[lo : lo + 4096], rows.level[lo : lo + 4096].astype(np.float64)
        level = np.where(np.isnan(chunk), np.nan, level)
        s = np.sign(np.round(chunk[:, :, None] - chunk[:, None, :], 9))
        r = np.sign(level[:, None, :] - level[:, :, None])
        out[lo : lo + 4096] = np.nansum((1 - s * r) / 2, axis=(1, 2)) / 2 - 0.25 * np.sum(~np.isnan(chunk), axis=1)
    return out


def _dispersions(rows: RankRows, off: F8, spread: float, per_worker: bool) -> tuple[F8, float]:
    """Posterior means under a normal prior around the crowd's dispersion, and the log posterior at the mode."""
    m = rows.n_workers
    group = rows.worker if per_worker else np.zeros(len(rows), dtype=np.int64)
    n_groups = m if per_worker else 1
    table = -np.outer(np.bincount(group, rows.weights * off, n_groups), MALLOWS_GRID)
    for size in np.unique(rows.size):
        count = np.bincount(group, rows.weights * (rows.size == size), n_groups)
        table -= count[:, None] * log_norm(MALLOWS_GRID, int(size))[None, :]
    middle = MALLOWS_GRID[int(table.sum(axis=0).argmax())]
    if per_worker:
        table = table - 0.5 * ((MALLOWS_GRID - middle) / spread) ** 2
    top = table.max(axis=1)
    density = np.exp(table - top[:, None])
    mean = (density @ MALLOWS_GRID) / density.sum(axis=1)
    return (mean if per_worker else np.full(m, mean[0])), float(top.sum())


def log_norm(phi: F8, n: int) -> F8:
    """Log of the sum of exp(-phi d) over all orders of n items."""
    out = np.zeros_like(phi)
    safe = np.where(np.abs(phi) < 1e-9, 1e-9, phi)
    for j in range(2, n + 1):
        out += np.log(np.expm1(-j * safe) / np.expm1(-safe))
    return out


# ----------------------------------------------------------------
# Agreement of each worker with given scores: mean Kendall's tau, and its distribution for a guessing worker.


@dataclass(frozen=True, eq=False)
class WorkerTau:
    """Agreement of each worker with scores.

    By worker: the mean tau (weighted by pairs of items), its standard error, the standard deviation of a guessing
    worker's mean (`chance`), the number of pairs and the number of rankings. `tau` is by row.
    """

    mean: F8
    error: F8
    chance: F8
    pairs: F8
    n: npt.NDArray[np.int64]
    tau: F8


def agreement(rows: RankRows, score: F8) -> WorkerTau:
    """Agreement with score[entry], or with score[row, place]; weighted by pairs of items."""
    size = rows.size.astype(np.float64)
    tied = _tie_sizes(rows)
    n_pairs = size * (size - 1) / 2
    pairs = n_pairs - (tied * (tied - 1) / 2).sum(axis=1)  # pairs that the row orders
    net = n_pairs - 2 * distances(rows, score)  # concordant minus discordant pairs
    tau = net / np.maximum(pairs, 1)
    counts = (rows.weights > 0) & (pairs > 0)
    w = np.where(counts, pairs, 0.0)
    m = rows.n_workers
    total = np.asarray(np.bincount(rows.worker, w, m), dtype=np.float64)
    safe = np.where(total > 0, total, np.nan)
    mean = np.bincount(rows.worker, w * tau, m) / safe
    # The variance of that difference for a random order with these ties; Kendall (1970), Rank correlation methods.
    spread = size * (size - 1) * (2 * size + 5) - (tied * (tied - 1) * (2 * tied + 5)).sum(axis=1)
    guess = spread / 18 / np.maximum(pairs, 1) ** 2
    chance = np.sqrt(np.bincount(rows.worker, w**2 * guess, m)) / safe
    n = np.bincount(rows.worker, counts, m).astype(np.int64)
    gap = np.bincount(rows.worker, w**2 * (tau - mean[rows.worker]) ** 2, m)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.sqrt(gap * n / np.maximum(n - 1, 1)) / safe
    # The spread of few rankings is unreliable: never use less than half of a guessing worker's.
    error = np.where(n > 1, np.maximum(observed, 0.5 * chance), chance)
    return WorkerTau(mean, error, chance, total, n, tau)


def _tie_sizes(rows: RankRows) -> F8:
    """size[row, level]: number of items in each group of ties."""
    out = np.zeros((len(rows), rows.entry.shape[1]))
    row, place = np.nonzero(rows.has_entry)
    np.add.at(out, (row, rows.level[row, place]), 1.0)
    return out


# ---------------------------------------------------------------- Result of every method


@dataclass(frozen=True, eq=False)
class RankFit:
    """score[entry] (higher is better) and its covariance per task in `blocks` (None: not known).

    `temperature` and `dispersion` of the workers are None where the method has none.
    """

    score: F8
    blocks: list[ScoreBlock] | None = None
    temperature: F8 | None = None
    dispersion: F8 | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True


# ----------------------------------------------------------------
# Ability of each worker given the ranks by the other workers: likelihoods of a heat in the Plackett-Luce model.

# Grid of heats for the typical worker, and the smallest distance of shares from 0 and 1.
HEATS, EDGE = np.exp(np.linspace(np.log(0.05), np.log(8.0), 25)), 0.04


def heat_chances(rows: RankRows, places: F8, enough: npt.NDArray[np.bool_]) -> BehaviourPosterior:
    """Probabilities that workers rank at random or reversed, given places[row, place] from `places_by_others`."""
    use = np.flatnonzero(rows.weights > 0)
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    share = np.clip(places[use], EDGE, 1 - EDGE)
    score = np.log(share) - np.log1p(-share)
    choices = _choices(rows, use)
    worker = rows.worker[use]
    totals = np.array([_loglik(score, choices, heat).sum() for heat in HEATS])
    usual = float(HEATS[totals.argmax()])
    if totals.max() <= float(_loglik(score, choices, 0.0).sum()):
        return zero_posterior(rows.n_workers)  # rankings do not follow those of the other workers
    loglik = np.empty((rows.n_workers, len(GRID)))
    for j, ability in enumerate(GRID):
        loglik[:, j] = np.bincount(worker, _loglik(score, choices, usual * ability), rows.n_workers)
    return chances(loglik, loglik[:, len(GRID) // 2], enough)


def _choices(rows: RankRows, use: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8]:
    """(entries chosen before others, the first place of each entry's level, 1 where there is an entry)."""
    has_entry, level = rows.has_entry[use], rows.level[use]
    last = level == np.where(has_entry, level, -1).max(axis=1, keepdims=True, initial=-1)
    return has_entry & ~last, rows.first_of_level[use], has_entry.astype(np.float64)


def _loglik(score: F8, choices: tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64], F8], heat: float) -> F8:
    """Log-likelihood of each row: every entry is chosen among those not chosen before it."""
    chosen, first, has_entry = choices
    remaining = _from(has_entry * np.exp(heat * score), first)
    loglik = np.where(chosen, heat * score - np.log(np.maximum(remaining, 1e-300)), 0.0)
    return np.asarray(loglik.sum(axis=1))


# ---------------------------------------------------------------- Borda and Copeland


def borda(rows: RankRows) -> tuple[F8, list[ScoreBlock]]:
    """Borda score[entry] with its covariance per task.

    The score is the share of the other ranked items that come after it, mean over rankings (a tie is a half); one half
    for entries that no ranking contains.
    """
    score, blocks = np.full(rows.n_entries, 0.5), []
    for task, task_rows in enumerate(rows.by_task):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        if end == begin:
            continue
        share = shares(rows.levels(task))
        w = rows.weights[task_rows][:, None] * np.isfinite(share)
        total = w.sum(axis=0)
        mean = np.where(total > 0, (w * np.nan_to_num(share)).sum(axis=0) / np.where(total > 0, total, 1.0), 0.5)
        score[begin:end] = mean
        gap = np.where(np.isfinite(share), share - mean, 0.0) * w
        spread = gap.T @ gap / np.maximum(np.outer(total, total), 1e-300)
        n = len(task_rows)
        spread = spread * (n / (n - 1)) if n > 1 else np.full_like(spread, np.nan)
        if n > 1:  # identical rankings are still a sample
            spread += np.diag(np.full(end - begin, 1e-12))
        blocks.append(ScoreBlock(np.arange(begin, end)[None], spread[None], np.diag(spread)[None]))
    return score, blocks


def shares(level: F8) -> F8:
    """Share of the other entries of each row that come after each entry."""
    out = np.full_like(level, np.nan)
    n = np.isfinite(level).sum(axis=1)
    for lo in range(0, len(level), 4096):
        chunk = level[lo : lo + 4096]
        gap = chunk[:, None, :] - chunk[:, :, None]
        before = np.where(np.isnan(gap), 0.0, (np.sign(gap) + 1) / 2).sum(axis=2) - 0.5  # not before itself
        others = np.maximum(n[lo : lo + 4096] - 1, 1)[:, None]
        out[lo : lo + 4096] = np.where(np.isnan(chunk), np.nan, np.where(others > 0, before / others, np.nan))
    out[n < 2] = np.nan
    return out


def copeland(rows: RankRows) -> F8:
    """Copeland score[entry]: the share of the other items that it beats by majority; a draw is a half."""
    score = np.zeros(rows.n_entries)
    for task in range(len(rows.by_task)):
        begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
        table = rows.preferences(task)
        lead = np.sign(np.round(table - table.T, 9))
        score[begin:end] = ((lead + 1) / 2).sum(axis=1) - 0.5
        score[begin:end] /= max(end - begin - 1, 1)
    return score


# ---------------------------------------------------------------- Ranks of the items by the other workers

# Rounds of reweighting the other workers, and the weight of the prior of one half.
ROUNDS, MIDDLE = 2, 1.0


def places_by_others(rows: RankRows) -> F8:
    """score[row, place]: mean Borda share of the entry over all other workers (higher is better).

    It is one half where no other worker ranked the entry. The other workers are weighted by their agreement, and
    consistently reversed rankings are flipped.
    """
    share = _borda_shares(rows)
    places = _without_own(rows, share, rows.weights)
    for _ in range(ROUNDS):
        tau = np.nan_to_num(agreement(rows, places).mean)
        weight = np.clip(tau / max(float(tau.max(initial=0.0)), 1e-9), -1.0, 1.0)
        places = _without_own(rows, share, rows.weights * weight[rows.worker])
    return places


def _borda_shares(rows: RankRows) -> F8:
    """share[row, place] of the other ranked items that come after the entry."""
    out = np.full(rows.entry.shape, np.nan)
    for task, task_rows in enumerate(rows.by_task):
        if len(task_rows):
            begin = int(rows.begin[task])
            table = shares(rows.levels(task))
            row, place = np.nonzero(rows.has_entry[task_rows])
            out[task_rows[row], place] = table[row, rows.entry[task_rows[row], place] - begin]
    return out


def _without_own(rows: RankRows, share: F8, weight: F8) -> F8:
    counted = np.isfinite(share) & rows.has_entry & (rows.weights > 0)[:, None]
    entry = np.maximum(rows.entry, 0)
    w = np.where(counted, np.broadcast_to(weight[:, None], share.shape), 0.0)
    value = w * (np.nan_to_num(share) - 0.5)
    total, sums = (np.bincount(entry.ravel(), values.ravel(), rows.n_entries) for values in (np.abs(w), value))
    others, mass = sums[entry] - value, np.maximum(total[entry] - np.abs(w), 0.0)
    return np.asarray(0.5 + np.where(counted, others / (mass + MIDDLE), 0.0))


# ----------------------------------------------------------------
# The Plackett-Luce model with a temperature of each worker: item i is chosen next among the remaining ones with
# probability proportional to exp(b_m score_i), b_m ~ N(1, sd²): 0 guesses, below 0 is reversed.
#
# Plackett (1975), doi:10.2307/2346567. Ties by Breslow's approximation.


@dataclass(frozen=True, eq=False)
class PlackettLuceObjective:
    """Log posterior of x = scores of the entries, then temperatures of the workers (`held` if not `spread`)."""

    rows: RankRows
    strength: float
    spread: float
    held: F8 | None = None

    @cached_property
    def _stage(self) -> tuple[I8, npt.NDArray[np.bool_]]:
        """First place of the group of each place, and a mask of the places that are informative choices."""
        rows = self.rows
        start = rows.first_of_level
        last = rows.level == np.take_along_axis(rows.level, np.maximum(rows.size - 1, 0)[:, None], axis=1)
        is_choice = rows.has_entry & ~(last & rows.rest[:, None])
        # All items in one group, or the last item alone, carry no information.
        only_item = last & (start == (rows.size - 1)[:, None])
        return start, is_choice & ~only_item & ~(rows.level.max(axis=1, initial=0) == 0)[:, None]

    def parts(self, x: F8) -> tuple[F8, F8]:
        """Scores and temperatures."""
        k = self.rows.n_entries
        held = np.ones(self.rows.n_workers) if self.held is None else self.held
        return x[:k], x[k:] if self.spread > 0 else held

    def start(self) -> F8:
        """Starting values: scores 0, temperatures 1."""
        return np.concatenate([np.zeros(self.rows.n_entries), np.ones(self.rows.n_workers)])

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, b = self.parts(x)
        value, by_entry, by_row = self._pass(score, b)
        value -= 0.5 * self.strength * float(score @ score)
        entry = rows.entry[rows.has_entry]
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
        """Log-likelihood, with gradient and curvature by the score of each place and by the temperature of each row."""
        rows = self.rows
        has_entry, weight = rows.has_entry, rows.weights[:, None]
        start, is_choice = self._stage
        entry_score = np.where(has_entry, score[np.maximum(rows.entry, 0)], 0.0)
        heat = b[rows.worker][:, None]
        u = np.where(has_entry, heat * entry_score, -np.inf)
        top = u.max(axis=1, keepdims=True, initial=-1e300)
        mass = np.where(has_entry, np.exp(u - top), 0.0)
        left = _from(mass, start)
        log_left = np.log(np.maximum(left, 1e-300))
        per_choice = np.where(is_choice, 1 / np.maximum(left, 1e-300), 0.0)
        value = float((weight * np.where(is_choice, u - top - log_left, 0.0)).sum()) if len(rows) else 0.0
        once, twice = _until(per_choice, start), _until(per_choice**2, start)
        pick = mass * once  # expected number of times that it would have been chosen
        gu = weight * np.where(has_entry, is_choice - pick, 0.0)
        hu = weight * np.where(has_entry, mass * once - mass**2 * twice, 0.0)
        mean = _from(mass * entry_score, start) * per_choice
        square = _from(mass * entry_score**2, start) * per_choice
        hb = (weight * (square - mean**2)).sum(axis=1)
        return value, ((heat * gu)[has_entry], (heat**2 * hu)[has_entry]), ((entry_score * gu).sum(axis=1), hb)

    def blocks(self, x: F8) -> list[ScoreBlock]:
        """Covariance of the scores of each task, given the temperatures."""
        rows = self.rows
        score, b = self.parts(x)
        start, is_choice = self._stage
        out = []
        for task, task_rows in enumerate(rows.by_task):
            begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
            if end > begin:
                info = _information(rows, task_rows, score, b, start, is_choice, begin, end - begin)
                full = np.linalg.inv(info + self.strength * np.eye(end - begin))
                full = full - full.mean(axis=0, keepdims=True)
                full = full - full.mean(axis=1, keepdims=True)
                variance = np.maximum(np.diag(full), 0.0)
                out.append(ScoreBlock(np.arange(begin, end)[None], full[None], variance[None]))
        return out


def _information(
    rows: RankRows, task_rows: I8, score: F8, b: F8, start: I8, is_choice: npt.NDArray[np.bool_], begin: int, k: int
) -> F8:
    """Fisher information of the scores of a task: the sum of diag(p) - p p' over all choices."""
    info = np.zeros((k, k))
    if not len(task_rows):
        return info
    has_entry, entry = rows.has_entry[task_rows], np.maximum(rows.entry[task_rows] - begin, 0)
    heat = b[rows.worker[task_rows]][:, None]
    u = np.where(has_entry, heat * score[np.maximum(rows.entry[task_rows], 0)], -np.inf)
    mass = np.where(has_entry, np.exp(u - u.max(axis=1, keepdims=True)), 0.0)
    w = rows.weights[task_rows] * b[rows.worker[task_rows]] ** 2
    row = np.arange(len(task_rows))[:, None]
    for stage in range(mass.shape[1]):
        choice = is_choice[task_rows, stage]
        if not choice.any():
            continue
        candidates = np.where(np.arange(mass.shape[1])[None, :] >= start[task_rows, stage][:, None], mass, 0.0)
        p = candidates / np.maximum(candidates.sum(axis=1, keepdims=True), 1e-300)
        full = np.zeros((len(task_rows), k))
        np.add.at(full, (row, entry), np.where(has_entry, p, 0.0))
        full, weight = full[choice], w[choice]
        info += np.diag(weight @ full) - (full * weight[:, None]).T @ full
    return info


def _from(values: F8, start: I8) -> F8:
    """Sums from the first place of each place's group to the end of the row."""
    tail = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return np.take_along_axis(tail, start, axis=1)


def _until(values: F8, start: I8) -> F8:
    """Sums over all choices in which an item was still available: those of earlier groups and of its own."""
    width = values.shape[1]
    head = np.cumsum(values, axis=1)
    # The last place of each place's group.
    following = np.full_like(start, width - 1)
    for place in range(width - 2, -1, -1):
        same = start[:, place + 1] == start[:, place]
        following[:, place] = np.where(same, following[:, place + 1], place)
    return np.take_along_axis(head, following, axis=1)
