"""Scores are drawn to 0 by a normal prior: it holds what nothing else holds, such as the level of an island."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


def ridge(score: F8, strength: float) -> tuple[float, F8, F8]:
    """Log density of N(0, 1 / strength) but for a constant, its gradient and its curvature."""
    return -0.5 * strength * float(score @ score), -strength * score, np.full(len(score), strength)
