"""Places of items, all at once: which of them can be told apart, and which places each may have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .uncertainty import Block

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Islands up to this size get their bound from draws, larger ones from Bonferroni's.
DRAWN, DRAWS = 60, 2000
_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class Places:
    """By item, within its island: the places rank_low..rank_high that it may have, all of them right together with
    the chance of the level, and the group (1: the first; its members cannot be told from its best)."""

    rank_low: I8
    rank_high: I8
    group: I8


def places(score: F8, blocks: list[Block], level: float, seed: int = 0) -> Places:
    """From the differences of all pairs at once."""
    low, high, group = (np.ones(len(score), dtype=np.int64) for _ in range(3))
    for block in blocks:
        size = block.members.shape[1]
        bound = _bound(block, level, seed)
        step = max(1, _CELLS // size**2) if block.covariance is not None else 1
        for lo in range(0, len(block.members), step):
            some = slice(lo, lo + step)
            above, below = _counts(block, some, score, bound)
            members = block.members[some]
            low[members], high[members] = 1 + above, size - below
            for island, of in zip(members, _groups(block, some, score, bound), strict=True):
                group[island] = of
    return Places(low, high, group)


def _bound(block: Block, level: float, seed: int) -> F8:
    """How many standard errors a difference must have, for each island."""
    from scipy.stats import norm

    n, size = block.members.shape
    pairs = max(size * (size - 1) // 2, 1)
    plain = np.full(n, float(norm.ppf(1 - (1 - level) / (2 * pairs))))
    if block.covariance is None or size > DRAWN or size < 3 or n > 50:
        return plain
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(DRAWS, size))
    for i, full in enumerate(block.covariance):
        values, vectors = np.linalg.eigh(full)
        z = noise @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        one, two = np.triu_indices(size, 1)
        se = np.sqrt(np.maximum(full[one, one] + full[two, two] - 2 * full[one, two], 1e-300))
        plain[i] = np.quantile(np.abs((z[:, one] - z[:, two]) / se).max(axis=1), level)
    return plain


def _variance(block: Block, some: slice, rows: slice) -> F8:
    """Variance of the differences of some members (rows) from all, [island, row, member]."""
    v = block.variance[some]
    out: F8 = v[:, rows, None] + v[:, None, :]
    return out if block.covariance is None else np.maximum(out - 2 * block.covariance[some][:, rows], 0.0)


def _counts(block: Block, some: slice, score: F8, bound: F8) -> tuple[I8, I8]:
    """Of each member, how many are surely above and surely below it."""
    s = score[block.members[some]]
    above, below = np.zeros(s.shape, dtype=np.int64), np.zeros(s.shape, dtype=np.int64)
    step = max(1, _CELLS // max(s.size, 1))
    for lo in range(0, s.shape[1], step):
        rows = slice(lo, lo + step)
        gap = s[:, None, :] - s[:, rows, None]
        need = bound[some][:, None, None] * np.sqrt(_variance(block, some, rows))
        above[:, rows], below[:, rows] = (gap > need).sum(axis=2), (-gap > need).sum(axis=2)
    return above, below


def _groups(block: Block, some: slice, score: F8, bound: F8) -> I8:
    """Down the list: a group goes on as long as its members cannot be told from its best."""
    members = block.members[some]
    s = score[members]
    order = np.argsort(-s, axis=1, kind="stable")
    n, size = s.shape
    out = np.ones((n, size), dtype=np.int64)
    v = block.variance[some]
    rows, head, group = np.arange(n), order[:, 0].copy(), np.ones(n, dtype=np.int64)
    for place in range(1, size):
        at = order[:, place]
        var = v[rows, head] + v[rows, at]
        if block.covariance is not None:
            var = np.maximum(var - 2 * block.covariance[some][rows, head, at], 0.0)
        new = s[rows, head] - s[rows, at] > bound[some] * np.sqrt(var)
        group += new
        head = np.where(new, at, head)
        out[rows, at] = group
    return out
