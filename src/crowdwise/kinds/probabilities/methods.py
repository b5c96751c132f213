""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.params import Above, Between, Count
from ..numbers.maths.rows import F8, Rows
from .fitting import ProbabilityAggregator
from .maths import (
    ENOUGH,
    HELD,
    Fit,
    best_push,
    chance,
    following,
    judged,
    mean_pool,
    median_pool,
    odds_pool,
    plain_fit,
    signals,
)


@dataclass(frozen=True, kw_only=True)
class Extremized(ProbabilityAggregator):
    """The mean of log odds, pushed away from 1/2.

    The mean of each task's log odds times `push`; with twenty known outcomes or more these set the factor.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Extremized(push=1).fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "extremized"
    push: Annotated[float, Between(0.1, 10.0)] = 1.5

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        return plain_fit(chance(self._push(rows, gold) * odds_pool(rows, self.clip)), rows.n_workers)

    def learnt(self, rows: Rows, gold: F8 | None) -> dict[str, Any]:
        """The factor that was used, as the design of the fit: log odds are divided by it."""
        return {"design": 1 / self._push(rows, gold)}

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        return chance(odds_pool(rows, self.clip) / fit.design)

    def _push(self, rows: Rows, gold: F8 | None) -> float:
        known = np.zeros(rows.n_tasks, dtype=bool) if gold is None else ~np.isnan(gold) & (rows.per_task > 0)
        if gold is None or known.sum() < ENOUGH:
            return self.push
        return best_push(odds_pool(rows, self.clip)[known], gold[known])


@dataclass(frozen=True, kw_only=True)
class Followed(ProbabilityAggregator):
    """The mean of log odds, workers weighted by how their answers go with everybody else's.

    The mean of each task's log odds, workers weighted by the square of their correlation with the others.

    Who says much the same whatever the task, or answers at random, has little to say.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> Followed().fit(votes).probability.round(3).tolist()
    [0.821, 0.29]
    """

    name: ClassVar[str] = "followed"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        weight = following(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        return plain_fit(chance(odds_pool(rows, self.clip, weight)), rows.n_workers, weight)

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        return chance(odds_pool(rows, self.clip, fit.weight))


@dataclass(frozen=True, kw_only=True)
class MeanProbability(ProbabilityAggregator):
    """The mean of each task's probabilities: the linear pool.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> MeanProbability().fit(votes).probability.round(2).tolist()
    [0.8, 0.3]
    """

    name: ClassVar[str] = "mean_probability"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        return plain_fit(mean_pool(rows), rows.n_workers)

    def judge(self, rows: Rows, fit: Fit) -> F8:  # noqa: ARG002
        """The same of other rows."""
        return mean_pool(rows)


@dataclass(frozen=True, kw_only=True)
class MedianProbability(ProbabilityAggregator):
    """The median of each task's probabilities.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 1], ["a", "b", "c"], [0.9, 0.7, 0.2])
    >>> MedianProbability().fit(votes).probability.tolist()
    [0.7]
    """

    name: ClassVar[str] = "median_probability"

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:  # noqa: ARG002
        """See the class."""
        return plain_fit(median_pool(rows), rows.n_workers)

    def judge(self, rows: Rows, fit: Fit) -> F8:  # noqa: ARG002
        """The same of other rows."""
        return median_pool(rows)


_TOL = 1e-8


@dataclass(frozen=True, kw_only=True)
class PooledProbabilities(ProbabilityAggregator):
    """The default for probabilities: the mean of three unlike pools.

    The mean of three: the mean of the answers, log odds weighted by how workers follow the others, and `signals`.

    The first is right where nothing is known of the workers, the last where much is.

    >>> import crowdwise as cw
    >>> votes = cw.probability_votes([1, 1, 2, 2], ["a", "b", "a", "b"], [0.9, 0.7, 0.2, 0.4])
    >>> (PooledProbabilities().fit(votes).probability > 0.5).tolist()
    [True, False]
    """

    name: ClassVar[str] = "pooled_probabilities"
    calibrates: ClassVar[bool] = True
    max_iter: Count = 200

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        found = signals(rows, gold, self.clip, HELD, self.max_iter, _TOL)
        weight = following(rows)
        weight = weight / max(float(weight.mean()), 1e-300) if len(weight) else weight
        found = replace(found, weight=weight)
        return replace(found, probability=self.judge(rows, found))

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """The same of other rows."""
        three = mean_pool(rows), chance(odds_pool(rows, self.clip, fit.weight)), judged(rows, fit, self.clip)
        return np.asarray(np.mean(three, axis=0))


@dataclass(frozen=True, kw_only=True)
class Signals(ProbabilityAggregator):
    """Workers as signals with a shift, a gap and a spread, by EM.

    A worker's log odds stand around their own shift, above it for true tasks and below it for others, by EM.

    So a worker who says "likely" of everything moves nothing, and one who is wary moves as much as one who is not.
    The evidence is divided by how much workers err together. `held`: answers that the crowd counts for in each worker.

    >>> import crowdwise as cw
    >>> made = cw.simulate.scenario("probabilities_plain", tasks=200, workers=20, seed=1)
    >>> bool(((Signals().fit(made.votes).probability > 0.5) == made.truth).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "signals"
    held: Annotated[float, Above(0)] = HELD
    max_iter: Count = 200
    tol: Annotated[float, Between(0.0, 1.0)] = 1e-8

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        return signals(rows, gold, self.clip, self.held, self.max_iter, self.tol)

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """What other rows of the same workers say."""
        return judged(rows, fit, self.clip)
