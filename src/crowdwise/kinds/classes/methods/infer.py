"""Posteriors of new tasks of known workers, with everything learnt held fixed; on codes, no name is looked at twice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core import method_registry as registry
from ....core.errors import DataError, ParameterError
from ....core.model import Model
from ....core.order import order_by
from ....core.result import Result
from ....core.vocabulary import Codes, lookup, quote, widened
from ....em.kernels import Workspace, e_step
from ....stats.gold_calibration import GoldCalibration
from ....stats.logspace import normalise_rows
from ....stats.temperature import soften
from ..annotations import Annotations
from ..answers import Classes
from ..estimate import ClassWorkers, LazySkill
from ..maths.skill import Skill
from .voting import posterior_of

# ----------------------------------------------------------------
# Fitted models of classes: what a Result has learnt, ready to judge other votes and single labels.

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


# ----------------------------------------------------------------
# Workers who were not there when a method was fitted: refused, or taken for the average worker.

Policy = Literal["error", "average"]


def refuse_strangers(result: Result, workers: pl.Series, known: npt.NDArray[np.bool_], policy: Policy) -> None:
    """Raise where some of these workers are not known and nobody said to take them for the average one."""
    if policy not in ("error", "average"):
        raise ParameterError(f"unknown_workers must be 'error' or 'average', got {policy!r}")
    if policy == "average" or known.all():
        return
    strangers = workers.filter(~pl.Series(known))
    raise DataError(
        f"{len(strangers)} workers were not there when {result.method} was fitted: {quote(strangers)}; "
        "pass unknown_workers='average' to treat them as the average worker"
    )


# What `extra` says of the tasks or workers of the fit alone.
_OF_THE_FIT = ("vote_weight", "classifier", "gold_check", "can_ship", "blind_confidence", "blind_same", "blind_right",
               "blind_label", "blind_hit", "blind_order")  # fmt: skip


def infer(result: Result, annotations: Annotations, unknown_workers: Policy) -> Result:
    """What the model of `result` says of other annotations."""
    workers, moved, places = widened(result.workers, annotations.workers)
    known = np.zeros(len(workers), dtype=bool)
    known[np.arange(len(workers)) if moved is None else moved] = True
    at = np.arange(len(annotations.workers), dtype=np.int32) if places is None else places
    refuse_strangers(result, annotations.workers, known[at], unknown_workers)
    votes = _recoded(annotations, result, workers, at)
    if result.model is None:
        raise ParameterError(f"{result.method} keeps nothing that could judge new tasks; fit it on them instead")
    # A calibrated result judges new tasks with its own calibration.
    posterior = soften(result.model.posterior(votes), result.extra.get("temperature", 1.0))
    check = result.extra.get("gold_check") or {}
    if "slope" in check:
        posterior = GoldCalibration(check["slope"], check["shift"], check["centre"]).apply(posterior)
    old = np.zeros(len(workers), dtype=np.int64)
    old[known] = np.arange(len(result.workers))
    return replace(
        result,
        tasks=votes.tasks,
        workers=workers,
        estimate=replace(result.estimate, posterior=posterior, difficulty=None),  # type: ignore[type-var]
        picture=_picture(result, old, known),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra=_extra(result, old, known),
    )


def _recoded(annotations: Annotations, result: Result, workers: pl.Series, at: Codes) -> Annotations:
    """The rows over the result's classes and the workers of both."""
    classes, spoken = lookup(result.classes, annotations.classes)
    if not spoken.all():
        strange = annotations.classes.filter(~pl.Series(spoken))
        raise DataError(f"classes {quote(strange)} were not there when {result.method} was fitted; fit again")
    same = _stays(at, len(workers)), _stays(classes, len(result.classes))
    if all(same):  # and with it what is worked out of the rows already
        return annotations
    label = annotations.label if same[1] else classes[annotations.label]
    worker = annotations.worker if same[0] else at[annotations.worker]
    votes = replace(annotations, worker=worker, workers=workers, answers=Classes(label, result.classes))
    if annotations.workers.dtype == workers.dtype:
        return votes
    # Names that were numbers there and are text here may stand in another order.
    order = order_by(votes.task, votes.n_tasks, votes.worker, votes.n_workers)
    return votes if order is None else votes.take(order)


def _stays(moved: Codes, size: int) -> bool:
    """Whether every code stays what it is."""
    return len(moved) == size and bool((moved == np.arange(size)).all())


def _picture(result: Result, old: npt.NDArray[np.int64], known: Mask) -> ClassWorkers:
    return ClassWorkers(
        LazySkill(partial(_skill, result.picture, old, known)),
        confusion=None if result.confusion is None else _table(result.confusion, result, old, known),
        counts=None if result.counts is None else np.where(known[:, None, None], result.counts[old], 0.0),
    )


def _skill(picture: Any, old: npt.NDArray[np.int64], known: Mask) -> Skill:
    own = (picture.skill, picture.skill_low, picture.skill_high)
    return Skill(*(np.where(known, values[old], np.nan) for values in own))


def _extra(result: Result, old: npt.NDArray[np.int64], known: Mask) -> dict[str, Any]:
    if not isinstance(result.model, ConfusionTable | VoteWeights):
        # What is known of the old tasks and workers does not describe the new ones.
        return {name: value for name, value in result.extra.items() if not isinstance(value, np.ndarray)}
    extra = {name: value for name, value in result.extra.items() if name not in _OF_THE_FIT}
    if "theta" in extra:
        extra["theta"] = _table(extra["theta"], result, old, known)
    return extra


def _table(values: Any, result: Result, old: npt.NDArray[np.int64], known: Mask) -> Any:
    average = np.average(values, axis=0, weights=np.maximum(result.labels_per_worker, 1e-9))
    return np.where(known[:, None, None], values[old], average)
