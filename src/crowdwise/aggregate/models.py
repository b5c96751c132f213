"""Fitted models of classes: what a Result has learnt, ready to judge other votes and single labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.model import Model
from ..core.result import Result
from ..core.vocabulary import lookup
from ..kinds.classes.annotations import Annotations
from ..maths.kernels import Workspace, e_step
from ..maths.logspace import normalise_rows
from . import registry
from .voting.base import posterior_of

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Below this a likelihood or a posterior counts as this: a logarithm must exist.
FLOOR = 1e-18


@dataclass(frozen=True, eq=False)
class ClassModel(Model[Annotations]):
    """A model of these workers, with the number of labels that each gave; a stranger is their average."""

    result: Result

    def spread(self, values: F8, workers: pl.Series) -> F8:
        """values[worker] for these workers; who was not there has the average by labels."""
        old, was_there = lookup(self.result.workers, workers)
        if was_there.all() and len(old) == len(values):
            return values[old]
        average = np.average(values, axis=0, weights=np.maximum(self.result.labels_per_worker, 1e-9))
        return np.where(was_there.reshape(-1, *[1] * (values.ndim - 1)), values[old], average)

    def posterior(self, votes: Annotations) -> F8:
        """posterior[task, class] of these votes, whose classes are those of the fit."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class ConfusionTable(ClassModel):
    """theta[worker, true, observed] and weight[class], as the E-step takes them."""

    theta: F8
    weight: F8

    @classmethod
    def of(cls, result: Result) -> ConfusionTable:
        """Bayesian methods judge by exp E log A and exp E log d, not by the means that they publish."""
        theta = result.extra.get("theta", result.confusion)
        return cls(result, np.asarray(theta), result.extra.get("class_weight", result.class_prior))

    def posterior(self, votes: Annotations) -> F8:
        """The E-step; tasks without labels have the class prior."""
        theta = np.ascontiguousarray(self.spread(self.theta, votes.workers).transpose(0, 2, 1))
        found = e_step(Workspace.of(votes), theta, np.maximum(self.weight, FLOOR))
        silent = votes.labels_per_task == 0
        return np.where(silent[:, None], self.result.class_prior, found) if silent.any() else found

    def without_own(self, votes: Annotations, posterior: F8 | None = None) -> F8:
        """others[row, class] ∝ posterior[task, class] / theta[worker, class, label]: nothing the row's worker said of
        its task is left in it. `posterior` is this model's own unless another is given."""
        if posterior is None:
            posterior = self.posterior(votes)
        k = votes.n_classes
        theta = self.spread(self.theta, votes.workers)
        by_cell = np.log(np.maximum(theta.transpose(0, 2, 1).reshape(-1, k), FLOOR))
        weight = np.ones(len(votes)) if votes.weight is None else votes.weight
        own = by_cell[votes.cell] * weight[:, None]
        pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
        if len(pair) and (pair[1:] == pair[:-1]).any():  # several answers of one worker to one task go together
            first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
            own = np.repeat(np.add.reduceat(own, first, axis=0), np.diff(np.r_[first, len(pair)]), axis=0)
        return normalise_rows(np.log(np.maximum(posterior, FLOOR))[votes.task] - own)[0]

    def row_loglik(self, votes: Annotations) -> F8:
        """log P(label | everybody else's labels of the task)."""
        theta = self.spread(self.theta, votes.workers)
        said = theta.transpose(0, 2, 1).reshape(-1, votes.n_classes)[votes.cell]  # row, true
        return np.asarray(np.log(np.maximum((self.without_own(votes) * said).sum(axis=1), FLOOR)))


@dataclass(frozen=True, eq=False)
class VoteWeights(ClassModel):
    """Weighted votes: weight[worker], a scale, and weight[class] before the first vote."""

    weight: F8
    scale: float | None
    prior: F8 | None

    def posterior(self, votes: Annotations) -> F8:
        """The weighted vote."""
        return posterior_of(votes, self.spread(self.weight, votes.workers), self.scale, self.prior)


def model_of(result: Result) -> ClassModel | None:
    """What a result has learnt: in the method's own form, as confusions, as weights of votes, or nothing."""
    own: ClassModel | None = None
    if result.method in registry.METHODS:
        own = registry.get(result.method).fitted(result)
    if own is not None:
        return own
    if result.confusion is not None:
        return ConfusionTable.of(result)
    weight = result.extra.get("vote_weight")
    if weight is None:
        return None
    return VoteWeights(result, weight, result.extra.get("vote_scale"), result.extra.get("vote_prior"))
