"""Label tables of pairs of workers who share too few tasks, from those of pairs who share enough.

R[i, a] R[b, a]^-1 R[b, j] = A_i^T D A_a (A_b^T D A_a)^-1 A_b^T D A_j = A_i^T D A_j, also for i = j.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .moments import Pairs

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


# ----------------------------------------------------------------
# A positive low-rank matrix from some of its off-diagonal entries: impute what is missing, take the top, repeat.
# Each round's matrix is (what is seen - V V^T on those places) + V V^T: sparse plus low rank, so that large ones need
# no dense matrix (Lanczos).

I8 = npt.NDArray[np.int64]

# Below this size a dense eigensolver is quicker.
_DENSE = 300


def complete(row: I8, col: I8, value: F8, size: int, rank: int, max_iter: int, tol: float) -> F8:
    """V[size, rank] with V V^T near `value` at the symmetric places (row, col); the diagonal is never given."""
    v = np.zeros((size, rank))
    if size <= _DENSE:
        matrix, given = np.zeros((size, size)), np.zeros((size, size), dtype=bool)
        matrix[row, col], given[row, col] = value, True
    for step in range(max_iter):
        if size <= _DENSE:
            new = _top_dense(np.where(given, matrix, v @ v.T), rank)
        else:
            new = _top_sparse(row, col, value - np.einsum("er,er->e", v[row], v[col]), v, rank, step)
        # V is known up to a rotation; its products are not.
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


def _top_sparse(row: I8, col: I8, rest: F8, v: F8, rank: int, step: int) -> F8:
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator, eigsh

    size = len(v)
    sparse = csr_array((rest, (row, col)), shape=(size, size))
    whole = LinearOperator((size, size), matvec=lambda x: sparse @ x + v @ (v.T @ x), dtype=np.float64)
    # A fixed start: the same data give the same bits.
    start = v.sum(axis=1) if step else np.cos(np.arange(size))
    value, vector = eigsh(whole, k=rank, which="LA", v0=start + 1e-3, tol=1e-6)
    return np.asarray(vector * np.sqrt(np.maximum(value, 0.0)))


# ----------------------------------------------------------------
# Which row is which class: moments fix confusion matrices up to the order of their rows only.
# One assumption settles it: on the whole the crowd is right more often than it takes one class for another.


def best_order(gain: F8) -> I8:
    """order[k]: which row goes to place k, so that the sum of gain[k, order[k]] is greatest (Hungarian method).

    >>> best_order(np.array([[0.1, 0.9], [0.8, 0.3]]))
    array([1, 0])
    """
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(gain, maximize=True)[1], dtype=np.int64)


def common_order(confusion: F8, weight: F8) -> I8:
    """The order of rows, one for all workers, that gives the weighted mean matrix the heaviest diagonal."""
    mean = np.einsum("w,wto->to", weight, confusion)
    return best_order(mean.T)


def align(confusion: F8, pairs: Pairs, good: npt.NDArray[np.bool_]) -> F8:
    """Confusions whose rows came in an order of each worker's own, brought into one common order.

    The best-connected sharp worker sets it; each next worker, most overlap with those in place first, is matched to

        X = argmin sum_m' n ||R[m', m] - A_m'^T X||²  ≈  diag(d) A_m

    over the workers m' in place. In the end one order for all is chosen by the diagonal of the mean matrix.
    """
    out, k = confusion.copy(), confusion.shape[1]
    me, other, count = pairs.both_ways()
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
# The tensor power method: components of a symmetric tensor with (nearly) orthogonal parts.
# Anandkumar, Ge, Hsu, Kakade & Telgarsky (2014), Tensor decompositions for learning latent variable models, JMLR 15.


def orthogonal_components(tensor: F8, rng: np.random.Generator, n_starts: int = 30, n_steps: int = 60) -> tuple[F8, F8]:
    """Sizes λ[k] and directions v[:, k] with tensor ≈ sum λ v ⊗ v ⊗ v: the best of many starts, then deflation.

    >>> t = np.zeros((2, 2, 2)); t[0, 0, 0] = 3; t[1, 1, 1] = 2
    >>> orthogonal_components(t, np.random.default_rng(0))[0].round(6)
    array([3., 2.])
    """
    k = len(tensor)
    rest, size, direction = _symmetric(tensor), np.empty(k), np.empty((k, k))
    for i in range(k):
        v = _unit(rng.standard_normal((n_starts, k)))
        for _ in range(n_steps):  # all starts at once
            v = _unit(_apply(rest, v))
        value = (_apply(rest, v) * v).sum(axis=1)
        best = int(value.argmax())
        size[i], direction[:, i] = value[best], v[best]
        rest = rest - value[best] * np.einsum("a,b,c->abc", v[best], v[best], v[best])
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
