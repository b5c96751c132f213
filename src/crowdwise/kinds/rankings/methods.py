"""What a fit of rankings has learnt of its workers, used on other tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.callback import Callback
from ...core.errors import DataError
from ...core.params import Count, NonNegative, Positive, Whole
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...em.ascent import Point, climb
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import Rankings, rows_of
from .fitting import RankingAggregator, as_rankings
from .maths import PlackettLuce as Objective
from .maths import RankFit, RankRows, borda, copeland, kemeny_places, mallows


@dataclass(frozen=True, kw_only=True)
class Borda(RankingAggregator):
    """Borda's count: the mean place.

    The share of the other items that an item is put before, mean over the rankings; a tie is a half.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "a>c>b", "b>a>c"])
    >>> Borda().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "borda"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        return RankFit(*borda(rows))


@dataclass(frozen=True, kw_only=True)
class Copeland(RankingAggregator):
    """Copeland's rule: how many others a majority puts an item before.

    The share of the other items that a majority puts it before; a draw is a half. Equal shares stay tied.

    >>> Copeland().name
    'copeland'
    """

    name: ClassVar[str] = "copeland"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        return RankFit(copeland(rows))


@dataclass(frozen=True, kw_only=True)
class Kemeny(RankingAggregator):
    """Kemeny's order: the fewest disagreements.

    The order that goes against the fewest preferences; of several best ones the mean place of each item.

    Lists of up to `exact` items are solved exactly, longer ones by local search from several starts drawn by `seed`.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1, 1, 1], [*"xyz"], ["a>b>c", "b>c>a", "a>b>c"])
    >>> Kemeny().fit(votes).to_table()["ranking"].to_list()
    ['a>b>c']
    """

    name: ClassVar[str] = "kemeny"
    exact: Whole = 12

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        rng = np.random.default_rng(self.seed)
        score = np.zeros(rows.n_entries)
        for task in range(len(rows.by_task)):
            own = slice(int(rows.begin[task]), int(rows.begin[task + 1]))
            score[own] = -kemeny_places(rows.preferences(task), rng, min(self.exact, 16))[0]
        return RankFit(score)


@dataclass(frozen=True, kw_only=True)
class Mallows(RankingAggregator):
    """Mallows' model, with a dispersion of each worker.

    Rankings scatter around a centre by the number of pairs that differ; careful workers scatter less.

    `spread` is how far the dispersions of workers lie around the crowd's (0: all alike).

    >>> Mallows().name
    'mallows'
    """

    name: ClassVar[str] = "mallows"
    spread: NonNegative = 1.0
    max_iter: Count = 50

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:  # noqa: ARG002
        """See the class."""
        found = mallows(rows, max(self.spread, 1e-3), self.spread > 0, self.max_iter, self.seed)
        return RankFit(found.score, dispersion=found.dispersion, trace=found.trace, n_iter=found.n_iter,
                       converged=found.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PlackettLuce(RankingAggregator):
    """Plackett and Luce's model, with a temperature of each worker.

    The next item is taken from what is left by exp(b score); b is the worker's temperature: 1 is the crowd's, 0
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


def infer(result: Result, votes: Votes[Rankings], unknown_workers: Policy) -> Result:
    """Orders of other tasks from the same workers' rankings, their temperatures held fixed."""
    votes = as_rankings(votes)
    picture: Any = result.picture
    if not np.isfinite(picture.temperature).any():
        raise DataError(f"{result.method} keeps nothing of its workers to infer by; fit plackett_luce, or fit again")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    heat = np.where(known, picture.temperature[old], np.nan)
    heat = np.where(np.isfinite(heat), heat, np.nanmean(picture.temperature))
    method = PlackettLuce(level=float(result.params.get("level", 0.95)))
    rows, items = rows_of(votes)
    objective = Objective(rows, float(result.params.get("strength", method.strength)), 0.0, heat)
    found = climb(lambda x: Point(*objective(x)), objective.start(), max_iter=method.max_iter, tol=method.tol)
    score, _ = objective.parts(found.x)
    fit = RankFit(score, objective.blocks(found.x), heat, trace=found.trace, n_iter=found.n_iter)
    return method.result(votes, rows, items, fit, None)


# Items of a list from which one ranking tells something of its worker.
LONG = 6
# Choices for each item of a list from which workers may lie far apart, and from which a little: with fewer, scores are
# known so badly that honest workers would be taken for others. Chosen in planted crowds.
MANY, SOME, LITTLE = 4.0, 2.0, 0.3


@dataclass(frozen=True, kw_only=True)
class Podium(RankingAggregator):
    """The default for rankings: plackett_luce with temperatures, or borda where too little is known of each worker.

    `plackett_luce` where lists have six items or more, or half of the rankings come from workers who gave several;
    else, and where lists were ranked too rarely, `borda`. The result says which.

    >>> import crowdwise as cw
    >>> votes = cw.ranking_votes([1] * 4, [*"xyzu"], ["a>b>c", "a>c>b", "b>a>c", "a>b>c"])
    >>> Podium().fit(votes).extra["reason"]
    'borda, as lists are short and workers do not come back'
    """

    name: ClassVar[str] = "podium"

    def solve(self, rows: RankRows, callback: Callback | None) -> RankFit:
        """See the class."""
        if not self._by_worker(rows):
            return Borda(seed=self.seed).solve(rows, callback)
        spread = 1.0 if rows.choices >= MANY else LITTLE
        return PlackettLuce(seed=self.seed, spread=spread).solve(rows, callback)

    def _by_worker(self, rows: RankRows) -> str:
        heard = rows.weights > 0
        if not heard.any() or rows.choices < SOME:
            return ""
        if float(rows.size[heard].mean()) >= LONG:
            return "lists are long"
        often = np.bincount(rows.worker[heard], minlength=rows.n_workers)
        return "workers come back" if float((often[rows.worker[heard]] > 1).mean()) >= 0.5 else ""

    def reason(self, rows: RankRows) -> str | None:
        """Which of the two."""
        why = self._by_worker(rows)
        if not why:
            few = "lists were ranked too rarely to tell workers apart"
            return f"borda, as {few if rows.choices < SOME else 'lists are short and workers do not come back'}"
        return f"plackett_luce, as {why}" + ("" if rows.choices >= MANY else "; workers are held together (spread 0.3)")
