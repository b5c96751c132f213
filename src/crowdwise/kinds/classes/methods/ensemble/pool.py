"""The average of what several methods have learnt, made part by part; what concerns all tasks is a sum over parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .....em.kernels import Workspace
from .....em.loop import Additive, plus
from .....stats.logspace import shares
from .....stats.ties import tie_shares, winners
from ..spread import Judge, Judged, Spread, clamped, judged
from .confidence import AVERAGE, shipped, skill

F8 = npt.NDArray[np.float64]

# Entropy of the classes, as a share of an even one's: of the votes, above which nothing is uneven; of the model's class
# prior, where it begins to take over and where it has.
EVEN_VOTES, BEGINS, ENDS = 0.95, 0.75, 0.65


@dataclass(frozen=True)
class Shares(Additive):
    """Sums over tasks of the votes' shares, of the model's posteriors, and of pairs of labels: (that agree, all)."""

    votes: F8
    model: F8
    pairs: F8


@dataclass(frozen=True)
class Tally(Additive):
    """Sums over tasks: how far each method agrees with the pool, the posterior, its top over open tasks and their
    number."""

    agrees: F8
    mass: F8
    top: F8


@dataclass(frozen=True, eq=False)
class Pool:
    """judges[name] of everybody asked; `weight` of the members, how far it leans to `model`, and how it is read.

    `doubt` None reads the confidence off the shipped table, for a crowd of such `skill`; `views` names those by whom
    workers are judged.
    """

    judges: dict[str, Judge]
    weight: dict[str, float]
    model: str | None
    lean: float = 0.0
    skill: float = AVERAGE
    doubt: float | None = None
    views: tuple[str, ...] = ()

    def __call__(self, space: Workspace) -> Judged:
        """What the pool says of a part's tasks."""
        found = self._found(space)
        return Judged(self.average(space, found), views=tuple(found[name] for name in self.views))

    def average(self, space: Workspace, found: dict[str, F8]) -> F8:
        """The calibrated average of posteriors that were made already."""
        return self._read(space, self._mixed(found))

    def shares(self, space: Workspace) -> Shares:
        """For `settled`."""
        counts = space.shard.count_votes()
        votes, each = shares(counts), counts.sum(axis=1)
        model = votes if self.model is None else self._found(space, keep=True, only=self.model)[self.model]
        pairs = [np.maximum(counts * (counts - 1), 0.0).sum() / 2, np.maximum(each * (each - 1), 0.0).sum() / 2]
        return Shares(votes.sum(axis=0), model.sum(axis=0), np.array(pairs))

    def tally(self, space: Workspace) -> Tally:
        """Who agrees with the pool, and what is expected of it."""
        found = self._found(space, keep=True)
        pool = self._mixed(found)
        posterior, won = self._read(space, pool), tie_shares(pool)
        agrees = [(tie_shares(said) * won).sum() for said in found.values()]
        top = posterior.max(axis=1)
        top = top if space.gold is None else top[space.gold >= posterior.shape[1]]
        return Tally(np.array(agrees), posterior.sum(axis=0), np.array([top.sum(), len(top)]))

    def tallied(self, data: Spread) -> Tally:
        """The same over all parts."""
        return data.sum(self.tally, plus)

    def _found(self, space: Workspace, keep: bool = False, only: str | None = None) -> dict[str, F8]:
        names = self.judges if only is None else (only,)
        return {name: judged(self.judges[name], space, keep).posterior for name in names}

    def _mixed(self, found: dict[str, F8]) -> F8:
        pool = np.zeros_like(next(iter(found.values())))
        for member, weight in self.weight.items():
            pool += weight * found[member]
        return pool if self.model is None else (1 - self.lean) * pool + self.lean * found[self.model]

    def _read(self, space: Workspace, pool: F8) -> F8:
        if self.doubt is not None:
            return clamped(space, (1 - self.doubt) * pool + self.doubt / pool.shape[1])
        votes = space.shard
        n = votes.labels_per_task.astype(np.float64) if votes.weight is None else votes.count_votes().sum(axis=1)
        return clamped(space, shipped().believed(pool, n, self.skill))


def settled(data: Spread, pool: Pool) -> Pool:
    """The pool with its lean and the crowd's skill, both from one look at all votes."""
    found = data.sum(pool.shares, plus)
    agreeing, pairs = found.pairs.tolist()
    lean = 0.0 if pool.model is None else leaning(found.votes / data.n_tasks, found.model / data.n_tasks)
    return replace(pool, lean=lean, skill=skill(agreeing, pairs, data.n_classes))


def leaning(votes: F8, model: F8) -> float:
    """How far the classes are uneven, 0 to 1, by their shares of the votes and of the model's posterior together.

    A model that takes another class than the voters for the commonest has drifted; few votes a task let it.
    """
    if len(votes) < 2 or evenness(votes) > EVEN_VOTES:
        return 0.0
    if not (winners(votes[None]) & winners(model[None])).any():
        return 0.0
    return float(np.clip((BEGINS - evenness(model)) / (BEGINS - ENDS), 0, 1))


def evenness(share: F8) -> float:
    """Entropy as a share of an even distribution's."""
    p = share[share > 0]
    return float(-(p * np.log(p)).sum() / np.log(len(share)))


def expectation(tally: Tally) -> dict[str, Any]:
    """How many of the labels are expected to be right, gold apart, with a 90 % interval."""
    total, n = tally.top
    if not n:
        return {}
    mean, low, high = shipped().expected(float(total / n))
    return {"expected_accuracy": {"mean": mean, "low": low, "high": high, "level": 0.9}}
