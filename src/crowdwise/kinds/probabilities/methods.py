"""Methods for probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.arrays import F8
from ...core.params import Above, Between, Count
from ..numbers.maths.rows import NumberRows
from .fitting import ProbabilityAggregator
from .maths import (
    MIN_GOLD,
    PRIOR_WEIGHT,
    ProbabilityFit,
    chance,
    correlation_weights,
    fitted_factor,
    mean_pool,
    median_pool,
    odds_pool,
    plain_fit,
    signals,
    signals_posterior,
)


@dataclass(frozen=True, kw_only=True)
class Extremized(ProbabilityAggregator):
    """Extremised mean of each task's log odds.

    Satopää et al. (2014), doi:10.1016/j.ijforecast.2013.09.009.

    Args:
        push: Factor on the mean log odds. With twenty or more gold outcomes, the factor is fitted to them.

    >>> import crowdwise as cw
    >>> votes = cw.probabilities.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Extremized(push=1).fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "extremized"
    push: Annotated[float, Between(0.1, 10.0)] = 1.5

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:
        """Fit the method."""
        return plain_fit(chance(self._push(rows, gold) * odds_pool(rows, self.clip)), rows.n_workers)

    def extra_parameters(self, rows: NumberRows, gold: F8 | None) -> dict[str, Any]:
        """Return the factor as the design effect: `posterior` divides log odds by it."""
        return {"design": 1 / self._push(rows, gold)}

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:
        """Estimate tasks from other rows of the same workers."""
        return chance(odds_pool(rows, self.clip) / fit.design)

    def _push(self, rows: NumberRows, gold: F8 | None) -> float:
        has_gold = np.zeros(rows.n_tasks, dtype=bool) if gold is None else ~np.isnan(gold) & (rows.per_task > 0)
        if gold is None or has_gold.sum() < MIN_GOLD:
            return self.push
        return fitted_factor(odds_pool(rows, self.clip)[has_gold], gold[has_gold])


@dataclass(frozen=True, kw_only=True)
class Followed(ProbabilityAggregator):
    """Mean of each task's log odds, weighted by the squared correlation of the worker with the others.

    Workers whose answers hardly depend on the task, or are random, get low weights. After Budescu & Chen (2015),
    doi:10.1287/mnsc.2014.1909, without outcomes.

    >>> import crowdwise as cw
    >>> votes = cw.probabilities.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Followed().fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "followed"

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:  # noqa: ARG002
        """Fit the method."""
        weight = correlation_weights(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        return plain_fit(chance(odds_pool(rows, self.clip, weight)), rows.n_workers, weight)

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:
        """Estimate tasks from other rows of the same workers."""
        return chance(odds_pool(rows, self.clip, fit.weight))


@dataclass(frozen=True, kw_only=True)
class MeanProbability(ProbabilityAggregator):
    """Mean of each task's probabilities, the linear pool.

    >>> import crowdwise as cw
    >>> votes = cw.probabilities.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> MeanProbability().fit(votes).probability.round(2).tolist()
    [0.8, 0.3]
    """

    name: ClassVar[str] = "mean_probability"

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:  # noqa: ARG002
        """Fit the method."""
        return plain_fit(mean_pool(rows), rows.n_workers)

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:  # noqa: ARG002
        """Estimate tasks from other rows of the same workers."""
        return mean_pool(rows)


@dataclass(frozen=True, kw_only=True)
class MedianProbability(ProbabilityAggregator):
    """Median of each task's probabilities.

    >>> import crowdwise as cw
    >>> votes = cw.probabilities.probability_votes([1, 1, 1], ["a", "b", "c"], [0.9, 0.7, 0.2])
    >>> MedianProbability().fit(votes).probability.tolist()
    [0.7]
    """

    name: ClassVar[str] = "median_probability"

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:  # noqa: ARG002
        """Fit the method."""
        return plain_fit(median_pool(rows), rows.n_workers)

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:  # noqa: ARG002
        """Estimate tasks from other rows of the same workers."""
        return median_pool(rows)


_TOL = 1e-8


@dataclass(frozen=True, kw_only=True)
class PooledProbabilities(ProbabilityAggregator):
    """Mean of three pools, the default for probabilities.

    The pools are the mean of the answers, the weighted log odds of `followed`, and `signals`. The first is best with
    little information about the workers, the last with much.

    Args:
        max_iter: Maximum number of iterations of `signals` per round.

    >>> import crowdwise as cw
    >>> votes = cw.probabilities.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> (PooledProbabilities().fit(votes).probability > 0.5).tolist()
    [True, False]
    """

    name: ClassVar[str] = "pooled_probabilities"
    calibrates: ClassVar[bool] = True
    max_iter: Count = 200

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:
        """Fit the method."""
        fit = signals(rows, gold, self.clip, PRIOR_WEIGHT, self.max_iter, _TOL)
        weight = correlation_weights(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        fit = replace(fit, weight=weight)
        return replace(fit, probability=self.posterior(rows, fit))

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:
        """Estimate tasks from other rows of the same workers."""
        pools = mean_pool(rows), chance(odds_pool(rows, self.clip, fit.weight)), signals_posterior(rows, fit, self.clip)
        return np.asarray(np.mean(pools, axis=0))


@dataclass(frozen=True, kw_only=True)
class Signals(ProbabilityAggregator):
    """Gaussian signals in log odds with a shift, a gap and a spread for each worker, fitted by EM.

    A worker's log odds are above the worker's shift for true tasks and below it for others. Workers who find everything
    likely therefore have no influence, and cautious workers have as much as bold ones. The evidence is divided by the
    design effect, which measures how much workers err together.

    Args:
        held: Weight of the population in each worker's parameters, in answers.
        max_iter: Maximum number of iterations per round.
        tol: Relative change of the objective at convergence.

    >>> import crowdwise as cw
    >>> made = cw.simulate.scenario("probabilities_plain", tasks=200, workers=20, seed=1)
    >>> bool(((Signals().fit(made.votes).probability > 0.5) == made.truth).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "signals"
    held: Annotated[float, Above(0)] = PRIOR_WEIGHT
    max_iter: Count = 200
    tol: Annotated[float, Between(0.0, 1.0)] = 1e-8

    def solve(self, rows: NumberRows, gold: F8 | None) -> ProbabilityFit:
        """Fit the method."""
        return signals(rows, gold, self.clip, self.held, self.max_iter, self.tol)

    def posterior(self, rows: NumberRows, fit: ProbabilityFit) -> F8:
        """Estimate tasks from other rows of the same workers."""
        return signals_posterior(rows, fit, self.clip)
