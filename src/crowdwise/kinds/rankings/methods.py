"""Methods for rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.callback import Callback
from ...core.params import Count, NonNegative, Positive, Whole
from ...em.ascent import Point, climb
from .fitting import RankingAggregator
from .maths import PlackettLuceObjective, RankFit, RankRows, borda, copeland, kemeny_places, mallows


@dataclass(frozen=True, kw_only=True)
class Borda(RankingAggregator):
    """Borda count: the mean rank.

    The score is the share of the other items that come after an item, mean over the rankings; a tie is a half.

    >>> import crowdwise as cw
    >>> votes = cw.rankings.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "a>c>b", "b>a>c"])
    >>> Borda().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "borda"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """Fit the model."""
        return RankFit(*borda(rows))


@dataclass(frozen=True, kw_only=True)
class Copeland(RankingAggregator):
    """Copeland's rule: the share of the other items that an item beats by majority.

    A draw is a half. Equal shares stay tied.

    >>> Copeland().name
    'copeland'
    """

    name: ClassVar[str] = "copeland"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """Fit the model."""
        return RankFit(copeland(rows))


@dataclass(frozen=True, kw_only=True)
class Kemeny(RankingAggregator):
    """Kemeny's order: the fewest disagreements with the rankings.

    Where several orders are best, items get their mean rank over them.

    Args:
        exact: Largest number of items solved exactly (at most 16); longer lists by local search from random starts.

    >>> import crowdwise as cw
    >>> votes = cw.rankings.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "b>c>a", "a>b>c"])
    >>> Kemeny().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "kemeny"
    exact: Whole = 12

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """Fit the model."""
        rng = np.random.default_rng(self.seed)
        score = np.zeros(rows.n_entries)
        for task in range(len(rows.by_task)):
            entries = slice(int(rows.begin[task]), int(rows.begin[task + 1]))
            score[entries] = -kemeny_places(rows.preferences(task), rng, min(self.exact, 16))[0]
        return RankFit(score)


@dataclass(frozen=True, kw_only=True)
class Mallows(RankingAggregator):
    """The Mallows model, with a dispersion of each worker.

    The probability of a ranking decreases with the number of pairs that it orders differently from the centre.

    Args:
        spread: Standard deviation of the workers' dispersions around the crowd's (0: all workers alike).
        max_iter: Maximum number of rounds.

    >>> Mallows().name
    'mallows'
    """

    name: ClassVar[str] = "mallows"
    spread: NonNegative = 1.0
    max_iter: Count = 50

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """Fit the model."""
        centre = mallows(rows, max(self.spread, 1e-3), self.spread > 0, self.max_iter, self.seed)
        return RankFit(centre.score, dispersion=centre.dispersion, trace=centre.trace, n_iter=centre.n_iter,
                       converged=centre.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(RankingAggregator):
    """The Plackett-Luce model, with a temperature of each worker.

    The next item is chosen among the remaining ones in proportion to exp(b score), with the worker's temperature b: 1
    is the crowd's, 0 guesses, below 0 is reversed.

    Args:
        strength: Precision of a normal prior on the scores.
        spread: Standard deviation of the temperatures around 1 (0: all workers alike).
        max_iter: Maximum number of iterations.
        tol: Relative tolerance of the objective.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("rankings_mixed", tasks=40, workers=20, labels=6, seed=1)
    >>> result = PlackettLuce().fit(crowd.votes)
    >>> cw.evaluate(result, crowd.truth_table()).kendall > 0.7
    True
    """

    name: ClassVar[str] = "plackett_luce"
    strength: Positive = 0.1
    spread: NonNegative = 1.0
    max_iter: Count = 1000
    tol: NonNegative = 1e-10

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """Fit the model."""
        objective = PlackettLuceObjective(rows, self.strength, self.spread)
        optimum = climb(lambda x: Point(*objective(x)), objective.start(), max_iter=self.max_iter, tol=self.tol,
                      callback=callback)  # fmt: skip
        score, heat = objective.parts(optimum.x)
        x = optimum.x
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        if self.spread > 0 and float(answers @ heat) < 0:  # most workers are right, not reversed
            x, score, heat = -optimum.x, -score, -heat
        return RankFit(score, objective.blocks(x), heat if self.spread > 0 else None, trace=optimum.trace,
                       n_iter=optimum.n_iter, converged=optimum.converged)  # fmt: skip


# Number of items from which a single ranking is informative about its worker.
LONG = 6
# Choices per item from which workers may differ much (spread 1), and a little (spread LITTLE). With fewer, scores are
# so uncertain that honest workers would be misjudged. Chosen on simulated crowds.
MANY, SOME, LITTLE = 4.0, 2.0, 0.3


@dataclass(frozen=True, kw_only=True)
class Podium(RankingAggregator):
    """The default for rankings: plackett_luce with temperatures, or borda with too little information per worker.

    `plackett_luce` where lists have six items or more, or half of the rankings come from workers with several; else,
    and where lists were ranked too rarely, `borda`. `extra["reason"]` of the result explains the choice.

    >>> import crowdwise as cw
    >>> votes = cw.rankings.ranking_votes([1] * 4, [*"xyzu"], ["a>b>c", "a>c>b", "b>a>c", "a>b>c"])
    >>> Podium().fit(votes).extra["reason"]
    'borda, as lists are short and few workers ranked several'
    """

    name: ClassVar[str] = "podium"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """Fit the model."""
        if not self._by_worker(rows):
            return Borda(seed=self.seed).solve(rows, callback)
        spread = 1.0 if rows.choices >= MANY else LITTLE
        return PlackettLuce(seed=self.seed, spread=spread).solve(rows, callback)

    def _by_worker(self, rows: RankRows) -> str:
        counted = rows.weights > 0
        if not counted.any() or rows.choices < SOME:
            return ""
        if float(rows.size[counted].mean()) >= LONG:
            return "lists are long"
        n_rankings = np.bincount(rows.worker[counted], minlength=rows.n_workers)
        return "workers ranked several lists" if float((n_rankings[rows.worker[counted]] > 1).mean()) >= 0.5 else ""

    def reason(self, rows: RankRows) -> str | None:
        """Explain which of the two was chosen."""
        reason = self._by_worker(rows)
        if not reason:
            too_few = "lists were ranked too rarely to distinguish workers"
            return f"borda, as {too_few if rows.choices < SOME else 'lists are short and few workers ranked several'}"
        shrunk = "" if rows.choices >= MANY else "; workers differ only a little (spread 0.3)"
        return f"plackett_luce, as {reason}{shrunk}"
