"""Methods for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.arrays import F8
from ...core.params import Between, Count, NonNegative, Positive
from .fitting import NumberAggregator
from .maths.gaussian import gaussian, gaussian_plain, student
from .maths.iterative import bayesian_iterative, combined
from .maths.rows import NumberFit, NumberRows
from .maths.simple import biased_mean, catd, crh, mean, median, spectral_regression, trimmed_mean


@dataclass(frozen=True, kw_only=True)
class BayesianIterative(NumberAggregator):
    """Belief propagation for workers with one of a few noise levels.

    Beliefs about the tasks are kept on a grid. After Ok et al. (2019), pmlr v89/ok19a.

    Args:
        max_iter: Maximum number of rounds.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(BayesianIterative().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "bayesian_iterative"
    max_iter: Count = 500

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return bayesian_iterative(rows, gold, max_iter=self.max_iter)


@dataclass(frozen=True, kw_only=True)
class BiasedMean(NumberAggregator):
    """Mean of the answers after subtracting each worker's offset.

    The offsets sum to zero over the answers unless gold determines them.

    Args:
        max_iter: Maximum number of iterations.
        tol: Largest change of an offset at convergence, in standard deviations of the answers.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> BiasedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "biased_mean"
    max_iter: Count = 500
    tol: NonNegative = 1e-10

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return biased_mean(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class CATD(NumberAggregator):
    """Weights from the upper end of a confidence interval of each worker's variance.

    Li et al. (2014), doi:10.14778/2735496.2735505.

    Args:
        max_iter: Maximum number of iterations.
        tol: Largest change of an estimate at convergence, in standard deviations of the answers.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> CATD().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "catd"
    max_iter: Count = 100
    tol: NonNegative = 1e-8

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return catd(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Combined(NumberAggregator):
    """Average of `mean`, `gaussian`, `gaussian` with slopes and `bayesian_iterative`, after clamping outliers.

    The members fail on different crowds; on datasets with known truth their average is never far from the best member.
    The interval is that of `gaussian`, centred on the average.

    Args:
        max_iter: Maximum number of iterations of each member.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(Combined().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.94
    """

    name: ClassVar[str] = "combined"
    max_iter: Count = 500

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:
        """Fit the method to one part of the answers."""
        return combined(rows, gold, max_iter=self.max_iter, shards=n_shards)


@dataclass(frozen=True, kw_only=True)
class CRH(NumberAggregator):
    """Weighted mean with weights from the negative log of each worker's share of all errors.

    Estimates and weights are updated in turn. Li et al. (2014), doi:10.1145/2588555.2610509.

    Args:
        max_iter: Maximum number of iterations.
        tol: Largest change of an estimate at convergence, in standard deviations of the answers.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> CRH().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "crh"
    max_iter: Count = 100
    tol: NonNegative = 1e-8

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return crh(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Gaussian(NumberAggregator):
    """Gaussian model with a bias and a precision for each worker, drawn from one population and fitted by EM.

    Raykar et al. (2010), JMLR 11, 1297-1322, with a hierarchical prior and a cap on the precisions.

    Args:
        slope: Also fit a slope (the scale that the worker uses) for each worker.
        plain: Fit the model of the paper instead, with a weak independent prior for each worker. Workers who always
            give the same answer can dominate it.
        strength: Minimum shape of the prior of the precisions; a prior of shape a counts as much as 2a answers.
        cap: Highest precision of a worker relative to the median. It keeps workers who always give the same answer
            from dominating the estimates.
        max_iter: Maximum number of iterations.
        tol: Smallest increase of the objective per answer at which iterations continue.

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

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:
        """Fit the method to one part of the answers."""
        if self.plain:
            return gaussian_plain(rows, gold, max_iter=self.max_iter, tol=self.tol)
        limits = {"strength": self.strength, "cap": self.cap, "tol": self.tol}
        return gaussian(rows, gold, slope=self.slope, shards=n_shards, max_iter=self.max_iter, **limits)


@dataclass(frozen=True, kw_only=True)
class Mean(NumberAggregator):
    """Mean of each task's answers. The interval follows from the pooled variance within tasks.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Mean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "mean"

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return mean(rows, gold)


@dataclass(frozen=True, kw_only=True)
class Median(NumberAggregator):
    """Median of each task's answers. It has no interval.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> Median().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "median"

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return median(rows, gold)


@dataclass(frozen=True, kw_only=True)
class SpectralRegression(NumberAggregator):
    """Slopes and noise variances from the covariance of the workers' answers, which has rank one off the diagonal.

    Parisi et al. (2014), doi:10.1073/pnas.1219097111, adapted to numbers.

    Args:
        max_iter: Maximum number of iterations.
        tol: Largest change of a loading at convergence.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("numbers_plain", tasks=60, workers=9, labels=4, seed=1)
    >>> round(cw.evaluate(SpectralRegression().fit(crowd.votes), crowd.truth_table()).pearson, 2)
    0.93
    """

    name: ClassVar[str] = "spectral_regression"
    max_iter: Count = 200
    tol: NonNegative = 1e-9

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return spectral_regression(rows, gold, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class Student(NumberAggregator):
    """`gaussian` with Student-t noise, which is robust to outliers.

    Lange, Little & Taylor (1989), doi:10.1080/01621459.1989.10478852.

    Args:
        df: Degrees of freedom of the noise.
        strength: Minimum shape of the prior of the precisions.
        max_iter: Maximum number of iterations.
        tol: Smallest increase of the objective per answer at which iterations continue.

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

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return student(rows, gold, df=self.df, strength=self.strength, max_iter=self.max_iter, tol=self.tol)


@dataclass(frozen=True, kw_only=True)
class TrimmedMean(NumberAggregator):
    """Trimmed mean of each task's answers. It has no interval.

    Args:
        share: Share of a task's answers that is dropped at each end.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [2, 3, 5, 6])
    >>> TrimmedMean().fit(votes).mean.round(2).tolist()
    [2.5, 5.5]
    """

    name: ClassVar[str] = "trimmed_mean"
    share: Annotated[float, Between(0, 0.5)] = 0.2

    def solve(self, rows: NumberRows, gold: F8 | None, n_shards: int) -> NumberFit:  # noqa: ARG002
        """Fit the method to one part of the answers."""
        return trimmed_mean(rows, gold, share=self.share)
