"""Votes whose weights are sums over parts: agreement with a consensus, which each part makes of its own tasks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...engine import journal
from ...maths.em import plus
from ...maths.kernels import Workspace
from ...maths.ties import tie_shares
from ..base import Learnt, Run, Spread, SpreadAggregator
from ..learnt import Judged, mean_posterior
from ..spread import clamped
from .base import Agreement, Weights, agreeing, posterior_of, scores

F8 = npt.NDArray[np.float64]
# What a tied majority counts for when workers are weighed against it: its winners share it, or the first takes it.
Ties = Literal["split", "first"]


@dataclass(frozen=True, kw_only=True)
class SplitVote(SpreadAggregator):
    """Each worker has one weight, found by passes over parts; the class with the heaviest votes wins."""

    def learn(self, data: Spread, run: Run) -> Learnt:  # noqa: ARG002
        """Weights first, then one weighted vote."""
        found = self.weigh(data)
        judge = WeightedVote(found.weight, found.scale)
        return Learnt(
            judge=judge,
            class_prior=mean_posterior(data, judge),
            n_iter=found.n_iter,
            converged=found.converged,
            extra={"vote_weight": found.weight, "vote_scale": found.scale},
        )

    @abstractmethod
    def weigh(self, data: Spread) -> Weights:
        """The weight of each worker."""


@dataclass(frozen=True, eq=False)
class WeightedVote:
    """weight[worker], a scale, and weight[class] before the first vote."""

    weight: F8
    scale: float | None
    prior: F8 | None = None

    def __call__(self, space: Workspace) -> Judged:
        """The weighted vote of a part's tasks, gold where it is known."""
        return Judged(clamped(space, posterior_of(space.shard, self.weight, self.scale, self.prior)))


def consensus(space: Workspace, weight: F8 | None, ties: Ties = "split") -> F8:
    """The winning class of each task as a row of shares, gold where it is known; None: all weigh one."""
    score = space.shard.count_votes() if weight is None else scores(space.shard, weight)
    won = tie_shares(score)
    if ties == "first":
        won = np.eye(score.shape[1])[won.argmax(axis=1)]
    return clamped(space, won)


def agreement(data: Spread, weight: F8 | None, ties: Ties = "split") -> Agreement:
    """How workers agree with the consensus under these weights."""
    return data.sum(partial(_agree, weight, ties), plus)


def _agree(weight: F8 | None, ties: Ties, space: Workspace) -> Agreement:
    return agreeing(space.shard, consensus(space, weight, ties))


def refine(data: Spread, weigh: Callable[[F8, F8], F8], scale: float, max_iter: int) -> Weights:
    """Vote and weigh in turn until the winners stay: weigh(accuracy, number of labels) gives the weights."""
    notes = journal.notes()
    held = notes.read()
    if held is None:
        found, before, iteration, converged = agreement(data, None), None, 0, False
    else:  # a loop that was killed goes on to the same bits
        found = Agreement(**{each.name: held[each.name] for each in fields(Agreement)})
        before, iteration, converged = held["weight"], int(held["passes"]), bool(held["converged"])
    while iteration < max_iter and not converged:
        iteration += 1
        weight = weigh(found.share(), found.n)
        found = data.sum(partial(_turn, before, weight), plus)
        before = weight
        converged = not found.moved[0]
        notes.write(iteration, converged, weight=weight, converged=converged, **vars(found))
    assert before is not None  # there is one turn at least
    return Weights(before, scale, iteration, converged)


def _turn(before: F8 | None, weight: F8, space: Workspace) -> Agreement:
    """Agreement with the new winners, and how many tasks have others than before; they are made again if forgotten."""
    old = None if before is None else space.memory.recall(before)
    old = consensus(space, before) if old is None else old
    new = consensus(space, weight)
    space.memory.keep(weight, new)
    return agreeing(space.shard, new, int((new != old).any(axis=1).sum()))
