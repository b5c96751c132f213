"""Calibration of a result's confidence: on gold, or by a temperature learnt from held-out annotations."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ....core import method_registry as registry
from ....core.errors import CrowdwiseWarning, DataError, ParameterError
from ....core.kind import KindHooks
from ....core.result import Result
from ....evaluation.calibration import calibrate as decisions
from ....stats.temperature import best_temperature, soften
from ..annotations import Annotations
from ..estimate import ClassPosterior
from ..methods.base import Aggregator, Run
from ..methods.calibrated import calibrated
from ..methods.ensemble.committee import variant
from ..methods.gold import as_gold, as_prior
from ..methods.held_out import readings, splits

F8 = npt.NDArray[np.float64]

# Folds are fitted until they hold out so many annotations: one number needs no more.
ENOUGH = 2_000
# Held-out labels show that a model is too sure. That it is not sure enough they only seem to show: on sets with known
# truth, sharpening by them made bwa and one_coin worse.
LOWEST = 1.0


def calibrate(result: Result, annotations: Annotations, gold: Any = None, *, prior: Any = None) -> Result:
    """The same result with calibrated confidence; its labels stay as they were.

    With `gold` (a mapping or table task, label; it may be the gold that the fit was given), the method is fitted once
    without it, and its confidence is corrected by which gold tasks it labels right
    (kinds/classes/methods/calibrated.py); `extra["gold_check"]` holds what was learnt. Without `gold`, the method is
    fitted again on annotations of which a part is held out, and the posterior gets the temperature that makes the
    held-out labels most probable; it is never below 1, and `extra["temperature"]` holds it. `prior` is the one that the
    fit was given. Workers and confusions stay as they are. Tasks with gold count as given to the fit. Of other kinds
    whose answers are right or wrong (sets, spans, boxes, ...) the result must have been fitted with this gold.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> cw.calibrate(cw.DawidSkene().fit(votes), votes).labels.tolist()
    [0, 1]
    """
    if result.kind.hooks.supports(KindHooks.decisions):
        return decisions(result, annotations, gold, prior=prior)
    if "temperature" in result.extra:
        raise ParameterError(f"this result is calibrated already, at temperature {result.extra['temperature']:.3g}")
    if "slope" in result.extra.get("gold_check", {}):
        raise ParameterError(f"this result is calibrated already, on {result.extra['gold_check']['n']} gold tasks")
    for what in ("tasks", "workers", "classes"):
        if not getattr(result, what).equals(getattr(annotations, what)):
            raise DataError(f"the result and the annotations have different {what}; pass those that it was fitted on")
    method = _method(result)
    known = as_gold(gold, annotations)
    if known is not None and len(known.known) and "gold" not in registry.card(result.method).needs:
        return calibrated(method, result, annotations, known, Run(prior=as_prior(prior, annotations)))
    temperature = _from_held_out(method, annotations, gold, prior)
    mask = result.gold
    if known is not None and len(known.known):  # what was learnt from gold is not to be judged by it
        mask = known.mask if mask is None else known.mask | mask
    extra = {**result.extra, "temperature": temperature}
    assert isinstance(result.estimate, ClassPosterior)
    estimate = replace(result.estimate, posterior=soften(result.posterior, temperature))
    return replace(result, estimate=estimate, gold=mask, extra=extra)


def _method(result: Result) -> Aggregator:
    """The method of a result; where it chose a model, that model: the choice is not made again."""
    chosen = result.extra.get("chosen")
    if chosen is not None:
        return variant(str(chosen), int(result.params.get("seed", 0)))
    found: Aggregator = registry.method(result.method, **result.params)
    return found


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
