"""Rules for choosing tasks and workers, of which policies are made.

A task rule gives each open task a priority between 0 and 1, by which it is placed in the index, and scores the few
tasks that the index returns. A worker rule chooses among the available workers. Both are stateless; random generators
are passed in. Higher scores are better; costs divide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8
from ..core.errors import ParameterError
from ..stats.information import entropy, expected_gain
from . import kernels


@dataclass(frozen=True)
class WorkerStats:
    """Input of the worker rules: how often workers are `right`, out of `n_answered`, their `cost`, and the number of
    all answers `t`.
    """

    right: F8
    n_answered: F8
    cost: F8
    t: int


Priority = Callable[[F8, F8], F8]  # posterior[task, class], answers[task] -> 0..1
Pick = Callable[[WorkerStats, np.random.Generator], int]


def by_entropy(q: F8, n: F8) -> F8:  # noqa: ARG001
    """Entropy relative to the uniform distribution."""
    return np.asarray(entropy(q) / np.log(max(q.shape[1], 2)))


def by_margin(q: F8, n: F8) -> F8:  # noqa: ARG001
    """One minus the lead of the best class."""
    if q.shape[1] < 2:
        return np.zeros(len(q))
    top = np.partition(q, -2, axis=1)[:, -2:]
    return np.asarray(1 - (top[:, 1] - top[:, 0]))


def by_doubt(q: F8, n: F8) -> F8:  # noqa: ARG001
    """One minus the probability of the best class."""
    return np.asarray(1 - q.max(axis=1))


def by_chance(q: F8, n: F8) -> F8:  # noqa: ARG001
    """All tasks equal."""
    return np.ones(len(q))


def by_turn(q: F8, n: F8) -> F8:  # noqa: ARG001
    """Fewest answers first."""
    return np.asarray(1 / (1 + n))


# Codes of the compiled rules for one task.
COMPILED: dict[Priority, int] = {
    by_entropy: kernels.ENTROPY,
    by_margin: kernels.MARGIN,
    by_doubt: kernels.DOUBT,
    by_chance: kernels.CHANCE,
    by_turn: kernels.TURN,
}


# ---------------------------------------------------------------- workers
def any_worker(crowd: WorkerStats, rng: np.random.Generator) -> int:
    """Choose a worker uniformly."""
    return int(rng.integers(len(crowd.right)))


def in_turn(crowd: WorkerStats, rng: np.random.Generator) -> int:
    """Choose the worker with the fewest answers."""
    return _first(-crowd.n_answered, rng)


@dataclass(frozen=True)
class EpsilonGreedy:
    """Choose the most accurate worker, but a random one with probability `early` (the first `until` answers) or
    `later`.
    """

    early: float = 0.5
    later: float = 0.05
    until: int = 100

    def __call__(self, crowd: WorkerStats, rng: np.random.Generator) -> int:
        """Return the index of the chosen worker."""
        if rng.random() < (self.early if crowd.t <= self.until else self.later):
            return any_worker(crowd, rng)
        return _first(_mean(crowd) / crowd.cost, rng)


def upper_bound(crowd: WorkerStats, rng: np.random.Generator) -> int:
    """UCB: mean + sqrt(2 ln t / n); workers without answers come first."""
    bonus = np.sqrt(2 * np.log(max(crowd.t, 2)) / np.maximum(crowd.n_answered, 1e-9))
    return _first((crowd.right / np.maximum(crowd.n_answered, 1e-9) + bonus) / crowd.cost, rng)


# Beta prior of a worker's accuracy.
RIGHT, WRONG = 2.0, 1.0


def thompson(crowd: WorkerStats, rng: np.random.Generator) -> int:
    """Thompson sampling: the worker with the best draw from the posterior of the accuracy."""
    wrong = np.maximum(crowd.n_answered - crowd.right, 0.0)
    return _first(rng.beta(RIGHT + np.maximum(crowd.right, 0.0), WRONG + wrong) / crowd.cost, rng)


def _mean(crowd: WorkerStats) -> F8:
    return np.asarray((RIGHT + crowd.right) / (RIGHT + WRONG + crowd.n_answered))


def _first(score: F8, rng: np.random.Generator) -> int:
    """Return the index of the highest score; ties are broken at random."""
    best = np.flatnonzero(score >= score.max())
    return int(best[0] if len(best) == 1 else best[rng.integers(len(best))])


# ---------------------------------------------------------------- policies
@dataclass(frozen=True)
class Policy:
    """A task rule and a worker rule; with `joint` both by the expected information per cost of the pair."""

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
    """Return a policy by name, or the policy itself."""
    if isinstance(name, Policy):
        return name
    if name not in POLICIES:
        raise ParameterError(f"there is no policy {name!r}; take one of {', '.join(POLICIES)}")
    return POLICIES[name]


def best_pair(
    q: F8, theta: F8, cost: F8, may: npt.NDArray[np.bool_], rng: np.random.Generator, share: F8 | float = 1.0
) -> tuple[int, int] | None:
    """Return the allowed pair (task, worker) with the highest information per cost; None if no pair is allowed.

    q[task, class], theta[worker, true, observed], cost[worker], may[task, worker]; share[task] scales a task's gain.
    """
    if not may.any():
        return None
    score = np.where(may, expected_gain(q, theta) / cost * np.reshape(share, (-1, 1)), -1.0)
    at = _first(score.ravel(), rng)
    return at // len(cost), at % len(cost)
