"""Clusters with two-coin workers by mean field, from a given start.

    z_i ~ pi,   P(w says same of i, j) = hit_w where z_i = z_j, else 1 - rejection_w

log q_i(k) = log pi_k + sum over the answers about i and j of q_j(k) x evidence, so a pass is a sparse product;
items are updated block by block, each block with what the others have just become. A symmetric start never moves (every
q_i stays pi): the start must break it, as a spectral one does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .coins import Coins, coins
from .pairs import F8, I8, Pairs

BLOCKS = 8


@dataclass(frozen=True, eq=False)
class MeanField:
    """belief[item, cluster], the clusters' shares, the workers' coins and the bound at each pass."""

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
    known: I8 | None = None,
    strength: float,
    workers: bool = True,
    max_iter: int,
    tol: float,
) -> MeanField:
    """From cluster[item]; `strength` answers draw each worker's coins to the crowd's. Items with known[item] from 0 on
    stay in that cluster."""
    n = pairs.n_items
    told = np.zeros(n, dtype=bool) if known is None else known >= 0
    if known is not None and told.any():
        start = aligned(start, known, k)
    belief = np.full((n, k), 0.1 / max(k - 1, 1))
    belief[np.arange(n), start] = 0.9 if k > 1 else 1.0
    belief /= belief.sum(axis=1, keepdims=True)
    if known is not None:
        belief[told] = np.eye(k)[known[told]]
    rng = np.random.default_rng(0)
    block = rng.permutation(n) % min(BLOCKS, max(n, 1))
    trace: list[float] = []
    found, share = _steps(pairs, belief, strength, workers)
    for i in range(max_iter):
        matrix = pairs.matrix(found.evidence(pairs))
        for b in range(int(block.max(initial=0)) + 1):
            rows = np.flatnonzero((block == b) & ~told)
            if len(rows):
                belief[rows] = _softmax(np.log(share) + matrix[rows] @ belief)
        found, share = _steps(pairs, belief, strength, workers)
        trace.append(bound(pairs, belief, share, found))
        if i and abs(trace[-1] - trace[-2]) <= tol * max(1.0, abs(trace[-2])):
            return MeanField(belief, share, found, np.array(trace), i + 1, True)
    return MeanField(belief, share, found, np.array(trace), max_iter, k == 1 or max_iter == 0)


def aligned(start: I8, known: I8, k: int) -> I8:
    """The start with its clusters numbered as the known ones are, as far as these go together."""
    from scipy.optimize import linear_sum_assignment

    some = known >= 0
    counts = np.bincount(start[some] * k + known[some], minlength=k * k).reshape(k, k)
    return np.asarray(linear_sum_assignment(counts, maximize=True)[1][start], dtype=np.int64)


def _steps(pairs: Pairs, belief: F8, strength: float, workers: bool) -> tuple[Coins, F8]:
    seen = pairs.degree > 0
    share = belief[seen].sum(axis=0) + 1.0 if seen.any() else np.ones(belief.shape[1])
    return coins(pairs, together(pairs, belief), strength, workers), share / share.sum()


def together(pairs: Pairs, belief: F8) -> F8:
    """The chance that the two items of each row are of one cluster, as if they were independent."""
    return np.asarray(np.einsum("ek,ek->e", belief[pairs.left], belief[pairs.right]))


def bound(pairs: Pairs, belief: F8, share: F8, found: Coins) -> float:
    """The evidence bound."""
    same = together(pairs, belief)
    a, b = found.hit[pairs.worker], found.rejection[pairs.worker]
    yes = pairs.same > 0.5
    loglik = same * np.log(np.where(yes, a, 1 - a)) + (1 - same) * np.log(np.where(yes, 1 - b, b))
    q = np.maximum(belief, 1e-300)
    return float((pairs.weight * loglik).sum() + (belief * (np.log(share) - np.log(q))).sum())


def _softmax(logits: F8) -> F8:
    logits = logits - logits.max(axis=1, keepdims=True)
    out = np.exp(logits)
    found: F8 = out / out.sum(axis=1, keepdims=True)
    return found
