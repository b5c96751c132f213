"""Aggregation of numeric answers (ratings, scores, measurements) as pure functions on arrays.

Each method takes `NumberRows` and gold[task] (NaN where unknown) and returns a `NumberFit`; `combined` is the default.
`apply`, `without_own` and `row_loglik` predict from rows under a fit.
"""

from .apply import apply, row_loglik, without_own
from .gaussian import gaussian, gaussian_plain, student
from .iterative import bayesian_iterative, combined
from .rows import NumberFit, NumberRows
from .simple import biased_mean, catd, crh, mean, median, spectral_regression, trimmed_mean

__all__ = [
    "NumberFit",
    "NumberRows",
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
