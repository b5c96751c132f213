"""Clusters from the leading eigenvectors of the centred answers, then k-means.

Every answer counts +1 (same) or -1 (different) less the mean; divided by the roots of the items' degrees. Chaudhuri,
Chung & Tsiatas (2012) and Rohe, Chatterjee & Yu (2011), doi:10.1214/11-AOS887, for such matrices.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from .pairs import F8, I8, Pairs

# Items from which eigenvectors are found by iteration, not from the whole table.
DENSE = 1500
ROUNDS = 60


def spectral(pairs: Pairs, k: int, rng: np.random.Generator, *, normalise: bool = True, starts: int = 10) -> I8:
    """cluster[item] in 0..k - 1; all 0 where the answers say nothing."""
    vectors = embedding(pairs, k, normalise=normalise)
    return kmeans(vectors, k, rng, starts)


def embedding(pairs: Pairs, k: int, *, normalise: bool = True) -> F8:
    """The k leading eigenvectors; zeros where the answers do not differ."""
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
    # The order of rows in a file must not turn a vector round.
    turn = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    found: F8 = vectors * np.where(turn == 0, 1.0, turn)
    return found


def _leading(matrix: csr_array, k: int) -> tuple[F8, F8]:
    """The k algebraically largest eigenvalues and their vectors."""
    n = matrix.shape[0]
    if n <= DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        return values[::-1][:k], vectors[:, ::-1][:, :k]
    # Block power iteration on matrix + shift: no start can make it fail, as Lanczos' can.
    shift = float(abs(matrix).sum(axis=0).max()) / 2
    block = np.random.default_rng(0).normal(size=(n, min(n, k + 8)))
    for _ in range(ROUNDS):
        block, _ = np.linalg.qr(matrix @ block + shift * block)
    small = block.T @ (matrix @ block)
    values, turn = np.linalg.eigh((small + small.T) / 2)
    return values[::-1][:k], (block @ turn)[:, ::-1][:, :k]


def kmeans(points: F8, k: int, rng: np.random.Generator, starts: int = 10, rounds: int = 100) -> I8:
    """The best of several runs of Lloyd's algorithm from k-means++ starts; fewer clusters where points coincide."""
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
