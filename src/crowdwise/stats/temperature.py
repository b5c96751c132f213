"""Temperature scaling: one number that makes probabilities softer or sharper without changing a label.

    softened[task, class] ∝ posterior[task, class] ^ (1 / temperature)

Guo et al. (2017), On calibration of modern neural networks, pmlr v70/guo17a.
"""

from __future__ import annotations

import numpy as np

from ..core.arrays import F8
from .ties import winners

# Upper bound; beyond it the likelihood is flat.
HIGHEST = 20.0


def soften(posterior: F8, temperature: float) -> F8:
    """Return posterior[task, class] at a temperature; above 1 it is softer, below 1 sharper, at 1 unchanged.

    A task whose winners would change, because two classes are almost tied, stays as it is.

    >>> soften(np.array([[0.9, 0.1], [0.5, 0.5]]), 2.0)
    array([[0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    if temperature == 1:
        return posterior
    top = posterior.max(axis=1, keepdims=True, initial=0.0)
    out = (posterior / np.where(top > 0, top, 1.0)) ** (1.0 / temperature)
    out /= out.sum(axis=1, keepdims=True)
    moved = (winners(out) != winners(posterior)).any(axis=1)
    out[moved] = posterior[moved]
    return np.asarray(out)


def best_temperature(posterior: F8, likelihood: F8, weight: F8, *, lowest: float) -> float:
    """Return the temperature in [lowest, HIGHEST] with the highest likelihood.

    Row i is predicted by posterior[i, class], and likelihood[i, class] is the probability of the observation given the
    class: a row of 0 and 1 if the truth itself is observed. weight[i] weights the row. The logarithm of the temperature
    has a standard normal prior, so that a handful of rows cannot drive it to a bound.
    """
    from scipy.optimize import minimize_scalar

    logs = np.log(np.maximum(posterior, 1e-300))

    def loss(log_t: float) -> float:
        p = logs / np.exp(log_t)
        p = np.exp(p - p.max(axis=1, keepdims=True))
        probability = (p * likelihood).sum(axis=1) / p.sum(axis=1)
        return float(log_t**2 / 2 - weight @ np.log(np.maximum(probability, 1e-12)))

    low, high = float(np.log(lowest)), float(np.log(HIGHEST))
    # The loss may have two minima: search a coarse grid, then refine the best point.
    grid = np.linspace(low, high, 25)
    at = int(np.argmin([loss(x) for x in grid]))
    inside = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    best = float(minimize_scalar(loss, bounds=inside, method="bounded", options={"xatol": 1e-4}).x)
    return float(np.exp(min((float(grid[at]), best), key=loss)))
