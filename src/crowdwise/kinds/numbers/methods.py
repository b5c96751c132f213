""""""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.params import Between, Count, NonNegative, Positive
from .fitting import NumberAggregator
from .maths.gaussian import gaussian as _gaussian
from .maths.gaussian import gaussian_plain
from .maths.gaussian import student as _student
from .maths.iterative import bayesian_iterative as _bayesian_iterative
from .maths.iterative import combined as _combined
from .maths.rows import F8, Fit, Rows
from .maths.simple import biased_mean as _biased_mean
from .maths.simple import catd as _catd
from .maths.simple import crh as _crh
from .maths.simple import mean as _mean
from .maths.simple import median as _median
from .maths.simple import spectral_regression as _spectral_regression
from .maths.simple import trimmed_mean as _trimmed_mean


@dataclass(frozen=True, kw_only=True)
class BayesianIterative(NumberAggregator):
    """Workers have one of a few noise levels; beliefs pass between tasks and workers on a grid.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(BayesianIterative().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "bayesian_iterative"
    max_iter: Count = 500

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _bayesian_iterative(rows, gold, max_iter=self.max_iter)


@dataclass(frozen=True, kw_only=True)
class BiasedMean(NumberAggregator):
    """The mean of the answers freed of each worker's offset; offsets sum to 0 over answers unless gold fixes them.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> BiasedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "biased_mean"
    max_iter: Count = 500
    tol: NonNegative = 1e-10

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _biased_mean(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class CATD(NumberAggregator):
    """Weights from the upper end of a confidence interval of each worker's variance.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> CATD().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "catd"
    max_iter: Count = 100
    tol: NonNegative = 1e-8

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _catd(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Combined(NumberAggregator):
    """The average of mean, gaussian, gaussian with slopes and bayesian_iterative, wild answers pulled in first.

    They fail in different crowds; on the sets with known truth their average is never far from the best of them. The
    interval is gaussian's around the average.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Combined().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "combined"
    max_iter: Count = 500

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """See the class."""
        return _combined(rows, gold, max_iter=self.max_iter, shards=n_shards)


@dataclass(frozen=True, kw_only=True)
class CRH(NumberAggregator):
    """Answers weighted by minus the log of the worker's share of all errors, in turns.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> CRH().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "crh"
    max_iter: Count = 100
    tol: NonNegative = 1e-8

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _crh(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Gaussian(NumberAggregator):
    """Every worker has a bias and a precision from one crowd; with `slope` also a scale of their own.

    Every worker has a bias and a precision, drawn from one crowd; with `slope` also a scale of their own.

    `strength` is the least weight of the crowd's precision against a worker's own answers, `cap` the highest precision
    in units of the median one: who always says the same must not rule. `plain` is the model of the paper, with a weak
    prior of each worker's own, which constant workers can capture.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Gaussian().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "gaussian"
    slope: bool = False
    plain: bool = False
    strength: Positive = 10.0
    cap: Positive = 4.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:
        """See the class."""
        if self.plain:
            return gaussian_plain(rows, gold, max_iter=self.max_iter, tol=self.tol)
        limits = {"strength": self.strength, "cap": self.cap, "tol": self.tol}
        return _gaussian(rows, gold, slope=self.slope, shards=n_shards, max_iter=self.max_iter, **limits)


@dataclass(frozen=True, kw_only=True)
class Mean(NumberAggregator):
    """The mean of each task's answers; its interval comes from the pooled variance within tasks.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Mean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "mean"

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _mean(rows, gold)


@dataclass(frozen=True, kw_only=True)
class Median(NumberAggregator):
    """The median of each task's answers. It has no interval.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Median().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "median"

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _median(rows, gold)


@dataclass(frozen=True, kw_only=True)
class SpectralRegression(NumberAggregator):
    """Slopes and noises from the covariance of the workers (rank one off the diagonal).

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(SpectralRegression().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "spectral_regression"
    max_iter: Count = 200
    tol: NonNegative = 1e-9

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _spectral_regression(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Student(NumberAggregator):
    """`gaussian` with Student noise of `df` degrees of freedom: a wild answer counts little.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Student().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "student"
    df: Positive = 5.0
    strength: Positive = 10.0
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _student(rows, gold, df=self.df, strength=self.strength, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class TrimmedMean(NumberAggregator):
    """The mean without the `share` of a task's answers at either end. It has no interval.

    >>> import crowdwise as cw
    >>> votes = cw.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> TrimmedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "trimmed_mean"
    share: Annotated[float, Between(0, 0.5)] = 0.2

    def solve(self, rows: Rows, gold: F8 | None, n_shards: int) -> Fit:  # noqa: ARG002
        """See the class."""
        return _trimmed_mean(rows, gold, share=self.share)
