"""Plackett and Luce's model, with a temperature of each worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.params import Count, NonNegative, Positive
from ...engine.ascent import Point, climb
from ...engine.em import Callback
from ...maths.rankings.fit import RankFit
from ...maths.rankings.plackett_luce import PlackettLuce as Objective
from ...maths.rankings.rows import RankRows
from .base import RankingAggregator


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(RankingAggregator):
    """The next item is taken from what is left by exp(b score); b is the worker's temperature: 1 is the crowd's, 0
    guesses, below 0 ranks upside down.

    `spread` is how far temperatures lie around 1 (0: all alike), `strength` draws scores to 0.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("rankings_mixed", tasks=40, workers=20, labels=6, seed=1)
    >>> found = PlackettLuce().fit(crowd.votes)
    >>> cw.evaluate(found, crowd.truth_table()).kendall > 0.7
    True
    """

    name: ClassVar[str] = "plackett_luce"
    strength: Positive = 0.1
    spread: NonNegative = 1.0
    max_iter: Count = 1000
    tol: NonNegative = 1e-10

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """See the class."""
        objective = Objective(rows, self.strength, self.spread)
        found = climb(lambda x: Point(*objective(x)), objective.start(), max_iter=self.max_iter, tol=self.tol,
                      callback=callback)  # fmt: skip
        score, heat = objective.parts(found.x)
        x = found.x
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        if self.spread > 0 and float(answers @ heat) < 0:  # most are right, not most upside down
            x, score, heat = -found.x, -score, -heat
        return RankFit(score, objective.blocks(x), heat if self.spread > 0 else None, trace=found.trace,
                       n_iter=found.n_iter, converged=found.converged)  # fmt: skip
