"""Calibration of confidence on gold over parts: what kinds/classes/methods/calibrated.py does in memory.

The method is fitted once more without gold. The confidence and the label of each task are stored on disk (12 bytes, 20
where a second model orders the tasks); everything else that calibration needs is a sum over parts. The correction is
applied to each part when the part is estimated.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..core import method_registry as registry
from ..core.arrays import F8
from ..core.callback import Callback
from ..core.errors import CrowdwiseWarning, unwritable
from ..em.drivers import Executor
from ..em.loop import plus
from ..em.sources import Source, WithoutGold
from ..evaluation.accepting_order import OWN, second_model
from ..evaluation.calibration import FEWEST, KEY
from ..evaluation.guarantee.sequential import PercentileScale, lowest_percentile, percentile_scale_of
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.base import Aggregator
from ..kinds.classes.methods.calibrated import corrected, expected, learn, sums_of, too_few
from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.parts import PartEstimate, PartsFit, PartsSurvey, SourcePart, fit_parts
from ..stats.gold_calibration import GoldCalibration, GoldSums
from .ranked import Ranked

Predictor = Callable[[SourcePart], PartEstimate]


def calibrated_in_parts(
    fit: PartsFit,
    method: Aggregator,
    source: Source[Annotations],
    executor: Executor,
    folder: Path,
    *,
    prior: Any = None,
    callback: Callback | None = None,
    survey: PartsSurvey,
) -> PartsFit:
    """Return `fit` with calibrated confidence and the same labels; `source` holds the gold.

    The columns of the tasks are written to `folder`, which all workers of the executor must be able to read and write.
    `extra["gold_check"]` holds the calibration, or the reason why there is none; parts have `extra["blind_..."]`.
    """
    n = fit.driver.sum(_n_checked, plus)
    if n < FEWEST:
        return _noted(fit, too_few(n))
    blind_source, blind_survey = WithoutGold(source), replace(survey, has_gold=False)
    model = second_model(method.name, method.params())
    with warnings.catch_warnings():  # the first fit reported them already
        warnings.simplefilter("ignore", CrowdwiseWarning)
        blind = fit_parts(method, blind_source, executor, prior=prior, callback=callback, surveyed=blind_survey)
        second = (
            None if model is None else fit_parts(registry.method(model), blind_source, executor, surveyed=blind_survey)
        )
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    blind_columns = _BlindColumns(str(folder), blind.estimate_part, None if second is None else second.estimate_part)
    sums: GoldSums = fit.driver.sum(blind_columns, plus)
    learnt, note = learn(sums)
    if learnt is None:
        return _noted(fit, note)
    n_parts = source.sizes.shards
    names = {} if model is None else {OWN: "confidence", model: "second"}
    scales = {
        name: percentile_scale_of(Ranked(partial(_column, folder, n_parts, column))) for name, column in names.items()
    }
    predictor = _CalibratedPredictor(fit.estimate_part, str(folder), learnt, scales, model)
    total = fit.driver.sum(_ClaimedConfidence(predictor), plus)
    extra = {name: value for name, value in fit.extra.items() if name != "expected_accuracy"}
    return replace(fit, estimate_part=predictor, extra={**extra, KEY: note, **expected(sums, total)})


def _noted(fit: PartsFit, note: dict[str, Any]) -> PartsFit:
    return replace(fit, extra={**fit.extra, KEY: note})


def _gold(part: SourcePart) -> GoldLabels:
    """Return the gold of a part."""
    k = part.votes.n_classes
    gold = np.full(part.votes.n_tasks, k, dtype=np.int32) if part.gold is None else part.gold
    return GoldLabels(gold, k)


def _n_checked(part: SourcePart) -> int:
    return int((_gold(part).mask & (part.votes.labels_per_task > 0)).sum())


@dataclass(frozen=True, eq=False)
class _BlindColumns:
    """Writes the columns of a part from the fits without gold, and returns the sums that calibration needs."""

    folder: str
    blind: Predictor
    second: Predictor | None

    def __call__(self, part: SourcePart) -> GoldSums:
        plain = replace(part, gold=None)
        blind = self.blind(plain)
        label, n_labels = blind.estimate.labels, blind.labels_per_task
        sums = sums_of(blind.estimate.posterior, n_labels, _gold(part))
        columns: dict[str, Any] = {"confidence": blind.estimate.confidence, "label": label, "labelled": n_labels > 0}
        columns["right"] = sums.right  # of the gold tasks only
        if self.second is not None:
            columns["second"] = self.second(plain).estimate.posterior[np.arange(len(label)), label]
        path = _path(self.folder, part.number)
        try:
            np.savez(path, **columns)
        except OSError as error:
            raise unwritable(path, error) from error
        return sums


@dataclass(frozen=True, eq=False)
class _CalibratedPredictor:
    """Estimates a part with calibrated confidence; its `extra` holds the columns of the fit without gold."""

    predictor: Predictor
    folder: str
    learnt: GoldCalibration
    scales: Mapping[str, PercentileScale] = field(default_factory=dict)
    model: str | None = None

    def __call__(self, part: SourcePart) -> PartEstimate:
        estimated, gold = self.predictor(part), _gold(part)
        with np.load(_path(self.folder, part.number)) as arrays:
            blind = {name: arrays[name] for name in arrays.files}
        label, confidence = blind["label"], blind["confidence"]
        checked = np.flatnonzero(gold.mask & blind["labelled"])
        right, hit = np.full((2, len(label)), np.nan)
        hit[checked] = label[checked] == gold.label[checked]
        right[checked] = blind["right"]
        order = confidence
        if self.model is not None:
            order = lowest_percentile(self.scales, {OWN: confidence, self.model: blind["second"]})
        posterior = corrected(estimated.estimate.posterior, self.learnt, estimated.labels_per_task, estimated.gold)
        extra = {
            "blind_confidence": confidence,
            "blind_label": label,
            "blind_order": order,
            "blind_same": (label == estimated.estimate.labels).astype(np.float64),
            "blind_right": right,
            "blind_hit": hit,
        }
        return replace(
            estimated, estimate=replace(estimated.estimate, posterior=posterior), extra={**estimated.extra, **extra}
        )


@dataclass(frozen=True, eq=False)
class _ClaimedConfidence:
    """Returns the sum of the confidence of a part's tasks without gold."""

    predictor: Predictor

    def __call__(self, part: SourcePart) -> float:
        estimated = self.predictor(part)
        return float(estimated.estimate.confidence[~_gold(part).mask].sum())


def _path(folder: str | Path, number: int) -> Path:
    return Path(folder) / f"part-{number:05d}.npz"


def _column(folder: Path, n_parts: int, name: str) -> Iterator[F8]:
    """Yield a column of the tasks that have labels, part by part."""
    for number in range(n_parts):
        with np.load(_path(folder, number)) as arrays:
            yield arrays[name][arrays["labelled"]]
