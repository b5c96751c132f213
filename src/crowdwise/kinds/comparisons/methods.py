"""Methods for comparisons."""

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
    """The Bradley-Terry model: one score per item, all workers alike.

    The log-odds that one item beats another are the difference of their scores. A tie is half a win.

    Args:
        strength: Precision of a normal prior on the scores. It keeps the scores of items that always win finite.
        max_iter: Maximum number of iterations.
        tol: Tolerance of the scores.

    >>> import crowdwise as cw
    >>> votes = cw.comparisons.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> BradleyTerry().fit(votes).leaderboard()["item"].to_list()
    ['a', 'b', 'c']
    """

    name: ClassVar[str] = "bradley_terry"
    strength: Positive = 0.1
    max_iter: Count = 100
    tol: NonNegative = 1e-10

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """Fit the model."""
        return bradley_terry(rows, self.strength, self.max_iter, self.tol)


@dataclass(frozen=True, kw_only=True)
class CrowdBT(ComparisonAggregator):
    """CrowdBT: Bradley-Terry with a reliability of each worker.

    A worker prefers the better item with a probability that is 1/2 for guessing and below for reversed workers. A tie
    is half a win of either item.

    Args:
        strength: Precision of a normal prior on the scores.
        prior_right: First parameter of the Beta prior of the reliabilities.
        prior_wrong: Second parameter of the Beta prior of the reliabilities.
        max_iter: Maximum number of iterations.
        tol: Relative tolerance of the objective.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("comparisons_reversed", tasks=300, workers=20, labels=5, seed=1)
    >>> result = CrowdBT().fit(crowd.votes)
    >>> round(cw.evaluate(result, crowd.truth_table()).kendall, 1)
    0.8
    """

    name: ClassVar[str] = "crowd_bt"
    strength: Positive = 0.3
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    max_iter: Count = 500
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """Fit the model."""
        is_gold = gold_worker(rows)
        objective = CrowdObjective(rows, self.strength, self.prior_right, self.prior_wrong, is_gold)
        start = np.concatenate([np.zeros(rows.n_items), np.full(rows.n_workers, 1.4)])
        optimum = climbed(objective, start, self.max_iter, self.tol, callback)
        score, logit = optimum.x[: rows.n_items], optimum.x[rows.n_items :]
        eta = 1 / (1 + np.exp(-np.clip(logit, -30, 30)))
        x = optimum.x
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        if is_gold is None and answers.sum() > 0 and float(answers @ eta) < 0.5 * float(answers.sum()):
            x = -x  # the same likelihood, with most workers right instead of wrong
            score, eta = -score, 1 - eta
        return PairFit(score, objective.blocks(x), eta, trace=optimum.trace, n_iter=optimum.n_iter,
                       converged=optimum.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Davidson(ComparisonAggregator):
    """Davidson's model of ties, with a slope, a position and a tie rate of each worker.

    Without ties and differences between workers it is the Bradley-Terry model. Positions are left out where left is
    always the item that is first by name: sides carry no information then.

    Args:
        strength: Precision of a normal prior on the scores.
        slope: Standard deviation of the workers' slopes (0: all workers alike).
        position: Standard deviation of the workers' preference for the left side (0: all workers alike).
        tie: Standard deviation of the workers' log-odds of a tie (0: all workers alike).
        max_iter: Maximum number of iterations.
        tol: Relative tolerance of the objective.

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
        """Fit the model."""
        position_spread = self.position if rows.mixed_sides else 0.0
        objective = DavidsonObjective(rows, self.strength, self.slope, position_spread, self.tie)
        optimum = climbed(objective, objective.start(), self.max_iter, self.tol, callback)
        score, slope, position, tie, _, mean_tie = objective.parts(optimum.x)
        answers = np.bincount(rows.worker, rows.weights, rows.n_workers)
        x = optimum.x.copy()
        if float(answers @ slope) < 0:  # the same likelihood up to the prior
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
            trace=optimum.trace,
            n_iter=optimum.n_iter,
            converged=optimum.converged,
        )


@dataclass(frozen=True, kw_only=True)
class Elo(ComparisonAggregator):
    """Elo ratings, updated game by game.

    The winner takes `step` times the surprise from the loser. Scores are natural logits: 1 is 174 Elo points. Every
    pass is in another random order, so that the order of the file does not matter.

    Args:
        step: Size of the updates.
        passes: Number of passes over all games.

    >>> Elo(step=0.1).name
    'elo'
    """

    name: ClassVar[str] = "elo"
    step: Positive = 0.05
    passes: Count = 5

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """Fit the model."""
        rng = np.random.default_rng(self.seed)
        return PairFit(elo(rows, self.step, self.passes, [rng.permutation(len(rows)) for _ in range(self.passes)]))


@dataclass(frozen=True, kw_only=True)
class NoisyBT(ComparisonAggregator):
    """Noisy Bradley-Terry: workers either compare or follow a habit for one side.

    Each worker compares with a probability of their own and else follows a habit for left or right. The model has no
    reversed workers; `crowd_bt` has.

    Args:
        strength: Precision of a normal prior on the scores.
        prior_right: First parameter of the Beta prior of the probability of comparing.
        prior_wrong: Second parameter of the Beta prior of the probability of comparing.
        habit: Standard deviation of the habits, in log-odds.
        max_iter: Maximum number of iterations.
        tol: Relative tolerance of the objective.

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
        """Fit the model."""
        objective = NoisyObjective(
            rows, self.strength, self.prior_right, self.prior_wrong, self.habit, gold_worker(rows)
        )
        m = rows.n_workers
        start = np.concatenate([np.zeros(rows.n_items), np.full(m, 1.4), np.zeros(m)])
        optimum = climbed(objective, start, self.max_iter, self.tol, callback)
        score, skill, habit = objective.parts(optimum.x)
        return PairFit(score, objective.blocks(optimum.x), skill, position=habit, trace=optimum.trace,
                       n_iter=optimum.n_iter, converged=optimum.converged)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RankCentrality(ComparisonAggregator):
    """Rank centrality: the stationary distribution of a random walk towards winners.

    The walk moves from an item to an opponent in proportion to the share of the opponent's wins. Scores are logarithms.

    Args:
        smoothing: Wins and losses added to every pair.
        max_iter: Maximum number of iterations.
        tol: Relative tolerance of the distribution.

    >>> RankCentrality().name
    'rank_centrality'
    """

    name: ClassVar[str] = "rank_centrality"
    smoothing: Positive = 1.0
    max_iter: Count = 20_000
    tol: NonNegative = 1e-9

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """Fit the model."""
        score, n_iter, converged = rank_centrality(rows, self.smoothing, self.max_iter, self.tol)
        return PairFit(score, n_iter=n_iter, converged=converged)


@dataclass(frozen=True, kw_only=True)
class Tournament(ComparisonAggregator):
    """The default for comparisons: the mean of the scores of crowd_bt and davidson, on the scale of davidson.

    `crowd_bt` is better where many workers toss coins, `davidson` where workers gave few answers each. Their mean is
    close to the better one in both cases, and often above. Probabilities, ties and intervals are those of `davidson`.

    >>> import crowdwise as cw
    >>> votes = cw.comparisons.comparison_votes([*"aab"], [*"bcc"], ["left", "tie", "left"], worker=[*"xyx"])
    >>> Tournament().fit(votes).leaderboard()["item"][0]
    'a'
    """

    name: ClassVar[str] = "tournament"
    calibrates: ClassVar[bool] = True

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:
        """Fit the model."""
        ties = Davidson(seed=self.seed).solve(rows, callback)
        if not (rows.outcome[rows.weights > 0] != 2).any():
            return ties  # nothing but ties: no information about the workers
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
    """The share of its comparisons that an item wins, as log-odds. A tie is half a win.

    Opponents are ignored: the order is wrong where items have opponents of different strength.

    Args:
        smoothing: Wins and losses added to every item.

    >>> WinRate().name
    'win_rate'
    """

    name: ClassVar[str] = "win_rate"
    smoothing: Positive = 1.0

    def solve(self, rows: PairRows, callback: Callback | None) -> PairFit:  # noqa: ARG002
        """Fit the model."""
        return PairFit(win_rates(rows, self.smoothing))
