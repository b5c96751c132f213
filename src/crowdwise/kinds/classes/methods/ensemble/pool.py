"""The average of several methods' posteriors, computed part by part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .....core.arrays import F8
from .....em.kernels import Workspace
from .....em.loop import Additive, plus
from .....stats.logspace import shares
from .....stats.ties import tie_shares, winners
from ..partitioned import PartitionedVotes, PartPosterior, Predictor, apply_predictor, clamped
from .confidence import AVERAGE, shipped, skill

# Entropy of the classes relative to a uniform distribution: that of the votes above which classes count as even; that
# of the model's class prior at which it begins to take over, and at which it has.
EVEN_VOTES, BEGINS, ENDS = 0.95, 0.75, 0.65


@dataclass(frozen=True)
class ShareSums(Additive):
    """Sums over tasks of vote shares, of the model's posteriors, and of pairs of labels: (agreeing, all)."""

    votes: F8
    model: F8
    pairs: F8


@dataclass(frozen=True)
class PoolSums(Additive):
    """Sums over tasks: agreement of each method with the pool, the posterior, and (the confidence of tasks without
    gold, their number)."""

    agrees: F8
    mass: F8
    top: F8


@dataclass(frozen=True, eq=False)
class PosteriorPool:
    """The weighted average of several methods' posteriors, as a predictor.

    Attributes:
        predictors: The predictors of the members and the model, by name.
        weight: Weights of the members.
        model: Name of the model that takes over where classes are uneven.
        lean: Weight of that model.
        skill: Skill of the crowd, for the shipped confidence table.
        doubt: Uniform share that is mixed in; None takes the confidence from the shipped table.
        worker_members: Names of the methods whose posteriors score the workers.
    """

    predictors: dict[str, Predictor]
    weight: dict[str, float]
    model: str | None
    lean: float = 0.0
    skill: float = AVERAGE
    doubt: float | None = None
    worker_members: tuple[str, ...] = ()

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks."""
        posteriors = self._posteriors(space)
        return PartPosterior(
            self.average(space, posteriors), worker_posteriors=tuple(posteriors[name] for name in self.worker_members)
        )

    def average(self, space: Workspace, posteriors: dict[str, F8]) -> F8:
        """Return the calibrated average of given posteriors."""
        return self._calibrate(space, self._mix(posteriors))

    def share_sums(self, space: Workspace) -> ShareSums:
        """Return the sums of a part that `tuned` needs."""
        counts = space.shard.count_votes()
        votes, n_labels = shares(counts), counts.sum(axis=1)
        model = votes if self.model is None else self._posteriors(space, keep=True, only=self.model)[self.model]
        pairs = [np.maximum(counts * (counts - 1), 0.0).sum() / 2, np.maximum(n_labels * (n_labels - 1), 0.0).sum() / 2]
        return ShareSums(votes.sum(axis=0), model.sum(axis=0), np.array(pairs))

    def sums(self, space: Workspace) -> PoolSums:
        """Return the agreement of each method with the pool, and the expected accuracy, of a part."""
        posteriors = self._posteriors(space, keep=True)
        pool = self._mix(posteriors)
        posterior, pool_winners = self._calibrate(space, pool), tie_shares(pool)
        agrees = [(tie_shares(member_posterior) * pool_winners).sum() for member_posterior in posteriors.values()]
        top = posterior.max(axis=1)
        top = top if space.gold is None else top[space.gold >= posterior.shape[1]]
        return PoolSums(np.array(agrees), posterior.sum(axis=0), np.array([top.sum(), len(top)]))

    def _posteriors(self, space: Workspace, keep: bool = False, only: str | None = None) -> dict[str, F8]:
        names = self.predictors if only is None else (only,)
        return {name: apply_predictor(self.predictors[name], space, keep).posterior for name in names}

    def _mix(self, posteriors: dict[str, F8]) -> F8:
        pool = np.zeros_like(next(iter(posteriors.values())))
        for member, weight in self.weight.items():
            pool += weight * posteriors[member]
        return pool if self.model is None else (1 - self.lean) * pool + self.lean * posteriors[self.model]

    def _calibrate(self, space: Workspace, pool: F8) -> F8:
        if self.doubt is not None:
            return clamped(space, (1 - self.doubt) * pool + self.doubt / pool.shape[1])
        votes = space.shard
        n = votes.labels_per_task.astype(np.float64) if votes.weight is None else votes.count_votes().sum(axis=1)
        return clamped(space, shipped().calibrate(pool, n, self.skill))


def tuned(data: PartitionedVotes, pool: PosteriorPool) -> PosteriorPool:
    """Return the pool with its lean and the crowd's skill, both from one pass over the votes."""
    sums = data.sum(pool.share_sums, plus)
    agreeing, pairs = sums.pairs.tolist()
    lean = 0.0 if pool.model is None else leaning(sums.votes / data.n_tasks, sums.model / data.n_tasks)
    return replace(pool, lean=lean, skill=skill(agreeing, pairs, data.n_classes))


def leaning(votes: F8, model: F8) -> float:
    """Return the weight (0 to 1) of the model, by how uneven the classes are in the votes and in its posterior.

    A model whose most common class differs from that of the votes has drifted and gets no weight.
    """
    if len(votes) < 2 or evenness(votes) > EVEN_VOTES:
        return 0.0
    if not (winners(votes[None]) & winners(model[None])).any():
        return 0.0
    return float(np.clip((BEGINS - evenness(model)) / (BEGINS - ENDS), 0, 1))


def evenness(share: F8) -> float:
    """Return the entropy relative to a uniform distribution."""
    p = share[share > 0]
    return float(-(p * np.log(p)).sum() / np.log(len(share)))


def expectation(sums: PoolSums) -> dict[str, Any]:
    """Return the expected share of right labels on tasks without gold, with a 90 % interval."""
    total, n = sums.top
    if not n:
        return {}
    mean, low, high = shipped().expected(float(total / n))
    return {"expected_accuracy": {"mean": mean, "low": low, "high": high, "level": 0.9}}
