"""Calibration: a temperature for the posterior of a result, learnt from gold or from held-out annotations."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..aggregate import registry
from ..aggregate.base import Aggregator
from ..aggregate.ensemble.committee import variant
from ..aggregate.gold import Gold, as_gold
from ..core.errors import CrowdwiseWarning, DataError, ParameterError
from ..core.result import Result
from ..engine.selection import readings, splits
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.estimate import ClassPosterior
from ..maths.temperature import best_temperature, soften

F8 = npt.NDArray[np.float64]

# Folds are fitted until they hold out so many annotations: one number needs no more.
ENOUGH = 2_000
# Held-out labels show that a model is too sure. That it is not sure enough they only seem to show: on sets with known
# truth, sharpening by them made bwa and one_coin worse.
LOWEST, LOWEST_WITH_GOLD = 1.0, 0.1


def calibrate(result: Result, annotations: Annotations, gold: Any = None, *, prior: Any = None) -> Result:
    """The same result with honest confidence: its posterior at a temperature, its labels as they were.

    Without `gold`, the method is fitted again on annotations of which a part is held out, and the temperature makes
    the held-out labels most probable; it is never below 1. With `gold` (a mapping or table task, label; it may be the
    gold that the fit was given), the method is fitted once without it, and the temperature makes the gold most
    probable. `prior` is the one that the fit was given. `extra["temperature"]` holds the temperature; workers and
    confusions stay as they are. Tasks with gold count as told to the fit.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> cw.calibrate(cw.DawidSkene().fit(votes), votes).labels.tolist()
    [0, 1]
    """
    if "temperature" in result.extra:
        raise ParameterError(f"this result is calibrated already, at temperature {result.extra['temperature']:.3g}")
    for what in ("tasks", "workers", "classes"):
        if not getattr(result, what).equals(getattr(annotations, what)):
            raise DataError(f"the result and the annotations have different {what}; pass those that it was fitted on")
    method = _method(result)
    known = as_gold(gold, annotations)
    if known is not None and len(known.known) and "gold" not in registry.card(result.method).needs:
        temperature = _from_gold(method, annotations, known, prior)
    else:
        temperature = _from_held_out(method, annotations, gold, prior)
    told = result.gold
    if known is not None and len(known.known):  # what was learnt from gold is not to be judged by it
        told = known.mask if told is None else known.mask | told
    extra = {**result.extra, "temperature": temperature}
    assert isinstance(result.estimate, ClassPosterior)
    estimate = replace(result.estimate, posterior=soften(result.posterior, temperature))
    return replace(result, estimate=estimate, gold=told, extra=extra)


def _method(result: Result) -> Aggregator:
    """The method of a result; where it chose a model, that model: the choice is not made again."""
    chosen = result.extra.get("chosen")
    if chosen is not None:
        return variant(str(chosen), int(result.params.get("seed", 0)))
    found: Aggregator = registry.method(result.method, **result.params)
    return found


def _from_gold(method: Aggregator, annotations: Annotations, gold: Gold, prior: Any) -> float:
    tasks = gold.known
    seen = np.eye(annotations.n_classes)[gold.label[tasks]]
    posterior = _again(method, annotations, None, prior)[tasks]
    return best_temperature(posterior, seen, np.ones(len(tasks)), lowest=LOWEST_WITH_GOLD)


def _from_held_out(method: Aggregator, annotations: Annotations, gold: Any, prior: Any) -> float:
    parts: list[tuple[F8, F8, F8]] = []
    for kept, out in splits(annotations, seed=method.seed, enough=ENOUGH):
        votes = annotations.take(kept)
        posterior = _again(method, votes, gold, prior)
        said = np.empty((len(out), annotations.n_classes))
        for rows, block in readings(votes, posterior, annotations.worker[out], annotations.label[out]):
            said[rows] = block
        weight = np.ones(len(out)) if annotations.weight is None else annotations.weight[out]
        parts.append((posterior[annotations.task[out]], said, weight))
    if not parts:
        raise DataError("no task has labels of two workers, so confidence cannot be calibrated; give gold labels")
    posterior, said, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return best_temperature(posterior, said, weight, lowest=LOWEST)


def _again(method: Aggregator, annotations: Annotations, gold: Any, prior: Any) -> F8:
    """Another fit, silent: what is to be said of these annotations was said by the first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        return method.fit(annotations, gold=gold, prior=prior).posterior
