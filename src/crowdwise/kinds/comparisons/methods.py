""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ...core.callback import Callback
from ...core.params import Count, NonNegative, Positive
from .fitting import ComparisonAggregator, climbed, gold_worker
from .maths.models import (
    CrowdObjective,
    DavidsonObjective,
    NoisyObjective,
    PairFit,
    PairRows,
    bradley_terry,
    elo,
    rank_centrality,
    win_rates,
)


@dataclass(frozen=True, kw_only=True)
class BradleyTerry(ComparisonAggregator):
    """Bradley and Terry's model: one score an item, all workers alike.

    The log-odds that one item beats another are the difference of their scores; a tie is half a win.

    `strength` draws scores to 0 (the precision of a normal prior): items that always win have a score too.

    >>> import crowdwise as cw
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> BradleyTerry().fit(votes).leaderboard()["item"].to_list()
    ['a', 'b', 'c']
    """

    name: ClassVar[str] = "bradley_terry"
    strength: Positive = 0.1
    max_iter: Count = 100
    tol: NonNegative = 1e-10

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        return bradley_terry(rows, self.strength, self.max_iter, self.tol)


@dataclass(frozen=True, kw_only=True)
class CrowdBT(ComparisonAggregator):
    """CrowdBT: Bradley-Terry with workers who are right, guess, or turn everything around.

    Every worker follows the better item with a chance of their own, which may lie below one half.

    `strength` draws scores to 0 (the precision of a normal prior), `prior_right` and `prior_wrong` are the Beta prior
    of the workers' reliabilities. A tie is half a win of either item.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("comparisons_reversed", tasks=300, workers=20, labels=5, seed=1)
    >>> found = CrowdBT().fit(crowd.votes)
    >>> round(cw.evaluate(found, crowd.truth_table()).kendall, 1)
    0.8
    """

    name: ClassVar[str] = "crowd_bt"
    strength: Positive = 0.3
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        known = gold_worker(rows)
        objective = CrowdObjective(rows, self.strength, self.prior_right, self.prior_wrong, known)
        start = np.concatenate([np.zeros(rows.n_items), np.full(rows.n_workers, 1.4)])
        found = climbed(objective, start, self.max_iter, self.tol, callback)
        score, logit = found.x[: rows.n_items], found.x[rows.n_items :]
        eta = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        x = found.x
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        if known is None and answers.sum() > 0 and float(answers @ eta) < 0.5 * float(answers.sum()):
            x = -x  # the same likelihood: most are right, not most are wrong
            score, eta = -score, 1 - eta
        return PairFit(score, objective.blocks(x), eta, trace=found.trace, n_iter=found.n_iter,
                       converged=found.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Davidson(ComparisonAggregator):
    """Davidson's model of ties, with workers who differ in sharpness, position and liking for ties.

    Left, right or tie, each with its own chance; workers have a slope, a pull to one side and a rate of ties.

    `slope`, `position` and `tie` are the spreads of these over the crowd; 0 gives every worker the same. `strength`
    draws scores to 0. Without ties and workers it is Bradley and Terry's model. Where left is always the item that is
    the first by name, sides tell nothing and are left out.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("comparisons_ties", tasks=300, workers=20, labels=5, seed=1)
    >>> round(cw.evaluate(Davidson().fit(crowd.votes), crowd.truth_table()).kendall, 1)
    0.8
    """

    name: ClassVar[str] = "davidson"
    strength: Positive = 0.3
    slope: NonNegative = 0.4
    position: NonNegative = 0.3
    tie: NonNegative = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        aside = self.position if rows.mixed_sides else 0.0
        objective = DavidsonObjective(rows, self.strength, self.slope, aside, self.tie)
        found = climbed(objective, objective.start(), self.max_iter, self.tol, callback)
        score, slope, position, tie, _, mean_tie = objective.parts(found.x)
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        x = found.x.copy()
        if float(answers @ slope) < 0:  # the same likelihood, but for the prior
            x[: rows.n_items + rows.n_workers] *= -1
            score, slope = -score, -slope
        level = mean_tie if rows.has_ties else -np.inf
        spread = float(np.std(tie[answers > 0])) if rows.has_ties and (answers > 0).any() else 0.0
        return PairFit(
            score,
            objective.blocks(x),
            slope=slope,
            position=position,
            tie=tie if rows.has_ties else None,
            tie_level=level,
            tie_spread=spread,
            trace=found.trace,
            n_iter=found.n_iter,
            converged=found.converged,
        )


@dataclass(frozen=True, kw_only=True)
class Elo(ComparisonAggregator):
    """Elo's ratings: game after game.

    The winner takes `step` times the surprise from the loser (scores are natural logits: 1 is 174 Elo points).

    All games are gone through `passes` times, each time in another order drawn by `seed`, so that the order in which
    a file has them does not matter.

    >>> Elo(step=0.1).name
    'elo'
    """

    name: ClassVar[str] = "elo"
    step: Positive = 0.05
    passes: Count = 5

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        rng = np.random.default_rng(self.seed)
        return PairFit(elo(rows, self.step, self.passes, [rng.permutation(len(rows)) for _ in range(self.passes)]))


@dataclass(frozen=True, kw_only=True)
class NoisyBT(ComparisonAggregator):
    """Noisy Bradley-Terry: workers compare, or follow a habit for one side.

    Every worker compares with a chance of their own; else they follow a habit for left or right.

    `strength` draws scores to 0, `prior_right` and `prior_wrong` are the Beta prior of that chance, `habit` the spread
    of the habits. Who turns answers around is not in this model; `crowd_bt` has them.

    >>> NoisyBT(habit=1.0).name
    'noisy_bt'
    """

    name: ClassVar[str] = "noisy_bt"
    strength: Positive = 0.3
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    habit: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        objective = NoisyObjective(
            rows, self.strength, self.prior_right, self.prior_wrong, self.habit, gold_worker(rows)
        )
        m = rows.n_workers
        start = np.concatenate([np.zeros(rows.n_items), np.full(m, 1.4), np.zeros(m)])
        found = climbed(objective, start, self.max_iter, self.tol, callback)
        score, skill, habit = objective.parts(found.x)
        return PairFit(score, objective.blocks(found.x), skill, position=habit, trace=found.trace,
                       n_iter=found.n_iter, converged=found.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RankCentrality(ComparisonAggregator):
    """Rank centrality: a walk from item to item, towards those that win.

    How often a walk that moves to an opponent by the share of its wins is at each item, as a logarithm.

    `smoothing` wins and losses are added to every pair.

    >>> RankCentrality().name
    'rank_centrality'
    """

    name: ClassVar[str] = "rank_centrality"
    smoothing: Positive = 1.0
    max_iter: Count = 20_000
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        score, n_iter, converged = rank_centrality(rows, self.smoothing, self.max_iter, self.tol)
        return PairFit(score, n_iter=n_iter, converged=converged)


@dataclass(frozen=True, kw_only=True)
class Tournament(ComparisonAggregator):
    """The default for comparisons: the average of crowd_bt and davidson.

    The mean of the scores of `crowd_bt` and of `davidson`, on the latter's scale.

    The first is better where many workers toss coins, the second where workers gave a few answers each; their mean is
    close to the better of the two in both, and often above. Chances, ties and intervals are `davidson`'s.

    >>> import crowdwise as cw
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left", "tie", "left"], worker=[*"xyx"])
    >>> Tournament().fit(votes).leaderboard()["item"][0]
    'a'
    """

    name: ClassVar[str] = "tournament"
    calibrates: ClassVar[bool] = True

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """See the class."""
        ties = Davidson(seed=self.seed).solve(rows, callback)
        if not (rows.outcome[rows.weights > 0] != 2).any():
            return ties  # nothing but ties: no winner tells of anybody
        coins = CrowdBT(seed=self.seed).solve(rows, callback)
        wide, other = float(np.std(ties.score)), float(np.std(coins.score))
        scaled = coins.score * (wide / other) if other > 1e-9 else coins.score
        return replace(
            ties,
            score=(ties.score + scaled) / 2,
            reliability=coins.reliability,
            trace=np.empty(0),
            n_iter=ties.n_iter + coins.n_iter,
            converged=ties.converged and coins.converged,
        )


@dataclass(frozen=True, kw_only=True)
class WinRate(ComparisonAggregator):
    """The share of its comparisons that an item wins.

    Log-odds of the share of wins; `smoothing` wins and losses are added, a tie is half a win.

    It does not ask whom an item won against: with unequal opponents the order is wrong.

    >>> WinRate().name
    'win_rate'
    """

    name: ClassVar[str] = "win_rate"
    smoothing: Positive = 1.0

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """See the class."""
        return PairFit(win_rates(rows, self.smoothing))
