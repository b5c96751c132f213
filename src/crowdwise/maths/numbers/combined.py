"""The default: the average of four unlike methods on answers whose wild ones are pulled in.

Mean, Gaussian workers without and with slopes, and Bayesian iterative fail in different crowds: noisy workers, workers
who always say the same, compressed scales, few answers. Their average is never far from the best of them.
"""

from __future__ import annotations

import numpy as np

from .clamp import clamped
from .fit import Fit
from .gaussians.gaussian import gaussian
from .iterative import bayesian_iterative
from .rows import F8, Rows
from .simple import mean

MEMBERS = ("mean", "gaussian", "gaussian_slope", "bayesian_iterative")


def combined(rows: Rows, gold: F8 | None = None, *, max_iter: int = 500, shards: int = 1) -> Fit:
    """Average of the members' estimates; variance is that of `gaussian`, workers are those of its sloped form."""
    rows = rows.present()
    rows, limit = clamped(rows)
    plain = mean(rows, gold)
    middle = gaussian(rows, gold, max_iter=max_iter, shards=shards)
    sloped = gaussian(rows, gold, slope=True, max_iter=max_iter, shards=shards)
    iterative = bayesian_iterative(rows, gold, bias=middle.bias, max_iter=max_iter)
    members = dict(zip(MEMBERS, (plain, middle, sloped, iterative), strict=True))
    estimate = np.mean([fit.mean for fit in members.values()], axis=0)
    extra = {"members": members, "limit": limit, "centre": sloped.extra["centre"], "unit": sloped.extra["unit"]}
    return Fit(
        "combined", estimate, middle.variance, sloped.bias, sloped.spread, sloped.slope,
        np.mean([fit.weight for fit in members.values()], axis=0), middle.trace, middle.n_iter,
        middle.converged and sloped.converged and iterative.converged, extra,
    )  # fmt: skip
