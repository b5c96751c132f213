"""Models of comparisons on arrays: Bradley-Terry, CrowdBT, Davidson, noisy Bradley-Terry, and simple scores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.arrays import F8, I8

LEFT, RIGHT, TIE = 0, 1, 2


def total(codes: npt.NDArray[np.integer], values: npt.NDArray[Any], n: int) -> F8:
    """Sum the values by code."""
    return np.asarray(np.bincount(codes, values, n), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PairRows:
    """Comparisons as arrays: left and right item, outcome (LEFT, RIGHT, TIE), worker, weight (None: 1) of each row."""

    left: npt.NDArray[np.integer]
    right: npt.NDArray[np.integer]
    outcome: npt.NDArray[np.integer]
    worker: npt.NDArray[np.integer]
    weight: F8 | None
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.left)

    def take(self, rows: npt.NDArray[Any]) -> PairRows:
        """Select rows."""
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, left=self.left[rows], right=self.right[rows], outcome=self.outcome[rows],
                       worker=self.worker[rows], weight=weight)  # fmt: skip

    @cached_property
    def weights(self) -> F8:
        """The weight of each row."""
        return np.ones(len(self)) if self.weight is None else self.weight

    @cached_property
    def share(self) -> F8:
        """The share of each row that the left item wins: 1, 0, or 1/2 for a tie."""
        return np.asarray(np.array([1.0, 0.0, 0.5])[self.outcome])

    @cached_property
    def has_ties(self) -> bool:
        """Whether any row with weight is a tie."""
        return bool(((self.outcome == TIE) & (self.weights > 0)).any())

    @cached_property
    def mixed_sides(self) -> bool:
        """Whether the item that is first by name occurs on both sides."""
        first = self.left < self.right
        return len(self) < 20 or bool(first.any() and not first.all())

    @cached_property
    def pairs(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F8, F8]:
        """Each pair of items once: lower code, higher code, wins of either; a tie is half a win."""
        low, high = np.minimum(self.left, self.right).astype(np.int64), np.maximum(self.left, self.right)
        key, at = np.unique(low * self.n_items + high, return_inverse=True)
        first = np.where(self.left <= self.right, self.share, 1 - self.share)
        won = total(at, self.weights * first, len(key))
        lost = total(at, self.weights * (1 - first), len(key))
        return key // max(self.n_items, 1), key % max(self.n_items, 1), won, lost

    @cached_property
    def asked(self) -> F8:
        """Total weight of the rows of each item."""
        items = np.concatenate([self.left, self.right])
        return total(items, np.concatenate([self.weights, self.weights]), self.n_items)

    @cached_property
    def component(self) -> npt.NDArray[np.int64]:
        """Connected component of each item in the graph of compared items; the largest is 0, then by the first item."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        has_weight = self.weights > 0
        ones = np.ones(int(has_weight.sum()), dtype=np.int8)
        graph = coo_array((ones, (self.left[has_weight], self.right[has_weight])), shape=(self.n_items, self.n_items))
        label = connected_components(graph, directed=False, return_labels=True)[1].astype(np.int64)
        size = np.bincount(label, minlength=1)
        first = np.full(len(size), self.n_items)
        np.minimum.at(first, label, np.arange(self.n_items))
        rank = np.empty(len(size), dtype=np.int64)
        rank[np.lexsort((first, -size))] = np.arange(len(size))
        return rank[label]


# ----------------------------------------------------------------
# Uncertainty of the scores: the inverse of their information matrix per component, with the free level removed.

# Components of more items get their variances from two terms of a series instead of an inverse.
LARGEST = 2000
# Cells of matrices that are inverted in one batch.
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class ScoreBlock:
    """Components of one size: members[component, i] (codes of items), covariance[component, i, j], variance.

    The covariance is None for components that are too large.
    """

    members: I8
    covariance: F8 | None
    variance: F8


@dataclass(frozen=True, eq=False)
class Cross:
    """Information of each row about its score difference and its worker's parameter together (`mixed`), and of each
    worker's answers and prior about that parameter (`parameter`)."""

    mixed: F8
    parameter: F8


def blocks(rows: PairRows, info: F8, ridge: F8 | float, cross: list[Cross]) -> list[ScoreBlock]:
    """Compute the covariance of the scores, block by block.

    Args:
        rows: The comparisons.
        info: Information of each row about its score difference.
        ridge: Information of the prior about each score.
        cross: One entry per parameter of the workers that is estimated together with the scores.
    """
    from scipy.sparse import coo_array, csr_array

    k = rows.n_items
    i, j = rows.left.astype(np.int64), rows.right.astype(np.int64)
    at = (np.concatenate([i, j, i, j, np.arange(k)]), np.concatenate([i, j, j, i, np.arange(k)]))
    values = np.concatenate([info, info, -info, -info, np.broadcast_to(np.asarray(ridge, dtype=np.float64), k)])
    precision = coo_array((values, at), shape=(k, k)).tocsr()
    small = np.bincount(rows.component, minlength=1).max(initial=0) <= LARGEST
    for term in cross if small else []:
        mixed = coo_array(
            (
                np.concatenate([term.mixed, -term.mixed]),
                (np.concatenate([i, j]), np.concatenate([rows.worker, rows.worker])),
            ),
            shape=(k, rows.n_workers),
        ).tocsr()
        scaled = csr_array(mixed.multiply(1 / np.sqrt(np.maximum(term.parameter, 1e-12))[None, :]))
        precision = precision - (scaled @ scaled.T).multiply(_same(rows.component, scaled @ scaled.T))
    return [
        block
        for size in np.unique(np.bincount(rows.component))
        for block in _of_size(precision, rows.component, int(size))
    ]


def _same(component: I8, like: object) -> object:
    """1 where both items are in the same component; workers link components only weakly."""
    from scipy.sparse import coo_array

    one = coo_array(like)  # type: ignore[call-overload]
    row, col = one.coords
    return coo_array(((component[row] == component[col]).astype(np.float64), (row, col)), shape=one.shape).tocsr()


def _of_size(precision: object, component: I8, size: int) -> list[ScoreBlock]:
    from scipy.sparse import coo_array

    counts = np.bincount(component)
    components = np.flatnonzero(counts == size)
    if not size:
        return []
    order = np.argsort(component, kind="stable")
    begin = np.concatenate([[0], np.cumsum(counts)])[:-1]
    members = order[begin[components][:, None] + np.arange(size)]
    cells = coo_array(precision)  # type: ignore[call-overload]
    row, col = cells.coords
    place, component_of = np.empty(len(component), dtype=np.int64), np.full(len(component), -1, dtype=np.int64)
    place[members] = np.arange(size)
    component_of[members] = np.arange(len(components))[:, None]
    of_size = (component_of[row] >= 0) & (component_of[row] == component_of[col])
    row, col, value = row[of_size], col[of_size], cells.data[of_size]
    if size > LARGEST:
        return [_series(members, component_of[row], place[row], place[col], value, size)]
    out = []
    step = max(1, _CELLS // size**2)
    for lo in range(0, len(components), step):
        is_member = (component_of[row] >= lo) & (component_of[row] < lo + step)
        table = np.zeros((min(step, len(components) - lo), size, size))
        np.add.at(
            table, (component_of[row[is_member]] - lo, place[row[is_member]], place[col[is_member]]), value[is_member]
        )
        out.append(_inverted(members[lo : lo + step], table))
    return out


def _inverted(members: I8, table: F8) -> ScoreBlock:
    size = table.shape[1]
    full: F8 = np.asarray(np.linalg.inv(table), dtype=np.float64)
    full -= full.mean(axis=1, keepdims=True)
    full -= full.mean(axis=2, keepdims=True)  # the level of a component is arbitrary
    variance = np.maximum(np.diagonal(full, axis1=1, axis2=2), 0.0)
    return ScoreBlock(members, full if size > 1 else np.zeros_like(full), variance)


def _series(members: I8, which: I8, one: I8, two: I8, value: F8, size: int) -> ScoreBlock:
    """Approximate variances 1/h_ii + sum_j h_ij² / (h_ii² h_jj): accurate where every item has many opponents."""
    n = len(members)
    diagonal = np.zeros((n, size))
    on = one == two
    np.add.at(diagonal, (which[on], one[on]), value[on])
    more = np.zeros((n, size))
    np.add.at(more, (which[~on], one[~on]), value[~on] ** 2 / diagonal[which[~on], two[~on]])
    return ScoreBlock(members, None, 1 / diagonal + more / diagonal**2)


# ----------------------------------------------------------------
# Result of every model of comparisons: scores of items, parameters of workers, probabilities of outcomes.


@dataclass(frozen=True, eq=False)
class PairFit:
    """score[item] and reliability, slope, position, tie[worker] (None: not a parameter of the method).

    The outcome probabilities of an unknown worker follow from the scores, `tie_level`, the strength of a tie between
    equal items (-inf: no ties), and `tie_spread`, its standard deviation over the workers. `blocks` is the covariance
    of the scores per component (None: not known).
    """

    score: F8
    blocks: list[ScoreBlock] | None = None
    reliability: F8 | None = None
    slope: F8 | None = None
    position: F8 | None = None
    tie: F8 | None = None
    tie_level: float = -np.inf
    tie_spread: float = 0.0
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True


# Gauss-Hermite knots of a standard normal, for the average over the workers' tie rates.
_KNOTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


def outcome(
    score: F8, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer], level: float, spread: float
) -> F8:
    """P(left wins, right wins, tie) of pairs for an unknown worker, averaged over the crowd's tie rates."""
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
    """Fit by Newton steps, halved where the objective would decrease."""
    one, two, won, lost = rows.pairs
    score = np.zeros(rows.n_items)
    value = _value(score, one, two, won, lost, strength)
    trace, converged = [value], False
    while len(trace) <= max_iter and not converged:
        s = _sigmoid(score[one] - score[two])
        turn = won * (1 - s) - lost * s
        gradient = total(one, turn, rows.n_items) - total(two, turn, rows.n_items) - strength * score
        direction = _solved(one, two, (won + lost) * s * (1 - s), strength, gradient)
        step = 1.0
        while step > 1e-6 and _value(score + step * direction, one, two, won, lost, strength) < value:
            step /= 2
        if step <= 1e-6:
            converged = True
            break
        score = score + step * direction
        new = _value(score, one, two, won, lost, strength)
        # With a tiny ridge, rounding errors keep moving the common level.
        converged = float(np.abs(step * (direction - direction.mean())).max(initial=0.0)) <= tol or new <= value
        value = new
        trace.append(value)
    s = _sigmoid(score[rows.left] - score[rows.right])
    covariance = blocks(rows, rows.weights * s * (1 - s), strength, [])
    return PairFit(score, covariance, trace=np.array(trace), n_iter=len(trace) - 1, converged=converged)


def _value(score: F8, one: I8, two: I8, won: F8, lost: F8, strength: float) -> float:
    d = score[one] - score[two]
    likely = -(won @ np.logaddexp(0.0, -d)) - lost @ np.logaddexp(0.0, d)
    return float(likely) - 0.5 * strength * float(score @ score)


def _solved(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64], weight: F8, ridge: float, target: F8) -> F8:
    """Solve (Laplacian of the weights + ridge) x = target."""
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
# A normal prior shrinks scores towards 0 and fixes what the data do not, such as the level of a component.


def ridge(score: F8, strength: float) -> tuple[float, F8, F8]:
    """Log density of N(0, 1 / strength) up to a constant, its gradient and its curvature."""
    return -0.5 * strength * float(score @ score), -strength * score, np.full(len(score), strength)


# ----------------------------------------------------------------
# CrowdBT's objective: P(worker m says i > j) = e_m s(d) + (1 - e_m) s(-d), d = score_i - score_j.
# Chen, Bennett, Collins-Thompson & Horvitz (2013), doi:10.1145/2433396.2433420. A tie is half a win of either.

# Number of rows from which compiled code pays for its loading time.
COMPILED = 100_000


@dataclass(frozen=True, eq=False)
class CrowdObjective:
    """Log posterior of x = scores, then the logits of the workers' reliabilities, which have a Beta(a, b) prior."""

    rows: PairRows
    strength: float
    a: float
    b: float
    is_gold: npt.NDArray[np.bool_] | None = None  # workers with reliability 1

    def _parts(self, x: F8) -> tuple[F8, F8]:
        """Scores and reliabilities."""
        k = self.rows.n_items
        eta = 1 / (1 + np.exp(-np.clip(x[k:], -30.0, 30.0)))
        return x[:k], eta if self.is_gold is None else np.where(self.is_gold, 1.0, eta)

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        score, eta = self._parts(x)
        value, gs, hs, gw, hw = self._pass(score, eta)
        rv, rg, rh = ridge(score, self.strength)
        value += rv
        free = eta * (1 - eta)  # 0 for gold workers
        is_free = free > 0
        # The prior density of the logit, not of the reliability: its mode is never at 0 or 1.
        prior = self.a * np.log(np.where(is_free, eta, 1.0)) + self.b * np.log(np.where(is_free, 1 - eta, 1.0))
        value += float(prior.sum())
        gw = gw * free + np.where(is_free, self.a * (1 - eta) - self.b * eta, 0.0)
        hw = hw * free**2 + (self.a + self.b) * free + 1e-3
        return float(value), np.concatenate([gs + rg, gw]), np.concatenate([hs + rh + 1e-9, hw])

    def _pass(self, score: F8, eta: F8) -> tuple[float, F8, F8, F8, F8]:
        """Log-likelihood, with gradient and curvature by item and by worker (of the reliability, not its logit)."""
        rows = self.rows
        if len(rows) >= COMPILED:
            from ..kernels import crowd_pass

            items, workers = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 2))
            value = crowd_pass(rows.left, rows.right, rows.share, rows.worker, rows.weights, score, eta, items, workers)
            return float(value), items[:, 0], items[:, 1], workers[:, 0], workers[:, 1]
        d, e, w, y = score[rows.left] - score[rows.right], eta[rows.worker], rows.weights, rows.share
        s = _sigmoid(d)
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

    def blocks(self, x: F8) -> list[ScoreBlock]:
        """Covariance of the scores, with the reliabilities estimated too."""
        rows, (_, eta) = self.rows, self._parts(x)
        d, e = x[rows.left] - x[rows.right], eta[rows.worker]
        s = _sigmoid(d)
        p = np.clip(e * s + (1 - e) * (1 - s), 1e-12, 1 - 1e-12)
        slope, lean = (2 * e - 1) * s * (1 - s), (2 * s - 1) * e * (1 - e)
        scale = rows.weights / (p * (1 - p))
        curvature = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * eta * (1 - eta)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, curvature)])


# ----------------------------------------------------------------
# Davidson's model of ties, with workers: log-odds of left, right and tie are a, -a and t_m,
#     a = (b_m (score_left - score_right) + c_m) / 2,
#
# with the worker's slope b_m ~ N(1, .) (0: guesses, below 0: reversed), their preference c_m for the left side and
# their log-odds t_m of a tie. Davidson (1970), doi:10.1080/01621459.1970.10481082; without ties it is Bradley-Terry.


@dataclass(frozen=True, eq=False)
class DavidsonObjective:
    """Log posterior of x = scores, slopes, positions, ties (one of each per worker), mean position, mean tie.

    `slope`, `position` and `tie` are standard deviations over the workers. 0 fixes slopes at 1, and positions and ties
    at the means.
    """

    rows: PairRows
    strength: float
    slope: float
    position: float
    tie: float

    def parts(self, x: F8) -> tuple[F8, F8, F8, F8, float, float]:
        """Split x into its parameters; where a standard deviation is 0, all workers have the mean."""
        k, m = self.rows.n_items, self.rows.n_workers
        score, b, c, t = np.split(x[: k + 3 * m], [k, k + m, k + 2 * m])
        mean_c, mean_t = float(x[-2]), float(x[-1])
        b = b if self.slope > 0 else np.ones(m)
        c = c if self.position > 0 else np.full(m, mean_c)
        t = t if self.tie > 0 else np.full(m, mean_t)
        return score, b, c, t if self.rows.has_ties else np.full(m, -np.inf), mean_c, mean_t

    def start(self) -> F8:
        """Starting values: scores 0, slopes 1, positions 0, ties at their observed rate."""
        k, m = self.rows.n_items, self.rows.n_workers
        x = np.zeros(k + 3 * m + 2)
        x[k : k + m] = 1.0
        total_weight = max(float(self.rows.weights.sum()), 1e-9)
        share = float(self.rows.weights[self.rows.outcome == TIE].sum()) / total_weight
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
            if sd <= 0 or off:  # all workers share the mean, which gets the sum of their gradients
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
        # The mean position is about as large as that of one worker; it must not explain a handful of answers. Where
        # sides were never mixed (left is always the first by name) it cannot be separated from the items.
        hold = 1 / max(self.position, 0.3) ** 2 if self.rows.mixed_sides else 1e12
        value -= 0.5 * (hold * mean_c**2 + 1e-3 * mean_t**2)
        tail = np.array([gc - hold * mean_c, gt - 1e-3 * mean_t]), np.array([hc + hold, ht + 1e-3])
        return float(value), np.concatenate([*grads, tail[0]]), np.concatenate([*curves, tail[1]])

    def _pass(self, score: F8, b: F8, c: F8, t: F8) -> tuple[float, F8, F8]:
        """Log-likelihood; gradient and curvature by item, and by worker for slope, position and tie."""
        rows = self.rows
        by_item, by_worker = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 6))
        if len(rows) >= COMPILED:
            from ..kernels import davidson_pass

            value = davidson_pass(rows.left, rows.right, rows.outcome, rows.worker, rows.weights, score, b, c,
                                  np.exp(t), by_item, by_worker)  # fmt: skip
            return float(value), by_item, by_worker
        w, worker = rows.weights, rows.worker
        d = score[rows.left] - score[rows.right]
        u = np.stack([(b[worker] * d + c[worker]) / 2, -(b[worker] * d + c[worker]) / 2, t[worker]], axis=1)
        top = u.max(axis=1)
        p = np.exp(u - top[:, None])
        mass = p.sum(axis=1)
        p /= mass[:, None]
        n = np.arange(len(rows))
        value = float(w @ (u[n, rows.outcome] - top - np.log(mass))) if len(rows) else 0.0
        side = np.where(rows.outcome == TIE, 0.0, np.where(rows.outcome == LEFT, 1.0, -1.0))
        ga = w * (side - (p[:, 0] - p[:, 1]))
        ia = w * (p[:, 0] + p[:, 1] - (p[:, 0] - p[:, 1]) ** 2)
        gd, hd = ga * b[worker] / 2, ia * b[worker] ** 2 / 4
        for j, (one, two) in enumerate(((gd, -gd), (hd, hd))):
            by_item[:, j] = total(rows.left, one, rows.n_items) + total(rows.right, two, rows.n_items)
        tied = w * ((rows.outcome == TIE) - p[:, 2])
        for j, term in enumerate((ga * d / 2, ia * d**2 / 4, ga / 2, ia / 4, tied, w * p[:, 2] * (1 - p[:, 2]))):
            by_worker[:, j] = total(worker, term, rows.n_workers)
        return value, by_item, by_worker

    def blocks(self, x: F8) -> list[ScoreBlock]:
        """Covariance of the scores, with slopes and positions estimated too."""
        rows = self.rows
        score, b, c, t, _, _ = self.parts(x)
        d, worker = score[rows.left] - score[rows.right], rows.worker
        a = (b[worker] * d + c[worker]) / 2
        top = np.maximum(np.abs(a), t[worker])
        up, down, tie = np.exp(a - top), np.exp(-a - top), np.exp(t[worker] - top)
        p, q = up / (up + down + tie), down / (up + down + tie)
        info = rows.weights * (p + q - (p - q) ** 2) / 4
        cross = []
        for sd, lean in ((self.slope, d), (self.position, np.ones_like(d))):
            if sd > 0:
                curvature: F8 = total(worker, info * lean**2, rows.n_workers) + 1 / sd**2
                cross.append(Cross(info * b[worker] * lean, curvature))
        return blocks(rows, info * b[worker] ** 2, self.strength, cross)


# ----------------------------------------------------------------
# Noisy Bradley-Terry: a worker compares with probability g_m, and else follows a habit h_m for one side:
#     P(m answers y) = g_m s(y d) + (1 - g_m) s(y h_m),   y = 1 for left, -1 for right.
#
# Bugakova, Fedorova, Gusev & Drutsa (2019), arXiv:1904.03045 describe such a bias; crowd-kit's class of this name
# assigns the gradients of a worker's rows instead of adding them.


@dataclass(frozen=True, eq=False)
class NoisyObjective:
    """Log posterior of x = scores, logits of g, habits h, with g ~ Beta(a, b) and h ~ N(0, habit²)."""

    rows: PairRows
    strength: float
    a: float
    b: float
    habit: float
    is_gold: npt.NDArray[np.bool_] | None = None

    def parts(self, x: F8) -> tuple[F8, F8, F8]:
        """Scores, the probability that each worker compares, and their habits."""
        k, m = self.rows.n_items, self.rows.n_workers
        skill = _sigmoid(np.clip(x[k : k + m], -30.0, 30.0))
        return x[:k], skill if self.is_gold is None else np.where(self.is_gold, 1.0, skill), x[k + m :]

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, skill, habit = self.parts(x)
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
        s = _sigmoid(score[rows.left] - score[rows.right])
        r, g = _sigmoid(habit)[rows.worker], skill[rows.worker]
        return np.clip(g * s + (1 - g) * r, 1e-12, 1 - 1e-12), s, r, g

    def blocks(self, x: F8) -> list[ScoreBlock]:
        """Covariance of the scores, with the workers' skills estimated too."""
        rows = self.rows
        score, skill, habit = self.parts(x)
        p, s, r, g = self._chances(score, skill, habit)
        scale = rows.weights / (p * (1 - p))
        slope, lean = g * s * (1 - s), (s - r) * g * (1 - g)
        curvature = total(rows.worker, scale * lean**2, rows.n_workers) + (self.a + self.b) * skill * (1 - skill)
        return blocks(rows, scale * slope**2, self.strength, [Cross(scale * slope * lean, curvature)])


# ----------------------------------------------------------------
# Scores without a model of the workers: win rates, Elo, rank centrality.

# Rows times passes from which compiled code pays for its loading time.
SIMPLE_COMPILED = 200_000


def win_rates(rows: PairRows, smoothing: float) -> F8:
    """Log-odds of the share of wins, with `smoothing` wins and losses added."""
    won = total(rows.left, rows.weights * rows.share, rows.n_items)
    won += total(rows.right, rows.weights * (1 - rows.share), rows.n_items)
    return np.log((won + smoothing) / (rows.asked - won + smoothing))


def elo(rows: PairRows, step: float, passes: int, order: list[npt.NDArray[np.int64]]) -> F8:
    """Elo ratings in natural logits: in each game the winner takes `step` times the surprise from the loser."""
    score = np.zeros(rows.n_items)
    play: Any = _play
    if len(rows) * passes >= SIMPLE_COMPILED:
        from ..kernels import elo_pass

        play = elo_pass
    for game_rows in order:
        games = rows.take(game_rows)
        play(games.left, games.right, games.share, games.weights, score, step)
    return score


def _play(left: Any, right: Any, share: F8, weight: F8, score: F8, step: float) -> None:
    for e in range(len(left)):
        i, j = left[e], right[e]
        move = step * weight[e] * (share[e] - 1 / (1 + np.exp(score[j] - score[i])))
        score[i] += move
        score[j] -= move


def rank_centrality(rows: PairRows, smoothing: float, max_iter: int, tol: float) -> tuple[F8, int, bool]:
    """Log stationary distribution of a random walk from losers to winners, per component.

    Negahban, Oh & Shah (2017), doi:10.1287/opre.2016.1534.
    """
    from scipy.sparse import coo_array

    one, two, won, lost = rows.pairs
    was_compared = won + lost > 0
    one, two, won, lost = one[was_compared], two[was_compared], won[was_compared], lost[was_compared]
    share = (won + smoothing) / (won + lost + 2 * smoothing)
    k, component = rows.n_items, rows.component
    degree = np.bincount(np.concatenate([one, two]), minlength=k)
    widest = np.ones(int(component.max(initial=0)) + 1)
    np.maximum.at(widest, component, degree)
    scale = 1 / widest[component]
    at = (np.concatenate([two, one]), np.concatenate([one, two]))  # [to, from]
    walk = coo_array((np.concatenate([scale[one] * (1 - share), scale[two] * share]), at), shape=(k, k)).tocsr()
    leaves = np.bincount(at[1], np.concatenate([scale[one] * (1 - share), scale[two] * share]), k)
    size = np.bincount(component, minlength=1)
    current = 1 / size[component]
    n, gap = 0, 0.0
    for n in range(1, max_iter + 1):  # noqa: B007
        following = walk @ current + (1 - leaves) * current
        gap = float(np.abs(following / current - 1).max(initial=0.0))
        current = following
        if gap <= tol:
            break
    score = np.log(np.maximum(current, 1e-300))
    return score - (np.bincount(component, score) / size)[component], n, gap <= tol
