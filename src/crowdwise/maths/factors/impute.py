"""Label tables of pairs of workers who share too few tasks, from those of pairs who share enough.

R[i, a] R[b, a]^-1 R[b, j] = A_i^T D A_a (A_b^T D A_a)^-1 A_b^T D A_j = A_i^T D A_j, also for i = j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..moments import Pairs

F8 = npt.NDArray[np.float64]

# Anchors of a worker that are looked at, pairs of anchors that are averaged, and what counts as zero in a table.
ANCHORS, AVERAGED, RCOND = 8, 5, 1e-2


def impute_blocks(seen: Pairs, good: npt.NDArray[np.bool_]) -> F8:
    """blocks[i, j, l, l'] of the `good` workers: seen where seen, else through anchors, else as if independent."""
    place = np.cumsum(good) - 1
    i, j = place[seen.first], place[seen.second]
    m, k = int(good.sum()), seen.count.shape[1]
    blocks, n = np.zeros((m, m, k, k)), np.zeros((m, m))
    blocks[i, j], blocks[j, i] = seen.share, seen.share.transpose(0, 2, 1)
    n[i, j] = n[j, i] = seen.n
    inverse = np.zeros_like(blocks)
    inverse[i, j] = np.linalg.pinv(seen.share, rcond=RCOND)
    inverse[j, i] = inverse[i, j].transpose(0, 2, 1)
    margin = np.einsum("ij,ijab->ia", n, blocks)
    margin /= margin.sum(axis=1, keepdims=True)
    anchors = np.argsort(-n, axis=1, kind="stable")[:, :ANCHORS]
    for x, y in np.argwhere(np.triu(n == 0)):
        block = _through_anchors(blocks, inverse, n, x, y, anchors)
        block = np.outer(margin[x], margin[y]) if block is None else block
        blocks[x, y], blocks[y, x] = block, block.T
    return blocks


def _through_anchors(blocks: F8, inverse: F8, n: F8, x: int, y: int, anchors: npt.NDArray[np.int64]) -> F8 | None:
    a, b = anchors[x], anchors[y]
    a, b = a[n[x, a] > 0], b[n[y, b] > 0]
    # The chain is as strong as its weakest table.
    strength = np.minimum(np.minimum(n[x, a][None, :], n[y, b][:, None]), n[np.ix_(b, a)])
    if strength.max(initial=0.0) <= 0:
        return None
    best = np.argsort(-strength, axis=None, kind="stable")[:AVERAGED]
    best = best[strength.flat[best] > 0]
    bi, ai = np.unravel_index(best, strength.shape)
    bi, ai = b[bi], a[ai]
    # pinv(R[b, a]) is [a's labels, b's labels]
    found = blocks[x, ai] @ inverse[bi, ai] @ blocks[bi, y]
    block = np.maximum(np.average(found, axis=0, weights=strength.flat[best]), 0.0)
    block = (block + block.T) / 2 if x == y else block
    total = float(block.sum())
    return np.asarray(block / total) if total > 0 else None
