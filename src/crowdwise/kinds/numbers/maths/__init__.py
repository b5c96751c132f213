"""Aggregating numeric answers: ratings, scores, measurements. Pure functions on arrays.

Every method takes `Rows` and gold[task] (NaN where unknown) and returns a `Fit`; `combined` is the default. `apply`,
`without_own` and `row_loglik` judge rows under a fit.
"""

from .apply import apply, row_loglik, without_own
from .gaussian import gaussian, gaussian_plain, student
from .iterative import bayesian_iterative, combined
from .rows import Fit, Rows
from .simple import biased_mean, catd, crh, mean, median, spectral_regression, trimmed_mean

__all__ = [
    "Fit",
    "Rows",
    "apply",
    "bayesian_iterative",
    "biased_mean",
    "catd",
    "combined",
    "crh",
    "gaussian",
    "gaussian_plain",
    "mean",
    "median",
    "row_loglik",
    "spectral_regression",
    "student",
    "trimmed_mean",
    "without_own",
]
