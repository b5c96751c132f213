"""How far the workers of a crowd lie apart: the variance of a normal prior, fitted together with what it is a prior of.

EM takes the mean square under the posteriors that the old variance gave; where workers are all alike it crawls to zero.
Here posteriors follow the variance while it is sought, which is the same EM with one round of it never left unfinished.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FLOOR = 1e-10  # of variances, in units of the answers' variance
HIGH = 1e6


def settled(square: Callable[[float], float], old: float) -> float:
    """The variance that is the mean square under its own posteriors, square(variance); FLOOR where none is.

    Looked for from the old one upward where the mean square exceeds it, else downward: the bound rises all the way.
    """
    from scipy.optimize import brentq

    def rise(log_v: float) -> float:
        return float(np.log(max(square(float(np.exp(log_v))), 1e-300)) - log_v)

    here, low, high = float(np.log(max(old, FLOOR))), float(np.log(FLOOR)), float(np.log(HIGH))
    up = rise(here) > 0
    step, near = 1.0, here
    while True:  # the first change of sign on this side
        far = min(near + step, high) if up else max(near - step, low)
        if (rise(far) > 0) != up:
            return float(np.exp(brentq(rise, min(near, far), max(near, far), xtol=1e-14, rtol=1e-14)))
        if far in (low, high):
            return float(np.exp(far))
        near, step = far, 2 * step
