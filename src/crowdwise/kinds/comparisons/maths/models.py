"""Comparisons as arrays: who was asked about which two items, and which of them won."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
LEFT, RIGHT, TIE = 0, 1, 2


def total(codes: npt.NDArray[np.integer], values: npt.NDArray[Any], n: int) -> F8:
    """Sums of the values by code."""
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairRows:
    """Row by row: left and right item, outcome (LEFT, RIGHT, TIE), worker, weight (None: all 1)."""

    left: npt.NDArray[np.integer]
    right: npt.NDArray[np.integer]
    outcome: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    weight: F8 | None
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.left)

    @cached_property
    def weights(self) -> F8:
        """A weight for every row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def share(self) -> F8:
        """What the left item won of each row: 1, 0, or 1/2 of a tie."""
        return np.asarray(np.array([1.0, 0.0, 0.5])[self.outcome])

    @cached_property
    def has_ties(self) -> bool:
        """Whether some row that counts is a tie."""
        return bool(((self.outcome == TIE) & (self.weights > 0)).any())

    @cached_property
    def mixed_sides(self) -> bool:
        """Whether items stand on both sides of the items that follow them by name."""
        first = self.left < self.right
        return len(self) < 20 or bool(first.any() and not first.all())

    @cached_property
    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F8, F8]:
        """Each pair of items once: lower code, higher code, wins of either, a tie counted as half a win."""
        low, high = np.minimum(self.left, self.right).astype(np.int64), np.maximum(self.left, self.right)
        key, at = np.unique(low * self.n_items + high, return_inverse=True)
        first = np.where(self.left <= self.right, self.share, 1 - self.share)
        won = total(at, self.weights * first, len(key))
        lost = total(at, self.weights * (1 - first), len(key))
        return key // max(self.n_items, 1), key % max(self.n_items, 1), won, lost

    @cached_property
    def asked(self) -> F8:
        """Weight of the rows that an item is in."""
        both = np.concatenate([self.left, self.right])
        return total(both, np.concatenate([self.weights, self.weights]), self.n_items)

    @cached_property
    def component(self) -> npt.NDArray[np.int64]:
        """Which island of the graph of compared items each one lies on; the largest is 0, then by the first item."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        heard = self.weights > 0
        ones = np.ones(int(heard.sum()), dtype=np.int8)
        graph = coo_array((ones, (self.left[heard], self.right[heard])), shape=(self.n_items, self.n_items))
        found = connected_components(graph, directed=False, return_labels=True)[1].astype(np.int64)
        size = np.bincount(found, minlength=1)
        first = np.full(len(size), self.n_items)
        np.minimum.at(first, found, np.arange(self.n_items))
        rank = np.empty(len(size), dtype=np.int64)
        rank[np.lexsort((first, -size))] = np.arange(len(size))
        return rank[found]


# ----------------------------------------------------------------
# How sure scores are: the inverse of the information about them, island by island, the level of each left out.

I8 = npt.NDArray[np.int64]
# Islands of more items get their variances from two terms of a series instead of an inverse.
LARGEST = 2000
# Cells of matrices that are inverted at once.
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Block:
    """Islands of one size: members[island, place] (codes of items), covariance[island, place, place], or only the
    variance[island, place] of islands that are too large."""

    members: I8
    covariance: F8 | None
    variance: F8


@dataclass(frozen=True, eq=False)
class Cross:
    """What a row tells of its score difference and its worker's parameter together, and of that parameter alone
    (by worker, prior included)."""

    both: F8
    own: F8


def blocks(rows: PairRows, info: F8, ridge: F8 | float, cross: list[Cross]) -> list[Block]:
    """The covariance of the scores where row e tells info[e] of its difference and workers' parameters are estimated
    too (each of them by itself)."""
    from scipy.sparse import coo_array, csr_array

    k = rows.n_items
    i, j = rows.left.astype(np.int64), rows.right.astype(np.int64)
    at = (np.concatenate([i, j, i, j, np.arange(k)]), np.concatenate([i, j, j, i, np.arange(k)]))
    values = np.concatenate([info, info, -info, -info, np.broadcast_to(np.asarray(ridge, dtype=np.float64), k)])
    found = coo_array((values, at), shape=(k, k)).tocsr()
    small = np.bincount(rows.component, minlength=1).max(initial=0) <= LARGEST
    for one in cross if small else []:
        both = coo_array(
            (
                np.concatenate([one.both, -one.both]),
                (np.concatenate([i, j]), np.concatenate([rows.worker, rows.worker])),
            ),
            shape=(k, rows.n_workers),
        ).tocsr()
        scaled = csr_array(both.multiply(1 / np.sqrt(np.maximum(one.own, 1e-12))[None, :]))
        found = found - (scaled @ scaled.T).multiply(_same(rows.component, scaled @ scaled.T))
    return [
        block for size in np.unique(np.bincount(rows.component)) for block in _of_size(found, rows.component, int(size))
    ]


def _same(component: I8, like: object) -> object:
    """1 where both items lie on one island: workers who visit several tie them together only weakly."""
    from scipy.sparse import coo_array

    one = coo_array(like)  # type: ignore[call-overload]
    row, col = one.coords
    return coo_array(((component[row] == component[col]).astype(np.float64), (row, col)), shape=one.shape).tocsr()


def _of_size(found: object, component: I8, size: int) -> list[Block]:
    from scipy.sparse import coo_array

    counts = np.bincount(component)
    islands = np.flatnonzero(counts == size)
    if not size:
        return []
    order = np.argsort(component, kind="stable")
    begin = np.concatenate([[0], np.cumsum(counts)])[:-1]
    members = order[begin[islands][:, None] + np.arange(size)]
    cells = coo_array(found)  # type: ignore[call-overload]
    row, col = cells.coords
    place, which = np.empty(len(component), dtype=np.int64), np.full(len(component), -1, dtype=np.int64)
    place[members] = np.arange(size)
    which[members] = np.arange(len(islands))[:, None]
    here = (which[row] >= 0) & (which[row] == which[col])
    row, col, value = row[here], col[here], cells.data[here]
    if size > LARGEST:
        return [_series(members, which[row], place[row], place[col], value, size)]
    out = []
    step = max(1, _CELLS // size**2)
    for lo in range(0, len(islands), step):
        some = (which[row] >= lo) & (which[row] < lo + step)
        table = np.zeros((min(step, len(islands) - lo), size, size))
        np.add.at(table, (which[row[some]] - lo, place[row[some]], place[col[some]]), value[some])
        out.append(_inverted(members[lo : lo + step], table))
    return out


def _inverted(members: I8, table: F8) -> Block:
    size = table.shape[1]
    full: F8 = np.asarray(np.linalg.inv(table), dtype=np.float64)
    full -= full.mean(axis=1, keepdims=True)
    full -= full.mean(axis=2, keepdims=True)  # the level of an island is a convention
    variance = np.maximum(np.diagonal(full, axis1=1, axis2=2), 0.0)
    return Block(members, full if size > 1 else np.zeros_like(full), variance)


def _series(members: I8, which: I8, one: I8, two: I8, value: F8, size: int) -> Block:
    """1/h_ii + sum_j h_ij² / (h_ii² h_jj): close where every item has many opponents."""
    n = len(members)
    diagonal = np.zeros((n, size))
    on = one == two
    np.add.at(diagonal, (which[on], one[on]), value[on])
    more = np.zeros((n, size))
    np.add.at(more, (which[~on], one[~on]), value[~on] ** 2 / diagonal[which[~on], two[~on]])
    return Block(members, None, 1 / diagonal + more / diagonal**2)


# ----------------------------------------------------------------
# What every method for comparisons gives: scores of items, a picture of workers, and how a comparison comes out.


@dataclass(frozen=True, eq=False)
class PairFit:
    """score[item]; reliability, slope, position, tie[worker] (None: the method has none of it).

    P(left wins) and P(tie) of a pair, asked of nobody in particular, follow from the scores and `tie_level`, the
    strength of a tie beside two equal items (-inf: there are no ties).
    `blocks` hold the covariance of the scores, island by island; None where the method does not know it.
    """

    score: F8
    blocks: list[Block] | None = None
    reliability: F8 | None = None
    slope: F8 | None = None
    position: F8 | None = None
    tie: F8 | None = None
    tie_level: float = -np.inf
    tie_spread: float = 0.0
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True


# Knots of the average over workers' tie rates: a standard normal by Gauss and Hermite.
_KNOTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


def outcome(
    score: F8, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer], level: float, spread: float
) -> F8:
    """P(left wins, right wins, tie) of pairs for a worker who is not known: averaged over the crowd's tie rates."""
    half = (score[left] - score[right]) / 2
    out = np.zeros((len(half), 3))
    if level == -np.inf:
        out[:, 0] = _sigmoid(2 * half)
        out[:, 1] = 1 - out[:, 0]
        return out
    for knot, weight in zip(_KNOTS, _WEIGHTS / _WEIGHTS.sum(), strict=True):
        u = np.stack([half, -half, np.full(len(half), level + spread * knot)], axis=1)
        u -= u.max(axis=1, keepdims=True)
        p = np.exp(u)
        out += weight * p / p.sum(axis=1, keepdims=True)
    return out


def _sigmoid(x: F8) -> F8:
    return np.exp(-np.logaddexp(0.0, -x))


# ----------------------------------------------------------------
# Bradley and Terry's model by Newton's method: P(i beats j) = s(score_i - score_j), with a ridge; a tie is half a win.
# Bradley & Terry (1952), doi:10.2307/2334029.

# Systems of more items are solved by conjugate gradients.
DENSE = 1500


def bradley_terry(rows: PairRows, strength: float, max_iter: int, tol: float) -> PairFit:
    """Newton steps, halved where the objective would fall."""
    one, two, won, lost = rows.pairs
    score = np.zeros(rows.n_items)
    value = _value(score, one, two, won, lost, strength)
    trace, converged = [value], False
    while len(trace) <= max_iter and not converged:
        s = np.exp(-np.logaddexp(0.0, score[two] - score[one]))
        turn = won * (1 - s) - lost * s
        gradient = total(one, turn, rows.n_items) - total(two, turn, rows.n_items) - strength * score
        way = _solved(one, two, (won + lost) * s * (1 - s), strength, gradient)
        step = 1.0
        while step > 1e-6 and _value(score + step * way, one, two, won, lost, strength) < value:
            step /= 2
        if step <= 1e-6:
            converged = True
            break
        score = score + step * way
        new = _value(score, one, two, won, lost, strength)
        # Where the ridge is next to nothing, rounding moves the common level on and on.
        converged = float(np.abs(step * (way - way.mean())).max(initial=0.0)) <= tol or new <= value
        value = new
        trace.append(value)
    s = np.exp(-np.logaddexp(0.0, -(score[rows.left] - score[rows.right])))
    found = blocks(rows, rows.weights * s * (1 - s), strength, [])
    return PairFit(score, found, trace=np.array(trace), n_iter=len(trace) - 1, converged=converged)


def _value(score: F8, one: I8, two: I8, won: F8, lost: F8, strength: float) -> float:
    d = score[one] - score[two]
    likely = -(won @ np.logaddexp(0.0, -d)) - lost @ np.logaddexp(0.0, d)
    return float(likely) - 0.5 * strength * float(score @ score)


def _solved(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64], weight: F8, ridge: float, target: F8) -> F8:
    """(Laplacian of the weights + ridge) x = target."""
    k = len(target)
    diagonal = total(one, weight, k) + total(two, weight, k) + ridge
    if k <= DENSE:
        dense = np.diag(diagonal)
        np.add.at(dense, (one, two), -weight)
        np.add.at(dense, (two, one), -weight)
        return np.asarray(np.linalg.solve(dense, target))
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import cg

    at = (np.concatenate([one, two, np.arange(k)]), np.concatenate([two, one, np.arange(k)]))
    full = coo_array((np.concatenate([-weight, -weight, diagonal]), at), shape=(k, k)).tocsr()
    return np.asarray(cg(full, target, rtol=1e-10, maxiter=2000, M=diags_array(1 / diagonal))[0])


# ----------------------------------------------------------------
# Scores are drawn to 0 by a normal prior: it holds what nothing else holds, such as the level of an island.


def ridge(score: F8, strength: float) -> tuple[float, F8, F8]:
    """Log density of N(0, 1 / strength) but for a constant, its gradient and its curvature."""
    return -0.5 * strength * float(score @ score), -strength * score, np.full(len(score), strength)


# ----------------------------------------------------------------
# CrowdBT's objective: P(worker m says i > j) = e_m s(d) + (1 - e_m) s(-d), d = score_i - score_j.
# Chen, Bennett, Collins-Thompson & Horvitz (2013), doi:10.1145/2433396.2433420. A tie is half a win of either.

# Rows from which compiled code pays for its loading.
COMPILED = 100_000


@dataclass(frozen=True, eq=False)
class CrowdObjective:
    """x = scores, then the logits of the workers' reliabilities; `strength` of the virtual item, Beta(a, b) prior."""

    rows: PairRows
    strength: float
    a: float
    b: float
    known: npt.NDArray[np.bool_] | None = None  # workers whose reliability is 1: gold

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        k = self.rows.n_items
        score, eta = x[:k], 1 / (1 + np.exp(-np.clip(x[k:], -30.0, 30.0)))
        if self.known is not None:
            eta = np.where(self.known, 1.0, eta)
        value, gs, hs, gw, hw = self._pass(score, eta)
        rv, rg, rh = ridge(score, self.strength)
        value += rv
        free = eta * (1 - eta)  # of gold workers 0
        heard = free > 0
        # The density of the logit, not of the reliability itself: its mode is never at 0 or 1.
        prior = self.a * np.log(np.where(heard, eta, 1.0)) + self.b * np.log(np.where(heard, 1 - eta, 1.0))
        value += float(prior.sum())
        gw = gw * free + np.where(heard, self.a * (1 - eta) - self.b * eta, 0.0)
        hw = hw * free**2 + (self.a + self.b) * free + 1e-3
        return float(value), np.concatenate([gs + rg, gw]), np.concatenate([hs + rh + 1e-9, hw])

    def _pass(self, score: F8, eta: F8) -> tuple[float, F8, F8, F8, F8]:
        """Log-likelihood; gradient and curvature by item and by worker (of the reliability itself)."""
        rows = self.rows
        if len(rows) >= COMPILED:
            from ..kernels import crowd_pass

            items, workers = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 2))
            value = crowd_pass(rows.left, rows.right, rows.share, rows.worker, rows.weights, score, eta, items, workers)
            return float(value), items[:, 0], items[:, 1], workers[:, 0], workers[:, 1]
        d, e, w, y = score[rows.left] - score[rows.right], eta[rows.worker], rows.weights, rows.share
        s = np.exp(-np.logaddexp(0.0, -d))
        p = np.clip(e * s + (1 - e) * (1 - s), 1e-300, 1 - 1e-16)
        q = np.clip(e * (1 - s) + (1 - e) * s, 1e-300, 1.0)
        value = float(w @ (y * np.log(p) + (1 - y) * np.log(q)))
        slope, lean = (2 * e - 1) * s * (1 - s), 2 * s - 1
        turn = w * (y / p - (1 - y) / q)
        info = w / (p * q)
        gs = total(rows.left, turn * slope, rows.n_items) - total(rows.right, turn * slope, rows.n_items)
        hs = total(rows.left, info * slope**2, rows.n_items)
        hs += total(rows.right, info * slope**2, rows.n_items)
        gw = total(rows.worker, turn * lean, rows.n_workers)
        hw = total(rows.worker, info * lean**2, rows.n_workers)
        return value, gs, hs, gw, hw

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, reliabilities estimated beside them."""
        rows, k = self.rows, self.rows.n_items
        eta = 1 / (1 + np.exp(-np.clip(x[k:], -30.0, 30.0)))
        if self.known is not None:
            eta = np.where(self.known, 1.0, eta)
        d, e = x[rows.left] - x[rows.right], eta[rows.worker]
        s = np.exp(-np.logaddexp(0.0, -d))
        p = np.clip(e * s + (1 - e) * (1 - s), 1e-12, 1 - 1e-12)
        slope, lean = (2 * e - 1) * s * (1 - s), (2 * s - 1) * e * (1 - e)
        scale = rows.weights / (p * (1 - p))
        own = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * eta * (1 - eta)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, own)])


# ----------------------------------------------------------------
# Davidson's model of ties, with workers: log-odds of left, right and tie are a, -a and t_m,
#     a = (b_m (score_left - score_right) + c_m) / 2,
#
# b_m ~ N(1, .) a worker's slope (0: guesses, below 0: reversed), c_m their pull to the left, t_m their liking for
# ties. Davidson (1970), doi:10.1080/01621459.1970.10481082; without ties it is Bradley and Terry's.


@dataclass(frozen=True, eq=False)
class DavidsonObjective:
    """x = scores, slopes, positions, ties (one of each for every worker), mean position, mean tie.

    Standard deviations of 0 hold slopes at 1, and positions and ties at the crowd's.
    """

    rows: PairRows
    strength: float
    slope: float
    position: float
    tie: float

    def parts(self, x: F8) -> tuple[F8, F8, F8, F8, float, float]:
        """The parameters one by one; where a spread is 0, everybody has the crowd's."""
        k, m = self.rows.n_items, self.rows.n_workers
        score, b, c, t = np.split(x[: k + 3 * m], [k, k + m, k + 2 * m])
        mean_c, mean_t = float(x[-2]), float(x[-1])
        b = b if self.slope > 0 else np.ones(m)
        c = c if self.position > 0 else np.full(m, mean_c)
        t = t if self.tie > 0 else np.full(m, mean_t)
        return score, b, c, t if self.rows.has_ties else np.full(m, -np.inf), mean_c, mean_t

    def start(self) -> F8:
        """Scores 0, slopes 1, no position, ties as often as they were said."""
        k, m = self.rows.n_items, self.rows.n_workers
        x = np.zeros(k + 3 * m + 2)
        x[k : k + m] = 1.0
        heard = max(float(self.rows.weights.sum()), 1e-9)
        share = float(self.rows.weights[self.rows.outcome == TIE].sum()) / heard
        x[k + 2 * m : k + 3 * m] = x[-1] = (
            np.log((share + 1e-3) / (1 - share + 1e-3) * 2) if self.rows.has_ties else 0.0
        )
        return x

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        score, b, c, t, mean_c, mean_t = self.parts(x)
        value, by_item, by_worker = self._pass(score, b, c, t)
        rv, rg, rh = ridge(score, self.strength)
        gs, hs = by_item[:, 0] + rg, by_item[:, 1] + rh + 1e-9
        value += rv
        grads, curves, means = [gs], [hs], []
        for j, (values, sd, middle) in enumerate(
            ((b, self.slope, 1.0), (c, self.position, mean_c), (t, self.tie, mean_t))
        ):
            g, h = by_worker[:, 2 * j].copy(), by_worker[:, 2 * j + 1].copy()
            off = j == 2 and not self.rows.has_ties
            if sd <= 0 or off:  # all share the mean: its gradient is theirs together
                means.append((0.0, 1.0) if off else (float(g.sum()), float(h.sum()) + 1e-6))
                g, h = np.zeros_like(g), np.ones_like(h)
            else:
                gap = (values - middle) / sd
                value -= 0.5 * float(gap @ gap)
                g -= gap / sd
                h += 1 / sd**2
                means.append((float(gap.sum()) / sd, len(gap) / sd**2 + 1e-6))
            grads.append(g)
            curves.append(h)
        (gc, hc), (gt, ht) = means[1:]
        # The crowd's own pull to a side is about as large as one worker's; a few answers must not be explained by it.
        # Where sides were never mixed (left is always the first by name) they are not seen apart from the items.
        hold = 1 / max(self.position, 0.3) ** 2 if self.rows.mixed_sides else 1e12
        value -= 0.5 * (hold * mean_c**2 + 1e-3 * mean_t**2)
        tail = np.array([gc - hold * mean_c, gt - 1e-3 * mean_t]), np.array([hc + hold, ht + 1e-3])
        return float(value), np.concatenate([*grads, tail[0]]), np.concatenate([*curves, tail[1]])

    def _pass(self, score: F8, b: F8, c: F8, t: F8) -> tuple[float, F8, F8]:
        """Log-likelihood; by item gradient, curvature; by worker both of slope, position, tie."""
        rows = self.rows
        by_item, by_worker = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 6))
        if len(rows) >= COMPILED:
            from ..kernels import davidson_pass

            value = davidson_pass(rows.left, rows.right, rows.outcome, rows.worker, rows.weights, score, b, c,
                                  np.exp(t), by_item, by_worker)  # fmt: skip
            return float(value), by_item, by_worker
        w, who = rows.weights, rows.worker
        d = score[rows.left] - score[rows.right]
        u = np.stack([(b[who] * d + c[who]) / 2, -(b[who] * d + c[who]) / 2, t[who]], axis=1)
        top = u.max(axis=1)
        p = np.exp(u - top[:, None])
        mass = p.sum(axis=1)
        p /= mass[:, None]
        n = np.arange(len(rows))
        value = float(w @ (u[n, rows.outcome] - top - np.log(mass))) if len(rows) else 0.0
        side = np.where(rows.outcome == TIE, 0.0, np.where(rows.outcome == LEFT, 1.0, -1.0))
        ga = w * (side - (p[:, 0] - p[:, 1]))
        ia = w * (p[:, 0] + p[:, 1] - (p[:, 0] - p[:, 1]) ** 2)
        gd, hd = ga * b[who] / 2, ia * b[who] ** 2 / 4
        for j, (one, two) in enumerate(((gd, -gd), (hd, hd))):
            by_item[:, j] = total(rows.left, one, rows.n_items) + total(rows.right, two, rows.n_items)
        tied = w * ((rows.outcome == TIE) - p[:, 2])
        for j, each in enumerate((ga * d / 2, ia * d**2 / 4, ga / 2, ia / 4, tied, w * p[:, 2] * (1 - p[:, 2]))):
            by_worker[:, j] = total(who, each, rows.n_workers)
        return value, by_item, by_worker

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, slopes and positions estimated beside them."""
        rows = self.rows
        score, b, c, t, _, _ = self.parts(x)
        d, who = score[rows.left] - score[rows.right], rows.worker
        a = (b[who] * d + c[who]) / 2
        top = np.maximum(np.abs(a), t[who])
        up, down, tie = np.exp(a - top), np.exp(-a - top), np.exp(t[who] - top)
        p, q = up / (up + down + tie), down / (up + down + tie)
        info = rows.weights * (p + q - (p - q) ** 2) / 4
        cross = []
        for sd, lean in ((self.slope, d), (self.position, np.ones_like(d))):
            if sd > 0:
                own: F8 = total(who, info * lean**2, rows.n_workers) + 1 / sd**2
                cross.append(Cross(info * b[who] * lean, own))
        return blocks(rows, info * b[who] ** 2, self.strength, cross)


# ----------------------------------------------------------------
# Noisy Bradley-Terry: a worker compares with chance g_m, and else follows a habit for one side:
#     P(m says y) = g_m s(y d) + (1 - g_m) s(y h_m),   y = 1 for left, -1 for right.
#
# Bugakova, Fedorova, Gusev & Drutsa (2019), arXiv:1904.03045 describe such a bias; crowd-kit's class of this name
# assigns the gradients of a worker's rows instead of adding them.


def _noisy_sigmoid(x: F8) -> F8:
    return np.exp(-np.logaddexp(0.0, -x))


@dataclass(frozen=True, eq=False)
class NoisyObjective:
    """x = scores, logits of g, habits h; g ~ Beta(a, b), h ~ N(0, habit²)."""

    rows: PairRows
    strength: float
    a: float
    b: float
    habit: float
    known: npt.NDArray[np.bool_] | None = None

    def _parts(self, x: F8) -> tuple[F8, F8, F8]:
        k, m = self.rows.n_items, self.rows.n_workers
        skill = _noisy_sigmoid(np.clip(x[k : k + m], -30.0, 30.0))
        return x[:k], skill if self.known is None else np.where(self.known, 1.0, skill), x[k + m :]

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, skill, habit = self._parts(x)
        p, s, r, g = self._chances(score, skill, habit)
        w, y = rows.weights, rows.share
        turn, info = w * (y / p - (1 - y) / (1 - p)), w / (p * (1 - p))
        leans = (g * s * (1 - s), (s - r) * g * (1 - g), (1 - g) * r * (1 - r))
        gs = total(rows.left, turn * leans[0], rows.n_items) - total(rows.right, turn * leans[0], rows.n_items)
        hs = total(rows.left, info * leans[0] ** 2, rows.n_items)
        hs += total(rows.right, info * leans[0] ** 2, rows.n_items)
        (gg, hg), (gh, hh) = (
            (total(rows.worker, turn * v, rows.n_workers), total(rows.worker, info * v**2, rows.n_workers))
            for v in leans[1:]
        )
        rv, rg, rh = ridge(score, self.strength)
        free = skill * (1 - skill) > 0
        value = float(w @ (y * np.log(p) + (1 - y) * np.log(1 - p))) + rv - 0.5 * float(habit @ habit) / self.habit**2
        value += float((self.a * np.log(skill[free]) + self.b * np.log1p(-skill[free])).sum())
        gg = gg + np.where(free, self.a * (1 - skill) - self.b * skill, 0.0)
        hg = hg + (self.a + self.b) * skill * (1 - skill) + 1e-3
        gradient = np.concatenate([gs + rg, gg, gh - habit / self.habit**2])
        return value, gradient, np.concatenate([hs + rh + 1e-9, hg, hh + 1 / self.habit**2])

    def _chances(self, score: F8, skill: F8, habit: F8) -> tuple[F8, F8, F8, F8]:
        rows = self.rows
        s, r, g = (
            _noisy_sigmoid(score[rows.left] - score[rows.right]),
            _noisy_sigmoid(habit)[rows.worker],
            skill[rows.worker],
        )
        return np.clip(g * s + (1 - g) * r, 1e-12, 1 - 1e-12), s, r, g

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, workers' skills estimated beside them."""
        rows = self.rows
        score, skill, habit = self._parts(x)
        p, s, r, g = self._chances(score, skill, habit)
        scale = rows.weights / (p * (1 - p))
        slope, lean = g * s * (1 - s), (s - r) * g * (1 - g)
        own = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * skill * (1 - skill)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, own)])

    def parts(self, x: F8) -> tuple[F8, F8, F8]:
        """Scores, the chance that each worker compares, and their habits."""
        return self._parts(x)


# ----------------------------------------------------------------
# Scores without a model of the workers: win rates, Elo, rank centrality.

# Games times passes from which compiled code pays for its loading.
SIMPLE_COMPILED = 200_000


def win_rates(rows: PairRows, smoothing: float) -> F8:
    """Log-odds of the share of wins, `smoothing` wins and losses added."""
    won = total(rows.left, rows.weights * rows.share, rows.n_items)
    won += total(rows.right, rows.weights * (1 - rows.share), rows.n_items)
    return np.log((won + smoothing) / (rows.asked - won + smoothing))


def elo(rows: PairRows, step: float, passes: int, order: list[npt.NDArray[np.int64]]) -> F8:
    """Game after game the winner takes `step` times the surprise from the loser, in natural logits."""
    score = np.zeros(rows.n_items)
    play: Any = _play
    if len(rows) * passes >= SIMPLE_COMPILED:
        from ..kernels import elo_pass

        play = elo_pass
    for each in order:
        play(rows.left[each], rows.right[each], rows.share[each], rows.weights[each], score, step)
    return score


def _play(left: Any, right: Any, share: F8, weight: F8, score: F8, step: float) -> None:
    for e in range(len(left)):
        i, j = left[e], right[e]
        move = step * weight[e] * (share[e] - 1 / (1 + np.exp(score[j] - score[i])))
        score[i] += move
        score[j] -= move


def rank_centrality(rows: PairRows, smoothing: float, max_iter: int, tol: float) -> tuple[F8, int, bool]:
    """Logarithms of the stationary distribution of a walk that goes from item to item by who beats whom, island by
    island; Negahban, Oh & Shah (2017), doi:10.1287/opre.2016.1534."""
    from scipy.sparse import coo_array

    one, two, won, lost = rows.pairs
    heard = won + lost > 0
    one, two, won, lost = one[heard], two[heard], won[heard], lost[heard]
    share = (won + smoothing) / (won + lost + 2 * smoothing)
    k, island = rows.n_items, rows.component
    degree = np.bincount(np.concatenate([one, two]), minlength=k)
    widest = np.ones(int(island.max(initial=0)) + 1)
    np.maximum.at(widest, island, degree)
    scale = 1 / widest[island]
    at = (np.concatenate([two, one]), np.concatenate([one, two]))  # [to, from]
    walk = coo_array((np.concatenate([scale[one] * (1 - share), scale[two] * share]), at), shape=(k, k)).tocsr()
    leaves = np.bincount(at[1], np.concatenate([scale[one] * (1 - share), scale[two] * share]), k)
    size = np.bincount(island, minlength=1)
    here = 1 / size[island]
    n, gap = 0, 0.0
    for n in range(1, max_iter + 1):  # noqa: B007
        there = walk @ here + (1 - leaves) * here
        gap = float(np.abs(there / here - 1).max(initial=0.0))
        here = there
        if gap <= tol:
            break
    score = np.log(np.maximum(here, 1e-300))
    return score - (np.bincount(island, score) / size)[island], n, gap <= tol
