"""Which task, and which worker: the rules that policies are made of.

A rule for tasks gives each open task a priority between 0 and 1, by which it stands in the index, and scores the few
that the index hands out. A rule for workers chooses among those who may be asked. Neither knows who calls it; dice are
passed in. Scores are larger for better; costs divide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.errors import ParameterError
from ..stats.information import entropy, expected_gain
from . import kernels

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Crowd:
    """What rules for workers look at, of the workers who may be asked: how often `right`, of how many `seen`, `cost`,
    and the number of answers so far, `t`."""

    right: F8
    seen: F8
    cost: F8
    t: int


Priority = Callable[[F8, F8], F8]  # posterior[task, class], answers[task] -> 0..1
Pick = Callable[[Crowd, np.random.Generator], int]


def by_entropy(q: F8, n: F8) -> F8:  # noqa: ARG001
    """Entropy, 1 where all classes are alike."""
    return np.asarray(entropy(q) / np.log(max(q.shape[1], 2)))


def by_margin(q: F8, n: F8) -> F8:  # noqa: ARG001
    """One less the lead of the best class."""
    if q.shape[1] < 2:
        return np.zeros(len(q))
    top = np.partition(q, -2, axis=1)[:, -2:]
    return np.asarray(1 - (top[:, 1] - top[:, 0]))


def by_doubt(q: F8, n: F8) -> F8:  # noqa: ARG001
    """One less the probability of the best class."""
    return np.asarray(1 - q.max(axis=1))


def by_chance(q: F8, n: F8) -> F8:  # noqa: ARG001
    """All alike."""
    return np.ones(len(q))


def by_turn(q: F8, n: F8) -> F8:  # noqa: ARG001
    """Fewest answers first."""
    return np.asarray(1 / (1 + n))


# The same for one task, compiled.
COMPILED: dict[Priority, int] = {
    by_entropy: kernels.ENTROPY,
    by_margin: kernels.MARGIN,
    by_doubt: kernels.DOUBT,
    by_chance: kernels.CHANCE,
    by_turn: kernels.TURN,
}


# ---------------------------------------------------------------- workers
def any_worker(crowd: Crowd, rng: np.random.Generator) -> int:
    """All alike."""
    return int(rng.integers(len(crowd.right)))


def in_turn(crowd: Crowd, rng: np.random.Generator) -> int:
    """Who has answered least."""
    return _first(-crowd.seen, rng)


@dataclass(frozen=True)
class EpsilonGreedy:
    """The most often right, but somebody at random with probability `early` (the first `until` answers) or `later`."""

    early: float = 0.5
    later: float = 0.05
    until: int = 100

    def __call__(self, crowd: Crowd, rng: np.random.Generator) -> int:
        """The place of the chosen one."""
        if rng.random() < (self.early if crowd.t <= self.until else self.later):
            return any_worker(crowd, rng)
        return _first(_mean(crowd) / crowd.cost, rng)


def upper_bound(crowd: Crowd, rng: np.random.Generator) -> int:
    """UCB: mean + sqrt(2 ln t / n); who has not been asked comes first."""
    bonus = np.sqrt(2 * np.log(max(crowd.t, 2)) / np.maximum(crowd.seen, 1e-9))
    return _first((crowd.right / np.maximum(crowd.seen, 1e-9) + bonus) / crowd.cost, rng)


# The Beta prior of how often a worker is right.
RIGHT, WRONG = 2.0, 1.0


def thompson(crowd: Crowd, rng: np.random.Generator) -> int:
    """A draw from what is known of each one's share of right answers; the best draw wins."""
    wrong = np.maximum(crowd.seen - crowd.right, 0.0)
    return _first(rng.beta(RIGHT + np.maximum(crowd.right, 0.0), WRONG + wrong) / crowd.cost, rng)


def _mean(crowd: Crowd) -> F8:
    return np.asarray((RIGHT + crowd.right) / (RIGHT + WRONG + crowd.seen))


def _first(score: F8, rng: np.random.Generator) -> int:
    """Where the score is highest; ties are drawn."""
    best = np.flatnonzero(score >= score.max())
    return int(best[0] if len(best) == 1 else best[rng.integers(len(best))])


# ---------------------------------------------------------------- policies
@dataclass(frozen=True)
class Policy:
    """A rule for tasks and one for workers; with `joint`, both by the expected information per cost of the pair."""

    priority: Priority
    pick: Pick
    joint: bool = False


POLICIES = {
    "random": Policy(by_chance, any_worker),
    "round_robin": Policy(by_turn, in_turn),
    "uncertainty": Policy(by_entropy, any_worker),
    "margin": Policy(by_margin, any_worker),
    "least_confidence": Policy(by_doubt, any_worker),
    "epsilon_greedy": Policy(by_entropy, EpsilonGreedy()),
    "ucb": Policy(by_entropy, upper_bound),
    "thompson": Policy(by_entropy, thompson),
    "information": Policy(by_entropy, thompson, joint=True),
}


def policy_of(name: str | Policy) -> Policy:
    """A policy by its name, or as it is."""
    if isinstance(name, Policy):
        return name
    if name not in POLICIES:
        raise ParameterError(f"there is no policy {name!r}; take one of {', '.join(POLICIES)}")
    return POLICIES[name]


def best_pair(
    q: F8, theta: F8, cost: F8, may: npt.NDArray[np.bool_], rng: np.random.Generator, share: F8 | float = 1.0
) -> tuple[int, int] | None:
    """(task, worker) with the highest information per cost among the pairs that may be; None where none may.

    q[task, class], theta[worker, true, observed], cost[worker], may[task, worker]; share[task] scales a task's gain.
    """
    if not may.any():
        return None
    score = np.where(may, expected_gain(q, theta) / cost * np.reshape(share, (-1, 1)), -1.0)
    at = _first(score.ravel(), rng)
    return at // len(cost), at % len(cost)
