"""Posteriors of new tasks of known workers, with everything learnt held fixed; on codes, no name is looked at twice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..core.vocabulary import Codes, lookup, quote, widened
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.answers import Classes
from ..kinds.classes.estimate import ClassWorkers, LazySkill
from ..maths.order import order_by
from ..maths.skill import Skill
from ..maths.temperature import soften
from ..maths.trust.gold_calibration import GoldCalibration
from .models import ConfusionTable, VoteWeights
from .strangers import Policy, refuse_strangers

Mask = npt.NDArray[np.bool_]
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
