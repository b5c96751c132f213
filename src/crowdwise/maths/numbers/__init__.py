"""Aggregating numeric answers: ratings, scores, measurements. Pure functions on arrays.

Every method takes `Rows` and gold[task] (NaN where unknown) and returns a `Fit`; `combined` is the default. `apply`,
`without_own` and `row_loglik` judge rows under a fit.
"""

from .apply import apply, row_loglik, without_own
from .biased import biased_mean
from .combined import combined
from .fit import Fit
from .gaussians.gaussian import gaussian
from .gaussians.plain_gaussian import gaussian_plain
from .gaussians.student import student
from .iterative import bayesian_iterative
from .rows import Rows
from .simple import mean, median, trimmed_mean
from .spectral import spectral_regression
from .truth_finding import catd, crh

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
