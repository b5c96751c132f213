"""A positive low-rank matrix from some of its off-diagonal entries: impute what is missing, take the top, repeat.

Each round's matrix is (what is seen - V V^T on those places) + V V^T: sparse plus low rank, so that large ones need no
dense matrix (Lanczos).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
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
