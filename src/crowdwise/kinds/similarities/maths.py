"""Models of same-or-different answers on arrays: mean field, spectral clusters, free logits; and cluster metrics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ...core.arrays import F8, I8
from ...stats.information import entropy
from ...stats.logspace import normalise_rows


@dataclass(frozen=True, eq=False)
class Pairs:
    """One answer per row: left and right are items, same is 1 or 0; a weight w counts as w answers."""

    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    same: F8
    worker: npt.NDArray[Any]
    weight: F8
    n_items: int
    n_workers: int

    def __len__(self) -> int:
        return len(self.same)

    def take(self, rows: npt.NDArray[Any]) -> Pairs:
        """Select rows; items and workers stay the same."""
        return Pairs(self.left[rows], self.right[rows], self.same[rows], self.worker[rows], self.weight[rows],
                     self.n_items, self.n_workers)  # fmt: skip

    def matrix(self, value: F8) -> csr_array:
        """The symmetric matrix of the rows' values, summed over the rows of a pair."""
        n = self.n_items
        row, column = np.concatenate([self.left, self.right]), np.concatenate([self.right, self.left])
        return csr_array((np.concatenate([value, value]), (row, column)), shape=(n, n))

    @cached_property
    def degree(self) -> F8:
        """Total weight of the answers about each item."""
        items = np.concatenate([self.left, self.right])
        return np.bincount(items, weights=np.tile(self.weight, 2), minlength=self.n_items).astype(np.float64)

    @cached_property
    def components(self) -> tuple[int, I8]:
        """Number of connected components of items, and the component of each item."""
        from scipy.sparse.csgraph import connected_components

        n, label = connected_components(self.matrix(np.ones(len(self))), directed=False)
        return int(n), np.asarray(label, dtype=np.int64)


# ----------------------------------------------------------------
# Agreement of two partitions: adjusted Rand index, normalised mutual information, accuracy after matching.


def table(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> F8:
    """Contingency table: counts[cluster of a, cluster of b]."""
    one, two = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    wide = int(two.max(initial=-1)) + 1
    flat = np.bincount(one * wide + two, minlength=(int(one.max(initial=-1)) + 1) * wide)
    return flat.reshape(-1, wide).astype(np.float64) if wide else np.zeros((0, 0))


def adjusted_rand(a: I8, b: I8) -> float:
    """Adjusted Rand index (Hubert & Arabie 1985, doi:10.1007/BF01908075); 1 where both have a single cluster."""
    counts = table(a, b)
    n = counts.sum()
    together, rows, columns = (float((x * (x - 1) / 2).sum()) for x in (counts, counts.sum(axis=1), counts.sum(axis=0)))
    pairs = n * (n - 1) / 2
    expected = rows * columns / pairs if pairs else 0.0
    top = (rows + columns) / 2
    return 1.0 if top == expected else float((together - expected) / (top - expected))


def mutual_information(a: I8, b: I8) -> float:
    """Mutual information over the mean entropy (Strehl & Ghosh 2002); 1 where both have a single cluster."""
    counts = table(a, b)
    p = counts / max(counts.sum(), 1.0)
    one, two = float(entropy(p.sum(axis=1))), float(entropy(p.sum(axis=0)))
    shared = one + two - float(entropy(p.ravel()))
    return 1.0 if one + two == 0 else float(max(0.0, 2 * shared / (one + two)))


def matched_accuracy(a: I8, b: I8) -> float:
    """Share of items in the right cluster after the best one-to-one matching of clusters."""
    from scipy.optimize import linear_sum_assignment

    counts = table(a, b)
    return float(counts[linear_sum_assignment(counts, maximize=True)].sum() / max(counts.sum(), 1.0))


# ----------------------------------------------------------------
# Two error rates ("coins") of each worker: P("same") for pairs of one cluster, P("different") for pairs of two.

EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Coins:
    """hit[worker] = P("same" | same), rejection[worker] = P("different" | different)."""

    hit: F8
    rejection: F8

    def evidence(self, pairs: Pairs) -> F8:
        """Weighted log P(answer | same) - log P(answer | different) of each row."""
        a, b = self.hit[pairs.worker], self.rejection[pairs.worker]
        yes, no = np.log(a / (1 - b)), np.log((1 - a) / b)
        return np.asarray(pairs.weight * np.where(pairs.same > 0.5, yes, no))

    def chance(self, pairs: Pairs, same: F8) -> F8:
        """P(answer) of each row, where same[row] is the probability that the pair is the same."""
        a, b = self.hit[pairs.worker], self.rejection[pairs.worker]
        yes = a * same + (1 - b) * (1 - same)
        return np.asarray(np.where(pairs.same > 0.5, yes, 1 - yes))


def coins(pairs: Pairs, same: F8, strength: float, workers: bool = True) -> Coins:
    """Estimate the coins, given the probability same[row] that the pair of each row is the same.

    Args:
        pairs: The answers.
        same: Probability that the pair of each row is the same.
        strength: Weight of the crowd's coins in the estimate of each worker, in answers.
        workers: Estimate coins of each worker; else all workers have the crowd's.
    """
    m, w = pairs.n_workers, pairs.weight

    def rate(weight: F8, agrees: F8) -> F8:
        top = np.bincount(pairs.worker, weights=weight * agrees, minlength=m)
        total = np.bincount(pairs.worker, weights=weight, minlength=m)
        crowd = (top.sum() + 1.0) / (total.sum() + 2.0)
        value = (top + strength * crowd) / (total + strength) if workers else np.full(m, crowd)
        return np.asarray(np.clip(value, EDGE, 1 - EDGE))

    return Coins(rate(w * same, pairs.same), rate(w * (1 - same), 1 - pairs.same))


# ----------------------------------------------------------------
# Soft clusters as free logits of each item, with two coins of each worker: P(same) = f_i . f_j, f = softmax.
#     loss = - sum log P(answer) - spread x logdet(F'F / n) + decay / 2 x |logits|²
#
# The log-determinant keeps clusters from collapsing into one. After crowdclustering (Gomes, Welinder, Krause & Perona,
# NIPS 2011), without features.

CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class FreeLogitsFit:
    """belief[item, cluster], the workers' coins, and the objective at each step."""

    belief: F8
    coins: Coins
    trace: F8
    n_iter: int
    converged: bool


def free_logits(
    pairs: Pairs, start: I8, k: int, *, spread: float, decay: float, strength: float, max_iter: int, seed: int
) -> FreeLogitsFit:
    """Fit by L-BFGS from cluster[item].

    Args:
        pairs: The answers.
        start: Starting cluster of each item.
        k: Number of clusters.
        spread: Weight of the log-determinant.
        decay: Weight of the penalty on the logits.
        strength: Weight of the prior that shrinks the workers' coins towards the crowd's.
        max_iter: Maximum number of iterations.
        seed: Seed of the starting logits.
    """
    from scipy.optimize import minimize

    n, m = pairs.n_items, pairs.n_workers
    rng = np.random.default_rng(seed)
    theta = rng.normal(0.0, 0.1, (n, k))
    theta[np.arange(n), start] += 1.0
    coin = np.full((2, m), np.log(0.7 / 0.3))
    common = np.full(2, np.log(0.7 / 0.3))
    problem = _LogitLoss(pairs, k, spread, decay, strength)
    trace: list[float] = []
    optimum = minimize(
        problem.value, np.concatenate([theta.ravel(), coin.ravel(), common]), jac=True, method="L-BFGS-B",
        callback=lambda x: trace.append(-problem.value(x)[0]), options={"maxiter": max_iter, "maxfun": 3 * max_iter},
    )  # fmt: skip
    theta, hit, rejection, _ = problem.parts(optimum.x)
    belief, _ = normalise_rows(theta)
    return FreeLogitsFit(belief, Coins(hit, rejection), np.array(trace), int(optimum.nit), bool(optimum.success))


class _LogitLoss:
    """The loss and its gradient."""

    def __init__(self, pairs: Pairs, k: int, spread: float, decay: float, strength: float) -> None:
        self.pairs, self.k, self.spread, self.decay, self.strength = pairs, k, spread, decay, strength

    def parts(self, x: F8) -> tuple[F8, F8, F8, F8]:
        n, m = self.pairs.n_items, self.pairs.n_workers
        theta = x[: n * self.k].reshape(n, self.k)
        logits = x[n * self.k : n * self.k + 2 * m].reshape(2, m)
        coin = np.clip(1 / (1 + np.exp(-logits)), 1e-3, 1 - 1e-3)
        return theta, coin[0], coin[1], x[-2:]

    def value(self, x: F8) -> tuple[float, F8]:
        pairs, k, m = self.pairs, self.k, self.pairs.n_workers
        theta, a, b, common = self.parts(x)
        f = normalise_rows(theta)[0]
        left, right, w = f[pairs.left], f[pairs.right], pairs.worker
        same = np.clip((left * right).sum(axis=1), CLIP, 1 - CLIP)
        yes = a[w] * same + (1 - b[w]) * (1 - same)
        sign = np.where(pairs.same > 0.5, 1.0, -1.0)
        chance = np.clip(np.where(sign > 0, yes, 1 - yes), CLIP, None)
        slope = -pairs.weight * sign / chance  # of the loss, in P(says same)
        by_same = slope * (a[w] + b[w] - 1)
        grad_f = pairs_sum(pairs, by_same[:, None] * right, by_same[:, None] * left)
        cross = f.T @ f / len(f) + 1e-6 * np.eye(k)
        grad_f -= self.spread * 2 * f @ np.linalg.inv(cross) / len(f)
        grad_theta = f * (grad_f - (grad_f * f).sum(axis=1, keepdims=True)) + self.decay * theta
        logits = x[theta.size : theta.size + 2 * m].reshape(2, m)
        gap = logits - common[:, None]
        by_a, by_b = slope * same, -slope * (1 - same)
        coins = np.stack([np.bincount(w, weights=by_a, minlength=m) * a * (1 - a),
                          np.bincount(w, weights=by_b, minlength=m) * b * (1 - b)])  # fmt: skip
        loss = -float((pairs.weight * np.log(chance)).sum()) - self.spread * float(np.linalg.slogdet(cross)[1])
        loss += self.decay / 2 * float((theta**2).sum()) + self.strength / 2 * float((gap**2).sum())
        grad = np.concatenate(
            [grad_theta.ravel(), (coins + self.strength * gap).ravel(), -self.strength * gap.sum(axis=1)]
        )
        return loss, grad


def pairs_sum(pairs: Pairs, to_left: F8, to_right: F8) -> F8:
    """Sum values of rows over the items on their left and right."""
    items, values = np.concatenate([pairs.left, pairs.right]), np.concatenate([to_left, to_right])
    return np.stack([np.bincount(items, weights=column, minlength=pairs.n_items) for column in values.T], axis=1)


# ----------------------------------------------------------------
# The number of clusters, by the likelihood of held-out answers. Answers of one worker are dependent (all pairs of a
# partition come from one decision), so whole workers are held out where there are enough of them. A clustering predicts
# by two rates: the shares of "same" within and between its clusters.

# Estimates cluster[item] from answers.
Finder = Callable[[Pairs], I8]
FOLDS = 5


def folds(pairs: Pairs, rng: np.random.Generator) -> list[I8]:
    """Rows of each fold: workers are assigned to folds, or rows where there are fewer than four workers per fold."""
    workers = np.unique(pairs.worker)
    n = min(FOLDS, len(pairs))
    if len(workers) >= 4 * FOLDS:
        deal = np.zeros(pairs.n_workers, dtype=np.int64)
        deal[workers] = rng.permutation(len(workers)) % n
        fold = deal[pairs.worker]
    else:
        fold = rng.permutation(len(pairs)) % max(n, 1)
    return [np.flatnonzero(fold == i) for i in range(n)]


def held_out(pairs: Pairs, find: Finder, folds: Sequence[I8]) -> F8:
    """Log-likelihood of each row under clusters fitted to the other folds."""
    out = np.full(len(pairs), np.nan)
    for rows in folds:
        training = np.setdiff1d(np.arange(len(pairs)), rows)
        if len(training) and len(rows):
            out[rows] = loglik(pairs.take(training), pairs.take(rows), find(pairs.take(training)))
    return out


def loglik(training: Pairs, new: Pairs, cluster: I8) -> F8:
    """Log-likelihood of each new row under the training shares of "same" within and between clusters.

    The share within clusters is at least one half: where most answers are "different", a single cluster of all items
    must not do better.
    """
    inside, same_cluster = (cluster[pairs.left] == cluster[pairs.right] for pairs in (training, new))
    says_same = training.weight * training.same
    rate = [(float(says_same[mask].sum()) + 1) / (float(training.weight[mask].sum()) + 2) for mask in (~inside, inside)]
    p = np.where(same_cluster, max(rate[1], 0.5), rate[0])
    return np.asarray(np.log(np.where(new.same > 0.5, p, 1 - p)))


def choose_k(pairs: Pairs, find: Callable[[Pairs, int], I8], most: int, seed: int) -> tuple[int, F8]:
    """Choose the number of clusters, 1 to `most`, by the mean held-out log-likelihood.

    Returns:
        The smallest number within one standard error (of the difference, by workers or rows) of the best, and the mean
        log-likelihood of each number.
    """
    folds_of_rows = folds(pairs, np.random.default_rng(seed))
    most = max(1, min(most, pairs.n_items))
    scores = np.full((most, len(pairs)), np.nan)
    for k in range(1, most + 1):
        scores[k - 1] = held_out(pairs, partial(_with, find, k), folds_of_rows)
        # Stop after three numbers in a row without a gain.
        done = np.nanmean(scores[:k], axis=1) if k > 3 and np.isfinite(scores[:k]).any() else None
        if done is not None and done[:-3].max() >= done[-3:].max():
            scores = scores[:k]
            break
    use = np.isfinite(scores).all(axis=0)
    if not use.any():
        return 1, np.zeros(1)
    scores, worker = scores[:, use], pairs.worker[use]
    mean = scores.mean(axis=1)
    best = int(mean.argmax())
    for k in range(best):
        if mean[best] - mean[k] <= error(scores[best] - scores[k], worker):
            return k + 1, mean
    return best + 1, mean


def _with(find: Callable[[Pairs, int], I8], k: int, pairs: Pairs) -> I8:
    return find(pairs, k)


def error(gap: F8, worker: I8) -> float:
    """Standard error of the mean of gap[row], clustered by worker."""
    total = np.bincount(np.unique(worker, return_inverse=True)[1], weights=gap - gap.mean())
    return float(np.sqrt((total**2).sum()) / len(gap))


# ----------------------------------------------------------------
# Clusters with two-coin workers by mean field, from a given start.
#     z_i ~ pi,   P(w answers "same" for i, j) = hit_w where z_i = z_j, else 1 - rejection_w
#
# log q_i(k) = log pi_k + sum over the answers about i and j of q_j(k) x evidence, so a pass is a sparse product; items
# are updated block by block. A symmetric start is a fixed point (every q_i stays pi); a spectral start is not.

BLOCKS = 8


@dataclass(frozen=True, eq=False)
class MeanFieldFit:
    """belief[item, cluster], the shares of the clusters, the workers' coins and the bound at each pass."""

    belief: F8
    share: F8
    coins: Coins
    trace: F8
    n_iter: int
    converged: bool


def mean_field(
    pairs: Pairs,
    start: I8,
    k: int,
    *,
    gold: I8 | None = None,
    strength: float,
    workers: bool = True,
    max_iter: int,
    tol: float,
) -> MeanFieldFit:
    """Fit by mean field from cluster[item].

    Args:
        pairs: The answers.
        start: Starting cluster of each item.
        k: Number of clusters.
        gold: Known cluster of each item (-1: not known), held fixed.
        strength: Weight of the crowd's coins in the estimate of each worker, in answers.
        workers: Estimate coins of each worker; else all workers have the crowd's.
        max_iter: Maximum number of passes.
        tol: Relative tolerance of the bound.
    """
    n = pairs.n_items
    is_gold = np.zeros(n, dtype=bool) if gold is None else gold >= 0
    if gold is not None and is_gold.any():
        start = aligned(start, gold, k)
    belief = np.full((n, k), 0.1 / max(k - 1, 1))
    belief[np.arange(n), start] = 0.9 if k > 1 else 1.0
    belief /= belief.sum(axis=1, keepdims=True)
    if gold is not None:
        belief[is_gold] = np.eye(k)[gold[is_gold]]
    rng = np.random.default_rng(0)
    block = rng.permutation(n) % min(BLOCKS, max(n, 1))
    trace: list[float] = []
    coin, share = _steps(pairs, belief, strength, workers)
    for i in range(max_iter):
        matrix = pairs.matrix(coin.evidence(pairs))
        for b in range(int(block.max(initial=0)) + 1):
            rows = np.flatnonzero((block == b) & ~is_gold)
            if len(rows):
                belief[rows] = normalise_rows(np.log(share) + matrix[rows] @ belief)[0]
        coin, share = _steps(pairs, belief, strength, workers)
        trace.append(bound(pairs, belief, share, coin))
        if i and abs(trace[-1] - trace[-2]) <= tol * max(1.0, abs(trace[-2])):
            return MeanFieldFit(belief, share, coin, np.array(trace), i + 1, True)
    return MeanFieldFit(belief, share, coin, np.array(trace), max_iter, k == 1 or max_iter == 0)


def aligned(start: I8, gold: I8, k: int) -> I8:
    """Renumber the clusters of the start to match the gold clusters best."""
    from scipy.optimize import linear_sum_assignment

    is_gold = gold >= 0
    counts = np.bincount(start[is_gold] * k + gold[is_gold], minlength=k * k).reshape(k, k)
    return np.asarray(linear_sum_assignment(counts, maximize=True)[1][start], dtype=np.int64)


def _steps(pairs: Pairs, belief: F8, strength: float, workers: bool) -> tuple[Coins, F8]:
    has_answers = pairs.degree > 0
    share = belief[has_answers].sum(axis=0) + 1.0 if has_answers.any() else np.ones(belief.shape[1])
    return coins(pairs, together(pairs, belief), strength, workers), share / share.sum()


def together(pairs: Pairs, belief: F8) -> F8:
    """Probability that the two items of each row are in the same cluster, as if they were independent."""
    return np.asarray(np.einsum("ek,ek->e", belief[pairs.left], belief[pairs.right]))


def bound(pairs: Pairs, belief: F8, share: F8, coin: Coins) -> float:
    """The evidence bound."""
    same = together(pairs, belief)
    a, b = coin.hit[pairs.worker], coin.rejection[pairs.worker]
    yes = pairs.same > 0.5
    loglik = same * np.log(np.where(yes, a, 1 - a)) + (1 - same) * np.log(np.where(yes, 1 - b, b))
    q = np.maximum(belief, 1e-300)
    return float((pairs.weight * loglik).sum() + (belief * (np.log(share) - np.log(q))).sum())


# ----------------------------------------------------------------
# Detection of answers that come from partitions: then the pairs of one question are one decision, not many.


def from_partitions(pairs: Pairs) -> bool:
    """Whether most answers are in consistent triangles of one worker (i and j, j and k, i and k).

    Questions about single pairs hardly ever close a triangle; pairs of a partition of three or more items always do.
    """
    if len(pairs) < 3:
        return False
    node = np.unique(
        np.concatenate([pairs.worker * np.int64(pairs.n_items) + pairs.left,
                        pairs.worker * np.int64(pairs.n_items) + pairs.right]), return_inverse=True
    )[1]  # fmt: skip
    n, half = int(node.max()) + 1, len(pairs)
    one, two = node[:half], node[half:]
    pair, same, other = (_matrix(one, two, value, n) for value in
                          (np.ones(half), pairs.same, 1 - pairs.same))  # fmt: skip
    closed = (pair @ pair).multiply(pair)
    closed.eliminate_zeros()
    if closed.nnz <= 0.5 * pair.nnz:
        return False
    # Same, same, different. A pair with both answers by one worker is not counted as an inconsistent triangle.
    broken = (same @ same).multiply(other)
    return bool(broken.sum() <= 0.05 * closed.nnz)


def _matrix(one: I8, two: I8, value: F8, n: int) -> csr_array:
    matrix = csr_array((np.tile(value, 2), (np.concatenate([one, two]), np.concatenate([two, one]))), shape=(n, n))
    matrix.data[:] = matrix.data > 0
    matrix.eliminate_zeros()
    return matrix


# ----------------------------------------------------------------
# Clusters by k-means on the leading eigenvectors of the centred answers. An answer counts +1 (same) or -1 (different)
# minus the mean, divided by the square roots of the degrees of its items.
# Chaudhuri, Chung & Tsiatas (2012) and Rohe, Chatterjee & Yu (2011), doi:10.1214/11-AOS887, for such matrices.

# Number of items from which eigenvectors are computed iteratively.
DENSE = 1500
ROUNDS = 60


def spectral(pairs: Pairs, k: int, rng: np.random.Generator, *, normalise: bool = True, starts: int = 10) -> I8:
    """cluster[item] in 0..k - 1; all 0 where the answers carry no information."""
    vectors = embedding(pairs, k, normalise=normalise)
    return kmeans(vectors, k, rng, starts)


def embedding(pairs: Pairs, k: int, *, normalise: bool = True) -> F8:
    """The k leading eigenvectors; zeros where all answers are equal."""
    n = pairs.n_items
    k = min(k, n)
    total = float(pairs.weight.sum())
    if not total:
        return np.zeros((n, k))
    signed = 2 * pairs.same - 1
    value = pairs.weight * (signed - float((pairs.weight * signed).sum()) / total)
    if not np.abs(value).max(initial=0.0) > 1e-12:
        return np.zeros((n, k))
    scale = 1 / np.sqrt(pairs.degree + pairs.degree.mean()) if normalise else np.ones(n)
    matrix = pairs.matrix(value * scale[pairs.left] * scale[pairs.right])
    _, vectors = _leading(matrix, k)
    # Fix the sign of each vector, so that it does not depend on the order of the rows.
    turn = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    oriented: F8 = vectors * np.where(turn == 0, 1.0, turn)
    return oriented


def _leading(matrix: csr_array, k: int) -> tuple[F8, F8]:
    """The k algebraically largest eigenvalues and their eigenvectors."""
    n = matrix.shape[0]
    if n <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    # Block power iteration on matrix + shift: unlike Lanczos' method it cannot fail for any start.
    shift = float(abs(matrix).sum(axis=0).max()) / 2
    block = np.random.default_rng(0).normal(size=(n, min(n, k + 8)))
    for _ in range(ROUNDS):
        block, _ = np.linalg.qr(matrix @ block + shift * block)
    small = block.T @ (matrix @ block)
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:k], (block @ rotation)[:, ::-1][:, :k]


def kmeans(points: F8, k: int, rng: np.random.Generator, starts: int = 10, rounds: int = 100) -> I8:
    """Best of several runs of Lloyd's algorithm from k-means++ starts; fewer clusters where points coincide."""
    n = len(points)
    best, least = np.zeros(n, dtype=np.int64), np.inf
    for _ in range(starts):
        centres = _plus_plus(points, k, rng)
        label = np.zeros(n, dtype=np.int64)
        for i in range(rounds):
            far = _squares(points, centres)
            new = far.argmin(axis=1)
            if i and np.array_equal(new, label):
                break
            label = new
            size = np.bincount(label, minlength=len(centres))
            sums = np.stack([np.bincount(label, weights=column, minlength=len(centres)) for column in points.T], axis=1)
            centres = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres)
        cost = float(_squares(points, centres).min(axis=1).sum())
        if cost < least - 1e-12:
            best, least = label, cost
    return best


def _squares(points: F8, centres: F8) -> F8:
    squares = (points**2).sum(axis=1)[:, None] - 2 * points @ centres.T + (centres**2).sum(axis=1)[None]
    return np.asarray(np.maximum(squares, 0.0))


def _plus_plus(points: F8, k: int, rng: np.random.Generator) -> F8:
    centres = [points[rng.integers(len(points))]]
    for _ in range(k - 1):
        far = _squares(points, np.array(centres)).min(axis=1)
        if not far.sum() > 1e-15:
            break
        centres.append(points[rng.choice(len(points), p=far / far.sum())])
    return np.array(centres)
