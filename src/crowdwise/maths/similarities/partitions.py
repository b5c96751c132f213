"""Whether answers about pairs come from partitions: then the pairs of one question are one decision, not many."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from .pairs import F8, I8, Pairs


def from_partitions(pairs: Pairs) -> bool:
    """Whether most answers lie in triangles of one worker (i and j, j and k, i and k), none contradicting itself.

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
    every, same, other = (_matrix(one, two, value, n) for value in
                          (np.ones(half), pairs.same, 1 - pairs.same))  # fmt: skip
    closed = (every @ every).multiply(every)
    closed.eliminate_zeros()
    if closed.nnz <= 0.5 * every.nnz:
        return False
    # Same, same, different; a pair that a worker judged both ways at different times is no triangle's fault.
    broken = (same @ same).multiply(other)
    return bool(broken.sum() <= 0.05 * closed.nnz)


def _matrix(one: I8, two: I8, value: F8, n: int) -> csr_array:
    made = csr_array((np.tile(value, 2), (np.concatenate([one, two]), np.concatenate([two, one]))), shape=(n, n))
    made.data[:] = made.data > 0
    made.eliminate_zeros()
    return made
