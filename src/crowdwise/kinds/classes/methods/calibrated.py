"""Calibrate the confidence of a result on the gold that its fit was given.

The calibration requires a fit that has not used the gold: the method is fitted again without gold, its confidence is
compared with the truth (stats/gold_calibration.py), and the correction is applied to the fit with gold. Gold that is
not a random sample of the tasks would make the confidence worse, so it is tested and not used if the test rejects it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....core.errors import CrowdwiseWarning
from ....core.result import Result
from ....evaluation.accepting_order import accepting_order, second_model
from ....evaluation.calibration import FEWEST, KEY, LEVEL
from ....stats.gold_calibration import GoldCalibration, GoldSums, share_of_means
from ....stats.ties import break_ties, tie_shares, winners
from ..annotations import Annotations
from .gold import GoldLabels

if TYPE_CHECKING:
    from .base import Aggregator, SolveOptions


def calibrated(
    method: Aggregator, result: Result, annotations: Annotations, gold: GoldLabels, options: SolveOptions
) -> Result:
    """Return the result with confidence calibrated on gold; the labels stay as they are.

    `extra["gold_check"]` holds the calibration, or the reason why there is none. `extra["blind_..."]` describe the fit
    without gold, by task: label, confidence, the order in which labels are accepted, whether the label is the same as
    in the result, whether it is right (`hit`; NaN: not checked), and the probability that it is if ties are broken at
    random (`right`).

    Args:
        method: The method of the result.
        result: The result of a fit, with or without this gold.
        annotations: The votes.
        gold: The gold.
        options: The options of the fit.
    """
    checked = np.flatnonzero(gold.mask & (annotations.labels_per_task > 0))
    if len(checked) < FEWEST:
        return _noted(result, too_few(len(checked)))
    with warnings.catch_warnings():  # the first fit gave these warnings already
        warnings.simplefilter("ignore", CrowdwiseWarning)
        blind = method.fit_solution(annotations, None, replace(options, callback=None)).posterior
    # Gold that was used only for the fit was selected in another way: it is neither sample nor population.
    fit_gold = None if result.gold is None else result.gold & ~gold.mask
    sums = sums_of(blind, annotations.labels_per_task, gold, fit_gold)
    calibration, note = learn(sums)
    if calibration is None:
        return _noted(result, note)
    confidence, right = blind.max(axis=1), sums.right
    posterior = corrected(result.posterior, calibration, annotations.labels_per_task, result.gold)
    mask = gold.mask if result.gold is None else gold.mask | result.gold
    label = break_ties(blind, method.seed)
    same = label == break_ties(result.posterior, method.seed)
    outcome, hit = np.full((2, len(confidence)), np.nan)
    outcome[checked], hit[checked] = right, label[checked] == gold.label[checked]
    extra: dict[str, Any] = {**result.extra, KEY: note}
    extra |= {"blind_confidence": confidence, "blind_same": same.astype(np.float64), "blind_right": outcome}
    extra |= {"blind_label": label, "blind_hit": hit, "blind_order": _order(method, annotations, label, confidence)}
    extra.pop("expected_accuracy", None)
    extra |= expected(sums, float(posterior[~mask].max(axis=1).sum()))
    estimate = replace(result.estimate, posterior=posterior)  # type: ignore[type-var]
    return replace(result, estimate=estimate, gold=mask, extra=extra)


def _order(method: Aggregator, annotations: Annotations, label: I4, confidence: F8) -> F8:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        model = second_model(method.name, method.params())
        return accepting_order(model, annotations, label, confidence, annotations.labels_per_task > 0)


def _noted(result: Result, note: dict[str, Any]) -> Result:
    return replace(result, extra={**result.extra, KEY: note})


def sums_of(blind: F8, n_labels: I8, gold: GoldLabels, fit_gold: Mask | None = None) -> GoldSums:
    """Return the sums from which a fit without gold is calibrated.

    Args:
        blind: Posterior of the fit without gold.
        n_labels: Number of labels of each task.
        gold: The gold to calibrate on.
        fit_gold: Mask of tasks with other gold, which is used neither as sample nor as population.
    """
    checked = np.flatnonzero(gold.mask & (n_labels > 0))
    right = tie_shares(blind)[checked, gold.label[checked]]
    first = winners(blind).argmax(axis=1)  # a label that does not depend on random tie-breaking
    return GoldSums.of(blind.max(axis=1), first, blind.shape[1], n_labels, gold.mask, right, fit_gold)


def too_few(n: int) -> dict[str, Any]:
    """Return the note of a result with too few checked tasks."""
    return {"n": n, "reason": f"{n} checked tasks are too few to calibrate confidence; {FEWEST} or more will do"}


def learn(sums: GoldSums) -> tuple[GoldCalibration | None, dict[str, Any]]:
    """Return the calibration and the note for the result.

    Where the checked tasks cannot be a random sample of the labelled ones, the calibration is None and the note gives
    the reason.
    """
    n, p = len(sums.checked), sums.sample_tests()
    worst = min(p, key=p.__getitem__, default="")
    if worst and p[worst] <= LEVEL:
        difference = "labels differ" if worst == "label" else f"{worst} differs"
        reason = (
            f"the checked tasks are not a random sample (their {difference} from those of the others, "
            f"p = {p[worst]:.0e}), so "
            "confidence is not calibrated on them; draw tasks to check with crowdwise estimate --draw"
        )
        return None, {"n": n, "reason": reason, "refuted": True}
    calibration = GoldCalibration.around(sums.centre, sums.checked, sums.right)
    return calibration, {"n": n, "slope": calibration.slope, "shift": calibration.shift, "centre": calibration.centre}


def corrected(posterior: F8, calibration: GoldCalibration, n_labels: I8, fit_gold: Mask | None) -> F8:
    """Return the posterior with calibrated confidence on tasks with labels; gold tasks of the fit stay certain."""
    out = np.where((n_labels > 0)[:, None], calibration.apply(posterior), posterior)
    if fit_gold is not None:
        out[fit_gold] = posterior[fit_gold]
    return out


def expected(sums: GoldSums, calibrated: float) -> dict[str, Any]:
    """Return the entry of `extra` with the expected share of right labels among the tasks without gold.

    `calibrated` is the sum of their calibrated confidence. Empty where every task has gold.
    """
    n = sums.others
    if not n:
        return {}
    share = share_of_means(sums.claimed / n, calibrated / n, n, sums.checked, sums.right)
    return {"expected_accuracy": {"mean": share.mean, "low": share.low, "high": share.high, "level": 0.9}}
