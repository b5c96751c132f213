"""Climbing an objective of comparisons."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...engine.ascent import Climb, Point, climb
from ...engine.em import Callback

F8 = npt.NDArray[np.float64]


def climbed(
    objective: Callable[[F8], tuple[float, F8, F8]], start: F8, max_iter: int, tol: float, callback: Callback | None
) -> Climb:
    """By L-BFGS in the metric of each parameter's curvature."""
    return climb(lambda x: Point(*objective(x)), start, max_iter=max_iter, tol=tol, callback=callback)
