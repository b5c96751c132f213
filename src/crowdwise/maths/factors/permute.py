"""Which row is which class: moments fix confusion matrices up to the order of their rows only.

One assumption settles it: on the whole the crowd is right more often than it takes one class for another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..moments import Pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


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
