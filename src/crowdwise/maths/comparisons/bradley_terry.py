"""Bradley and Terry's model by Newton's method: P(i beats j) = s(score_i - score_j), with a ridge; a tie is half a win.

Bradley & Terry (1952), doi:10.2307/2334029.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .fit import PairFit
from .rows import PairRows, total
from .uncertainty import blocks

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Systems of more items are solved by conjugate gradients.
DENSE = 1500


def bradley_terry(rows: PairRows, strength: float, max_iter: int, tol: float) -> PairFit:
    """Newton steps, halved where the objective would fall."""
    one, two, won, lost = rows.pairs
    score = np.zeros(rows.n_items)
    value = _value(score, one, two, won, lost, strength)
    trace, converged = [value], False
    while len(trace) <= max_iter and not converged:
        s = np.exp(-np.logaddexp(0.0, score[two] - score[one]))
        turn = won * (1 - s) - lost * s
        gradient = total(one, turn, rows.n_items) - total(two, turn, rows.n_items) - strength * score
        way = _solved(one, two, (won + lost) * s * (1 - s), strength, gradient)
        step = 1.0
        while step > 1e-6 and _value(score + step * way, one, two, won, lost, strength) < value:
            step /= 2
        if step <= 1e-6:
            converged = True
            break
        score = score + step * way
        new = _value(score, one, two, won, lost, strength)
        # Where the ridge is next to nothing, rounding moves the common level on and on.
        converged = float(np.abs(step * (way - way.mean())).max(initial=0.0)) <= tol or new <= value
        value = new
        trace.append(value)
    s = np.exp(-np.logaddexp(0.0, -(score[rows.left] - score[rows.right])))
    found = blocks(rows, rows.weights * s * (1 - s), strength, [])
    return PairFit(score, found, trace=np.array(trace), n_iter=len(trace) - 1, converged=converged)


def _value(score: F8, one: I8, two: I8, won: F8, lost: F8, strength: float) -> float:
    d = score[one] - score[two]
    likely = -(won @ np.logaddexp(0.0, -d)) - lost @ np.logaddexp(0.0, d)
    return float(likely) - 0.5 * strength * float(score @ score)


def _solved(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64], weight: F8, ridge: float, target: F8) -> F8:
    """(Laplacian of the weights + ridge) x = target."""
    k = len(target)
    diagonal = total(one, weight, k) + total(two, weight, k) + ridge
    if k <= DENSE:
        dense = np.diag(diagonal)
        np.add.at(dense, (one, two), -weight)
        np.add.at(dense, (two, one), -weight)
        return np.asarray(np.linalg.solve(dense, target))
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import cg

    at = (np.concatenate([one, two, np.arange(k)]), np.concatenate([two, one, np.arange(k)]))
    full = coo_array((np.concatenate([-weight, -weight, diagonal]), at), shape=(k, k)).tocsr()
    return np.asarray(cg(full, target, rtol=1e-10, maxiter=2000, M=diags_array(1 / diagonal))[0])
