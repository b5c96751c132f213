"""Posteriors of new tasks of known workers, with everything learnt held fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from ..core.vocabulary import lookup, quote, union
from ..kinds.classes import Annotations
from ..maths.kernels import Workspace, em_pass
from ..maths.temperature import soften
from . import registry
from .base import Aggregator
from .voting.base import posterior_of


def infer(result: Result, annotations: Annotations, unknown_workers: Literal["error", "average"]) -> Result:
    """The E-step (or the weighted vote) of `result` on other annotations."""
    if unknown_workers not in ("error", "average"):
        raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown_workers!r}")
    known = lookup(result.workers, annotations.workers)[1]
    if not known.all() and unknown_workers == "error":
        strangers = annotations.workers.filter(~known)
        raise DataError(
            f"{len(strangers)} workers were not there when {result.method} was fitted: {quote(strangers)}; "
            "pass unknown_workers='average' to treat them as the average worker"
        )
    spoken = lookup(result.classes, annotations.classes)[1]
    if not spoken.all():
        strange = annotations.classes.filter(~spoken)
        raise DataError(f"classes {quote(strange)} were not there when {result.method} was fitted; fit again")
    workers = union(result.workers, annotations.workers)
    frame = annotations.to_frame()
    votes = Annotations.from_arrays(
        frame["task"].cast(annotations.tasks.dtype),
        frame["worker"].cast(workers.dtype),
        frame["label"].cast(result.classes.dtype),
        weight=annotations.weight,
        tasks=annotations.tasks,
        workers=workers,
        classes=result.classes,
        duplicates="keep",
    )
    old, was_there = lookup(result.workers, workers)
    # A calibrated result judges new tasks at its own temperature.
    posterior = soften(_posterior(result, votes, old, was_there), result.extra.get("temperature", 1.0))
    nobody = np.full(len(workers), np.nan)
    spread: dict[str, Any] = {
        name: np.where(was_there, getattr(result, name)[old], nobody) for name in ("skill", "skill_low", "skill_high")
    }
    return replace(
        result,
        tasks=votes.tasks,
        workers=workers,
        posterior=posterior,
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        confusion=None if result.confusion is None else _table(result.confusion, result, old, was_there),
        counts=None if result.counts is None else np.where(was_there[:, None, None], result.counts[old], 0.0),
        difficulty=None,
        gold=None,
        extra=_extra(result, old, was_there),
        **spread,
    )


def _posterior(result: Result, votes: Annotations, old: np.ndarray, was_there: np.ndarray) -> np.ndarray:
    own = _judge(result)
    posterior = None if own is None else own(result, votes, old, was_there)
    if posterior is not None:
        return posterior
    if result.confusion is not None:
        # Bayesian methods judge by exp E log A and exp E log d, not by the means that they publish.
        table = result.extra.get("theta", result.confusion)
        theta = np.ascontiguousarray(_table(table, result, old, was_there).transpose(0, 2, 1))
        weight = result.extra.get("class_weight", result.class_prior)
        posterior = em_pass(Workspace.of(votes), theta, weight).posterior
        return np.where((votes.labels_per_task > 0)[:, None], posterior, result.class_prior)
    weight = result.extra.get("vote_weight")
    if weight is None:
        raise ParameterError(f"{result.method} keeps nothing that could judge new tasks; fit it on them instead")
    each = np.where(was_there, weight[old], np.average(weight, weights=np.maximum(result.labels_per_worker, 1e-9)))
    return posterior_of(votes, each, result.extra.get("vote_scale"), result.extra.get("vote_prior"))


def _judge(result: Result) -> Callable[..., np.ndarray | None] | None:
    """The method's own way to judge new tasks, if it has one."""
    if result.method not in registry.METHODS:
        return None
    own = registry.get(result.method).judge
    return None if own is Aggregator.judge else own


def _extra(result: Result, old: np.ndarray, was_there: np.ndarray) -> dict[str, Any]:
    if _judge(result) is not None:
        # What is known of the old tasks and workers does not describe the new ones.
        return {name: value for name, value in result.extra.items() if not isinstance(value, np.ndarray)}
    extra = {name: value for name, value in result.extra.items() if name not in ("vote_weight", "classifier")}
    if "theta" in extra:
        extra["theta"] = _table(extra["theta"], result, old, was_there)
    return extra


def _table(confusion: np.ndarray, result: Result, old: np.ndarray, was_there: np.ndarray) -> np.ndarray:
    average = np.average(confusion, axis=0, weights=np.maximum(result.labels_per_worker, 1e-9))
    return np.where(was_there[:, None, None], confusion[old], average)
