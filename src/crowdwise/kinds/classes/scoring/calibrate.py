"""Calibration of a result's confidence: on gold, or by a temperature learned from held-out annotations."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ....core import method_registry as registry
from ....core.arrays import F8
from ....core.errors import CrowdwiseWarning, DataError, ParameterError
from ....core.kind import KindHooks
from ....core.result import Result
from ....evaluation.calibration import calibrate as decisions
from ....stats.temperature import best_temperature, soften
from ..annotations import Annotations
from ..estimate import ClassPosterior
from ..methods.base import Aggregator, SolveOptions
from ..methods.calibrated import calibrated
from ..methods.ensemble.committee import variant
from ..methods.gold import as_gold, as_prior
from ..methods.held_out import label_likelihoods, splits

# Folds are fitted until they hold out this many annotations, enough to estimate one parameter.
ENOUGH = 2_000
# Least temperature. Held-out labels can show that a model is overconfident, but not reliably that it is underconfident:
# on sets with known truth, sharpening by them made bwa and one_coin worse.
LOWEST = 1.0


def calibrate(result: Result, annotations: Annotations, gold: Any = None, *, prior: Any = None) -> Result:
    """Calibrate the confidence of a result without changing its labels.

    With `gold`, the method is fitted once without it, and its confidence is corrected by its accuracy on the gold tasks
    (kinds/classes/methods/calibrated.py). Without `gold`, the method is fitted again with a part of the annotations
    held out, and the posterior gets the temperature, at least 1, that makes the held-out labels most probable. Worker
    estimates and confusion matrices are not changed.

    Args:
        result: The result to calibrate.
        annotations: The annotations that it was fitted on.
        gold: Known labels, as a mapping or a table with columns task and label. It may be the gold of the fit. For
            other kinds with right or wrong answers (sets, spans, boxes, ...) it must be the gold of the fit.
        prior: The prior that the fit was given.

    Returns:
        The calibrated result. `extra["gold_check"]` or `extra["temperature"]` holds the estimated correction. Tasks
        with gold count as gold of the fit.

    Raises:
        ParameterError: If the result is calibrated already.
        DataError: If the annotations are not those of the fit, or are too few.

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
    for vocabulary in ("tasks", "workers", "classes"):
        if not getattr(result, vocabulary).equals(getattr(annotations, vocabulary)):
            raise DataError(
                f"the result and the annotations have different {vocabulary}; pass the annotations of the fit"
            )
    method = _method(result)
    gold_labels = as_gold(gold, annotations)
    if gold_labels is not None and len(gold_labels.tasks) and "gold" not in registry.card(result.method).needs:
        return calibrated(method, result, annotations, gold_labels, SolveOptions(prior=as_prior(prior, annotations)))
    temperature = _from_held_out(method, annotations, gold, prior)
    mask = result.gold
    if gold_labels is not None and len(gold_labels.tasks):  # tasks used for learning must not be used for evaluation
        mask = gold_labels.mask if mask is None else gold_labels.mask | mask
    extra = {**result.extra, "temperature": temperature}
    assert isinstance(result.estimate, ClassPosterior)
    estimate = replace(result.estimate, posterior=soften(result.posterior, temperature))
    return replace(result, estimate=estimate, gold=mask, extra=extra)


def _method(result: Result) -> Aggregator:
    """Return the method of a result or, if it chose a model, that model, so that the choice is not repeated."""
    chosen = result.extra.get("chosen")
    if chosen is not None:
        return variant(str(chosen), int(result.params.get("seed", 0)))
    method: Aggregator = registry.method(result.method, **result.params)
    return method


def _from_held_out(method: Aggregator, annotations: Annotations, gold: Any, prior: Any) -> float:
    parts: list[tuple[F8, F8, F8]] = []
    for train, held_out in splits(annotations, seed=method.seed, enough=ENOUGH):
        votes = annotations.take(train)
        posterior = _again(method, votes, gold, prior)
        label_probability = np.empty((len(held_out), annotations.n_classes))
        for rows, block in label_likelihoods(
            votes, posterior, annotations.worker[held_out], annotations.label[held_out]
        ):
            label_probability[rows] = block
        weight = np.ones(len(held_out)) if annotations.weight is None else annotations.weight[held_out]
        parts.append((posterior[annotations.task[held_out]], label_probability, weight))
    if not parts:
        raise DataError("no task has labels of two workers, so confidence cannot be calibrated; give gold labels")
    posterior, label_probability, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return best_temperature(posterior, label_probability, weight, lowest=LOWEST)


def _again(method: Aggregator, annotations: Annotations, gold: Any, prior: Any) -> F8:
    """Fit again without warnings, which were given by the first fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        return method.fit(annotations, gold=gold, prior=prior).posterior
