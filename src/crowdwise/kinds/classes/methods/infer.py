"""Fitted models of classes: posteriors of new tasks, with everything learnt held fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core import method_registry as registry
from ....core.arrays import F8, I8, Mask
from ....core.errors import DataError, ParameterError
from ....core.model import Model
from ....core.order import order_by
from ....core.result import Result, UnknownWorkers
from ....core.vocabulary import Codes, lookup, quote, widened
from ....em.kernels import Workspace, e_step, transposed
from ....em.rows import row_weights
from ....stats.gold_calibration import GoldCalibration
from ....stats.logspace import normalise_rows
from ....stats.temperature import soften
from ..annotations import Annotations
from ..answers import Classes
from ..estimate import ClassWorkers, LazySkill
from ..maths.skill import Skill
from .voting import posterior_of

# Floor of likelihoods and posteriors before their logarithm is taken.
FLOOR = 1e-18


@dataclass(frozen=True, eq=False)
class ClassModel(Model[Annotations]):
    """The model of a result. Unknown workers are treated as the average worker."""

    result: Result

    def values_of(self, values: F8, workers: pl.Series) -> F8:
        """Return values[worker] of these workers; unknown ones get the average, weighted by labels."""
        codes, is_known = lookup(self.result.workers, workers)
        if is_known.all() and len(codes) == len(values):
            return values[codes]
        return _select(values, self.result, codes, is_known)

    def posterior(self, votes: Annotations) -> F8:
        """Return posterior[task, class] of votes whose classes are those of the fit."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class FittedConfusion(ClassModel):
    """A confusion-matrix model: theta[worker, true, observed] and weight[class] of the E-step."""

    theta: F8
    weight: F8

    @classmethod
    def of(cls, result: Result) -> FittedConfusion:
        """Take the model of a result; Bayesian methods infer with exp E log A and exp E log d, not with the means."""
        theta = result.extra.get("theta", result.confusion)
        return cls(result, np.asarray(theta), result.extra.get("class_weight", result.class_prior))

    def posterior(self, votes: Annotations) -> F8:
        """Run the E-step; tasks without labels get the class prior."""
        theta = transposed(self.values_of(self.theta, votes.workers))
        posterior = e_step(Workspace.of(votes), theta, np.maximum(self.weight, FLOOR))
        empty = votes.labels_per_task == 0
        return np.where(empty[:, None], self.result.class_prior, posterior) if empty.any() else posterior

    def without_own(self, votes: Annotations, posterior: F8 | None = None) -> F8:
        """Return the posterior of each row's task without the labels of the row's worker, [row, class].

        It is proportional to posterior[task, class] / theta[worker, class, label]. `posterior` is this model's own
        unless another is given.
        """
        if posterior is None:
            posterior = self.posterior(votes)
        k = votes.n_classes
        theta = self.values_of(self.theta, votes.workers)
        by_cell = np.log(np.maximum(theta.transpose(0, 2, 1).reshape(-1, k), FLOOR))
        weight = row_weights(votes)
        log_likelihood = by_cell[votes.cell] * weight[:, None]
        pair = votes.task.astype(np.int64) * max(votes.n_workers, 1) + votes.worker
        if (pair[1:] == pair[:-1]).any():  # several answers of one worker to one task are left out together
            first = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
            n_rows = np.diff(np.r_[first, len(pair)])
            log_likelihood = np.repeat(np.add.reduceat(log_likelihood, first, axis=0), n_rows, axis=0)
        return normalise_rows(np.log(np.maximum(posterior, FLOOR))[votes.task] - log_likelihood)[0]

    def row_loglik(self, votes: Annotations) -> F8:
        """Return log P(label | the other workers' labels of the task) of each row."""
        theta = self.values_of(self.theta, votes.workers)
        likelihood = theta.transpose(0, 2, 1).reshape(-1, votes.n_classes)[votes.cell]  # row, true
        return np.asarray(np.log(np.maximum((self.without_own(votes) * likelihood).sum(axis=1), FLOOR)))


@dataclass(frozen=True, eq=False)
class VoteWeights(ClassModel):
    """A weighted vote: weight[worker], a scale, and prior[class] added to the scores."""

    weight: F8
    scale: float | None
    prior: F8 | None

    def posterior(self, votes: Annotations) -> F8:
        """Take the weighted vote."""
        return posterior_of(votes, self.values_of(self.weight, votes.workers), self.scale, self.prior)


def model_of(result: Result) -> ClassModel | None:
    """Return the model of a result: the method's own, its confusions, its vote weights, or None."""
    model: ClassModel | None = None
    if result.method in registry.METHODS:
        model = registry.get(result.method).fitted(result)
    if model is not None:
        return model
    if result.confusion is not None:
        return FittedConfusion.of(result)
    weight = result.extra.get("vote_weight")
    if weight is None:
        return None
    return VoteWeights(result, weight, result.extra.get("vote_scale"), result.extra.get("vote_prior"))


# Entries of `extra` that describe only the tasks or workers of the fit.
_OF_THE_FIT = ("vote_weight", "classifier", "gold_check", "can_ship", "blind_confidence", "blind_same", "blind_right",
               "blind_label", "blind_hit", "blind_order")  # fmt: skip


def infer(result: Result, annotations: Annotations, unknown_workers: UnknownWorkers) -> Result:
    """Estimate other annotations with the model of a result.

    Args:
        result: The result of a fit.
        annotations: Votes on any tasks.
        unknown_workers: Whether workers who were not in the fit are an error or treated as the average worker.
    """
    workers, result_codes, annotation_codes = widened(result.workers, annotations.workers)
    is_known = np.zeros(len(workers), dtype=bool)
    is_known[np.arange(len(workers)) if result_codes is None else result_codes] = True
    at = np.arange(len(annotations.workers), dtype=np.int32) if annotation_codes is None else annotation_codes
    result.check_workers(annotations.workers, is_known[at], unknown_workers)
    votes = _recoded(annotations, result, workers, at)
    if result.model is None:
        raise ParameterError(f"{result.method} keeps no model that could estimate new tasks; fit it on them instead")
    # A calibrated result applies its calibration to new tasks.
    posterior = soften(result.model.posterior(votes), result.extra.get("temperature", 1.0))
    check = result.extra.get("gold_check") or {}
    if "slope" in check:
        posterior = GoldCalibration(check["slope"], check["shift"], check["centre"]).apply(posterior)
    old = np.zeros(len(workers), dtype=np.int64)
    old[is_known] = np.arange(len(result.workers))
    return replace(
        result,
        tasks=votes.tasks,
        workers=workers,
        estimate=replace(result.estimate, posterior=posterior, difficulty=None),  # type: ignore[type-var]
        worker_summary=_worker_summary(result, old, is_known),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra=_extra(result, old, is_known),
    )


def _recoded(annotations: Annotations, result: Result, workers: pl.Series, at: Codes) -> Annotations:
    """Return the annotations over the result's classes and the workers of both."""
    classes, is_known = lookup(result.classes, annotations.classes)
    if not is_known.all():
        unknown = annotations.classes.filter(~pl.Series(is_known))
        raise DataError(f"classes {quote(unknown)} were not there when {result.method} was fitted; fit again")
    same_workers, same_classes = _is_identity(at, len(workers)), _is_identity(classes, len(result.classes))
    if same_workers and same_classes:  # keeps what is cached on the annotations
        return annotations
    label = annotations.label if same_classes else classes[annotations.label]
    worker = annotations.worker if same_workers else at[annotations.worker]
    votes = replace(annotations, worker=worker, workers=workers, answers=Classes(label, result.classes))
    if annotations.workers.dtype == workers.dtype:
        return votes
    # Names that were numbers in the fit and are text here may sort differently.
    order = order_by(votes.task, votes.n_tasks, votes.worker, votes.n_workers)
    return votes if order is None else votes.take(order)


def _is_identity(codes: Codes, size: int) -> bool:
    """Whether every code is mapped to itself."""
    return len(codes) == size and bool((codes == np.arange(size)).all())


def _worker_summary(result: Result, old: I8, is_known: Mask) -> ClassWorkers:
    return ClassWorkers(
        LazySkill(partial(_skill, result.worker_summary, old, is_known)),
        confusion=None if result.confusion is None else _select(result.confusion, result, old, is_known),
        counts=None if result.counts is None else np.where(is_known[:, None, None], result.counts[old], 0.0),
    )


def _skill(summary: Any, old: I8, is_known: Mask) -> Skill:
    skills = (summary.skill, summary.skill_low, summary.skill_high)
    return Skill(*(np.where(is_known, values[old], np.nan) for values in skills))


def _extra(result: Result, old: I8, is_known: Mask) -> dict[str, Any]:
    if not isinstance(result.model, FittedConfusion | VoteWeights):
        # Arrays describe the tasks and workers of the fit, not the new ones.
        return {name: value for name, value in result.extra.items() if not isinstance(value, np.ndarray)}
    extra = {name: value for name, value in result.extra.items() if name not in _OF_THE_FIT}
    if "theta" in extra:
        extra["theta"] = _select(extra["theta"], result, old, is_known)
    return extra


def _select(values: F8, result: Result, codes: npt.NDArray[np.integer], is_known: Mask) -> F8:
    """Return values[code], and for unknown workers the average over the workers of the fit."""
    is_known = is_known.reshape(-1, *[1] * (values.ndim - 1))
    return np.where(is_known, values[codes], worker_average(values, result))


def worker_average(values: F8, result: Result) -> F8:
    """Return the average of values[worker] over the workers of a fit, weighted by their labels."""
    return np.asarray(np.average(values, axis=0, weights=np.maximum(result.labels_per_worker, 1e-9)))
