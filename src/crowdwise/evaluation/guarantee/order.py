"""The order in which `accept` takes tasks.

Tasks are ordered by confidence, or by the lower of two percentiles if an average of methods (`adaptive`, `committee`)
labelled them. The guarantee holds for every order that is fixed without the gold; the order only determines how much is
accepted. For the reason for two percentiles see kinds/classes/methods/ensemble/committee.py, which gives a fit with
gold the order of its fit without gold. `python -m benchmarks.guarantee order` compares orders on data sets that were
not used for this choice, and on those that were.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ...core import method_registry as registry
from ...core.arrays import F8
from ...core.errors import CrowdwiseError, DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.result import Result
from ...core.vocabulary import as_series
from ...core.votes import Votes
from ..accepting_order import AVERAGES, OWN, second_model
from .gold import hashed
from .sequential import PercentileScale, lowest_percentile, percentile_scale
from .verdicts import Verdicts

# ----------------------------------------------------------------
# Splitting the gold into a part that fits and a part that certifies, for methods that need gold.


def split_fit(given: Any, votes: Votes[Any] | None, gold: Any, share: float, seed: int) -> tuple[Result, pl.DataFrame]:
    """Fit the method on a share of the gold and return the fit and the rest of the gold; tasks are split by hashes of
    ids.
    """
    if not 0 < share < 1:
        raise ParameterError(f"the share of gold to fit must be between 0 and 1, got {share}")
    votes = given if isinstance(given, Votes) else votes
    if votes is None:
        raise DataError("splitting the gold needs the votes; name a run that has them, or pass votes=")
    table = (
        pl.DataFrame({"task": list(gold), "label": list(gold.values())}) if isinstance(gold, dict) else to_polars(gold)
    )
    hash_value = hashed(as_series(table["task"], "task"), seed)
    fit, certify = table.filter(pl.Series(hash_value < share)), table.filter(pl.Series(hash_value >= share))
    if not len(fit) or not len(certify):
        raise DataError(f"{len(table)} gold labels are too few to split")
    fit_gold = fit.select("task", "label")
    if isinstance(given, Result):
        method = registry.method(given.method, **given.params)
    else:
        method = registry.method(registry.default_method(votes, fit_gold), seed=seed)
    return method.fit(votes, gold=fit_gold), certify


Surest = Literal["auto", "confidence", "places"]


def ordered(
    verdicts: Verdicts, given: Any, votes: Votes[Any] | None, surest: Surest, scales: dict[str, Any] | None = None
) -> tuple[Verdicts, dict[str, PercentileScale], list[str]]:
    """Return (verdicts with their order, percentile scales, notes).

    With `scales`, percentiles refer to an earlier batch.
    """
    if surest not in ("auto", "confidence", "places"):
        raise ParameterError(f"surest must be auto, confidence or places, got {surest!r}")
    if surest == "confidence" or verdicts.acceptance_order is not None:
        return verdicts, {}, []
    model = _model(given)
    if model is None or votes is None:
        if surest == "auto":
            return verdicts, {}, []
        missing = "the votes" if model is not None else f"labels of {' or '.join(AVERAGES)}"
        raise DataError(f'surest="places" needs {missing}; use "confidence", or name a run that has them')
    try:
        second = _second(model, votes, verdicts)
    except CrowdwiseError as error:
        if surest == "places":
            raise
        return verdicts, {}, [f"tasks are ordered by confidence alone, {model} could not be asked ({error})"]
    confidences = {OWN: verdicts.confidence, model: second}
    is_open = verdicts.has_verdict if verdicts.used_to_fit is None else verdicts.has_verdict & ~verdicts.used_to_fit
    if scales is None:
        percentile_scales = (
            {name: percentile_scale(view[is_open]) for name, view in confidences.items()} if is_open.any() else {}
        )
    else:
        percentile_scales = {
            name: PercentileScale(**scale) if isinstance(scale, dict) else scale for name, scale in scales.items()
        }
    if not percentile_scales:
        return verdicts, {}, []
    if set(percentile_scales) - set(confidences):
        raise DataError(
            f"the certificate orders tasks by {' and '.join(percentile_scales)}, "
            f"this run has {' and '.join(confidences)}"
        )
    return replace(verdicts, acceptance_order=lowest_percentile(percentile_scales, confidences)), percentile_scales, []


def _model(given: Any) -> str | None:
    """Return the model used beside an average of methods; None for every other method."""
    return second_model(given.method, given.params) if isinstance(given, Result) else None


def _second(model: str, votes: Votes[Any], verdicts: Verdicts) -> F8:
    """Return the model's probability of each label, fitted to the same votes without gold."""
    fit: Result = registry.method(model).fit(votes)
    if fit.tasks.to_list() != verdicts.tasks.to_list():
        raise DataError("votes and labels have different tasks")
    class_code = {name: code for code, name in enumerate(fit.classes.to_list())}
    code = np.array([class_code.get(name, -1) for name in verdicts.classes.to_list()] + [-1])[verdicts.label]
    probability = np.where(code >= 0, fit.posterior[np.arange(len(code)), code], 0.0)
    return np.asarray(probability, dtype=float)
