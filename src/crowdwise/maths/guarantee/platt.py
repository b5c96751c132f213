"""Platt's map from a stated confidence to the share that is right, with few gold labels.

    p = sigmoid(a + b·logit c),  b >= 0, pulled to .7 by (b - .7)²/.5; smoothed targets

Platt (1999), Probabilistic outputs for support vector machines.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
EDGE = 0.005
CENTRE, WIDTH = 0.7, 0.5


def logit(confidence: F8) -> F8:
    """Log-odds, away from the ends."""
    c = np.clip(confidence, EDGE, 1 - EDGE)
    return np.asarray(np.log(c) - np.log1p(-c))


def fit(confidence: F8, right: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """(a, b) from gold tasks."""
    from scipy.optimize import minimize
    from scipy.special import expit

    x, n = logit(confidence), len(confidence)
    hits = int(right.sum())
    target = np.where(right, (hits + 1) / (hits + 2), 1 / (n - hits + 2))

    def loss(ab: F8) -> tuple[float, F8]:
        z = ab[0] + ab[1] * x
        value = float((np.logaddexp(0, z) - target * z).sum() + (ab[1] - CENTRE) ** 2 / WIDTH)
        off = expit(z) - target
        return value, np.array([off.sum(), off @ x + 2 * (ab[1] - CENTRE) / WIDTH])

    found = minimize(loss, np.array([0.0, CENTRE]), jac=True, method="L-BFGS-B", bounds=[(None, None), (0, None)])
    return float(found.x[0]), float(found.x[1])


def apply(ab: tuple[float, float], confidence: F8) -> F8:
    """The calibrated confidence."""
    from scipy.special import expit

    return np.asarray(expit(ab[0] + ab[1] * logit(confidence)))
