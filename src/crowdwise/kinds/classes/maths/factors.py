"""Label tables of worker pairs with too few shared tasks, imputed from those of pairs with enough.

R[i, a] R[b, a]^-1 R[b, j] = A_i^T D A_a (A_b^T D A_a)^-1 A_b^T D A_j = A_i^T D A_j, also for i = j.
"""

from __future__ import annotations

import numpy as np

from ....core.arrays import F8, I8, Mask
from .moments import PairTables

# Anchors considered for each worker, pairs of anchors that are averaged, and relative cutoff of the pseudo-inverse.
ANCHORS, AVERAGED, RCOND = 8, 5, 1e-2


def impute_blocks(pairs: PairTables, good: Mask) -> F8:
    """Return blocks[i, j, l, l'] of the `good` workers: observed where possible, else imputed through anchors, else
    the product of the margins (independence)."""
    place = np.cumsum(good) - 1
    i, j = place[pairs.first], place[pairs.second]
    m, k = int(good.sum()), pairs.count.shape[1]
    blocks, n = np.zeros((m, m, k, k)), np.zeros((m, m))
    blocks[i, j], blocks[j, i] = pairs.share, pairs.share.transpose(0, 2, 1)
    n[i, j] = n[j, i] = pairs.n
    inverse = np.zeros_like(blocks)
    inverse[i, j] = np.linalg.pinv(pairs.share, rcond=RCOND)
    inverse[j, i] = inverse[i, j].transpose(0, 2, 1)
    margin = np.einsum("ij,ijab->ia", n, blocks)
    margin /= margin.sum(axis=1, keepdims=True)
    anchors = np.argsort(-n, axis=1, kind="stable")[:, :ANCHORS]
    for x, y in np.argwhere(np.triu(n == 0)):
        block = _through_anchors(blocks, inverse, n, x, y, anchors)
        block = np.outer(margin[x], margin[y]) if block is None else block
        blocks[x, y], blocks[y, x] = block, block.T
    return blocks


def _through_anchors(blocks: F8, inverse: F8, n: F8, x: int, y: int, anchors: I8) -> F8 | None:
    a, b = anchors[x], anchors[y]
    a, b = a[n[x, a] > 0], b[n[y, b] > 0]
    # The reliability of a chain is that of its smallest table.
    strength = np.minimum(np.minimum(n[x, a][None, :], n[y, b][:, None]), n[np.ix_(b, a)])
    if strength.max(initial=0.0) <= 0:
        return None
    best = np.argsort(-strength, axis=None, kind="stable")[:AVERAGED]
    best = best[strength.flat[best] > 0]
    bi, ai = np.unravel_index(best, strength.shape)
    bi, ai = b[bi], a[ai]
    # pinv(R[b, a]) is [a's labels, b's labels]
    chained = blocks[x, ai] @ inverse[bi, ai] @ blocks[bi, y]
    block = np.maximum(np.average(chained, axis=0, weights=strength.flat[best]), 0.0)
    block = (block + block.T) / 2 if x == y else block
    total = float(block.sum())
    return np.asarray(block / total) if total > 0 else None


# ----------------------------------------------------------------
# A positive semidefinite low-rank matrix from some of its off-diagonal entries: impute the missing entries, take the
# leading eigenvectors, repeat. The matrix of each round is (observed - V V^T at the observed entries) + V V^T: sparse
# plus low rank, so that large problems need no dense matrix (Lanczos).


# Below this size a dense eigensolver is quicker.
_DENSE = 300


def complete_matrix(row: I8, col: I8, value: F8, size: int, rank: int, max_iter: int, tol: float) -> F8:
    """Return V[size, rank] with V V^T close to `value` at the symmetric positions (row, col), never the diagonal."""
    v = np.zeros((size, rank))
    if size <= _DENSE:
        matrix, observed = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
        matrix[row, col], observed[row, col] = value, True
    for step in range(max_iter):
        if size <= _DENSE:
            new = _top_dense(np.where(observed, matrix, v @ v.T), rank)
        else:
            new = _top_sparse(row, col, value - np.einsum("er,er->e", v[row], v[col]), v, rank, step)
        # V is determined only up to a rotation, its products fully.
        moved = float(np.linalg.norm(new @ (new.T @ new) - v @ (v.T @ new))) / max(float(np.linalg.norm(new)), 1e-300)
        v = new
        if moved < tol:
            break
    return v


def _top_dense(matrix: F8, rank: int) -> F8:
    size = len(matrix)
    rank = min(rank, size)
    from scipy.linalg import eigh

    value, vector = eigh(matrix, subset_by_index=[size - rank, size - 1])
    return np.asarray(vector * np.sqrt(np.maximum(value, 0.0)))


def _top_sparse(row: I8, col: I8, residual: F8, v: F8, rank: int, step: int) -> F8:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = len(v)
    sparse = csr_array((residual, (row, col)), shape=(size, size))
    operator = LinearOperator((size, size), matvec=lambda x: sparse @ x + v @ (v.T @ x), dtype=np.float64)
    # A fixed start vector makes results reproducible to the last bit.
    start = v.sum(axis=1) if step else np.cos(np.arange(size))
    value, vector = eigsh(operator, k=rank, which="LA", v0=start + 1e-3, tol=1e-6)
    return np.asarray(vector * np.sqrt(np.maximum(value, 0.0)))


# ----------------------------------------------------------------
# Matching rows to classes: moments determine confusion matrices only up to the order of their rows. The order follows
# from one assumption: on average the crowd is right more often than it takes one class for another.


def best_order(gain: F8) -> I8:
    """Return order[k], the row assigned to place k, that maximises the sum of gain[k, order[k]] (Hungarian method).

    >>> best_order(np.array([[0.1, 0.9], [0.8, 0.3]]))
    array([1, 0])
    """
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(gain, maximize=True)[1], dtype=np.int64)


def common_order(confusion: F8, weight: F8) -> I8:
    """Return the row order, common to all workers, that gives the weighted mean matrix the largest diagonal."""
    mean = np.einsum("w,wto->to", weight, confusion)
    return best_order(mean.T)


def align(confusion: F8, pairs: PairTables, good: Mask) -> F8:
    """Bring confusion matrices, whose rows are in a different order for each worker, into one common order.

    A well-connected worker with a well-conditioned matrix sets the order; every next worker, those with the most
    overlap with the workers in place first, is matched to

        X = argmin sum_m' n ||R[m', m] - A_m'^T X||²  ≈  diag(d) A_m

    over the workers m' in place. Finally, one order for all is chosen by the diagonal of the mean matrix.
    """
    out, k = confusion.copy(), confusion.shape[1]
    me, other, count = pairs.symmetric()
    keep = good[me] & good[other]
    me, other, count = me[keep], other[keep], count[keep]
    n = count.sum(axis=(1, 2))
    sharp = np.linalg.svd(confusion, compute_uv=False)[:, -1]
    gram, rhs = np.zeros_like(out), np.zeros_like(out)
    overlap = np.zeros(len(out))
    todo = good.copy()
    reach = np.bincount(me, weights=n, minlength=len(out)) * sharp
    by_other = np.argsort(other, kind="stable")
    place = np.searchsorted(other[by_other], np.arange(len(out) + 1))
    while todo.any():
        now = int(np.where(todo, np.where(overlap.max() > 0, overlap, reach), -1.0).argmax())
        if overlap[now] > 0:
            x = np.linalg.solve(gram[now] + 1e-6 * overlap[now] * np.eye(k), rhs[now])
            x = np.maximum(x, 0) / np.maximum(np.maximum(x, 0).sum(axis=1, keepdims=True), 1e-12)
            gain = -((x[:, None, :] - out[now][None, :, :]) ** 2).sum(axis=2)
        else:
            gain = out[now].T
        out[now] = out[now][best_order(gain)]
        todo[now] = False
        overlap[now] = 0.0
        rows = by_other[place[now] : place[now + 1]]
        rows = rows[todo[me[rows]]]
        overlap[me[rows]] += n[rows] * max(sharp[now], 1e-3)
        gram[me[rows]] += n[rows, None, None] * (out[now] @ out[now].T)
        rhs[me[rows]] += np.einsum("to,pmo->ptm", out[now], count[rows])
    order = common_order(out[good], pairs.overlap()[good])
    out[good] = out[good][:, order]
    return out


# ----------------------------------------------------------------
# Tensor power method: components of a symmetric tensor with (nearly) orthogonal parts.
# Anandkumar, Ge, Hsu, Kakade & Telgarsky (2014), Tensor decompositions for learning latent variable models, JMLR 15.


def orthogonal_components(tensor: F8, rng: np.random.Generator, n_starts: int = 30, n_steps: int = 60) -> tuple[F8, F8]:
    """Return sizes λ[k] and directions v[:, k] with tensor ≈ sum λ v ⊗ v ⊗ v, by the best of many starts and deflation.

    >>> t = np.zeros((2, 2, 2)); t[0, 0, 0] = 3; t[1, 1, 1] = 2
    >>> orthogonal_components(t, np.random.default_rng(0))[0].round(6)
    array([3., 2.])
    """
    k = len(tensor)
    residual, size, direction = _symmetric(tensor), np.empty(k), np.empty((k, k))
    for i in range(k):
        v = _unit(rng.standard_normal((n_starts, k)))
        for _ in range(n_steps):  # all starts at once
            v = _unit(_apply(residual, v))
        value = (_apply(residual, v) * v).sum(axis=1)
        best = int(value.argmax())
        size[i], direction[:, i] = value[best], v[best]
        residual = residual - value[best] * np.einsum("a,b,c->abc", v[best], v[best], v[best])
    return size, direction


def _apply(tensor: F8, v: F8) -> F8:
    """tensor(·, v, v) for every row of v."""
    k = len(tensor)
    once = (v @ tensor.reshape(k, k * k)).reshape(-1, k, k)
    return np.asarray(once @ v[:, :, None])[:, :, 0]


def _unit(v: F8) -> F8:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300))


def _symmetric(t: F8) -> F8:
    turns = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return np.asarray(sum(t.transpose(turn) for turn in turns) / 6)
