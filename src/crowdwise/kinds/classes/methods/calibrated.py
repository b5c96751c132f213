"""A result whose confidence is calibrated on the gold that its fit was given.

What gold says of a method must come from a fit that has not seen it: the method is fitted once more without gold, its
confidence is compared with the truth (maths/trust), and the correction is applied to the fit with gold.
Gold that is no random sample of the tasks would make confidence worse, so gold that is refuted as one is not used.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ....core.errors import CrowdwiseWarning
from ....core.result import Result
from ....evaluation.accepting_order import accepting_order, second_model
from ....evaluation.calibration import FEWEST, KEY, LEVEL
from ....stats.gold_calibration import GoldCalibration, GoldSums, share_of_means
from ....stats.ties import break_ties, tie_shares, winners
from ..annotations import Annotations
from .gold import Gold

if TYPE_CHECKING:
    from .base import Aggregator, Run

F8 = npt.NDArray[np.float64]


def calibrated(method: Aggregator, result: Result, annotations: Annotations, gold: Gold, run: Run) -> Result:
    """`result` with confidence calibrated on `gold`, which it may have been given; the labels stay as they are.

    `extra["gold_check"]` holds what was learnt, or the reason why nothing was. `extra["blind_..."]` hold for each task
    of the fit without gold: label, confidence, the order in which labels are accepted, whether the label is the same as
    here, whether it is right (`hit`; NaN: not checked), and how probably if ties are broken by chance (`right`).
    """
    checked = np.flatnonzero(gold.mask & (annotations.labels_per_task > 0))
    if len(checked) < FEWEST:
        return _noted(result, too_few(len(checked)))
    with warnings.catch_warnings():  # what is to be reported about these votes was reported by the first fit
        warnings.simplefilter("ignore", CrowdwiseWarning)
        blind = method.answer(annotations, None, replace(run, callback=None)).posterior
    # Gold that only taught the fit was chosen in another way: it is neither sample nor population.
    other = None if result.gold is None else result.gold & ~gold.mask
    sums = sums_of(blind, annotations.labels_per_task, gold, other)
    learnt, note = learn(sums)
    if learnt is None:
        return _noted(result, note)
    confidence, right = blind.max(axis=1), sums.right
    posterior = corrected(result.posterior, learnt, annotations.labels_per_task, result.gold)
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


def _order(method: Aggregator, annotations: Annotations, label: npt.NDArray[np.int32], confidence: F8) -> F8:

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        model = second_model(method.name, method.params())
        return accepting_order(model, annotations, label, confidence, annotations.labels_per_task > 0)


def _noted(result: Result, note: dict[str, Any]) -> Result:
    return replace(result, extra={**result.extra, KEY: note})


def sums_of(
    blind: F8, n_labels: npt.NDArray[np.int64], gold: Gold, taught: npt.NDArray[np.bool_] | None = None
) -> GoldSums:
    """What a fit without gold says of some tasks; tasks in `taught` have gold that calibrates nothing."""
    checked = np.flatnonzero(gold.mask & (n_labels > 0))
    right = tie_shares(blind)[checked, gold.label[checked]]
    first = winners(blind).argmax(axis=1)  # a label that does not depend on how ties are drawn
    return GoldSums.of(blind.max(axis=1), first, blind.shape[1], n_labels, gold.mask, right, taught)


def too_few(n: int) -> dict[str, Any]:
    """The note of a result with too few checked tasks."""
    return {"n": n, "reason": f"{n} checked tasks are too few to calibrate confidence; {FEWEST} or more will do"}


def learn(sums: GoldSums) -> tuple[GoldCalibration | None, dict[str, Any]]:
    """How confidence is to be corrected, and the note that the result carries; None and the reason where the checked
    tasks cannot be a random sample of the labelled ones."""
    n, p = len(sums.checked), sums.sample_tests()
    worst = min(p, key=p.__getitem__, default="")
    if worst and p[worst] <= LEVEL:
        what = "other labels" if worst == "label" else f"another {worst}"
        reason = (
            f"the checked tasks are no random sample (they have {what} than the rest, p = {p[worst]:.0e}), so "
            "confidence is not calibrated on them; draw tasks to check with crowdwise estimate --draw"
        )
        return None, {"n": n, "reason": reason, "refuted": True}
    learnt = GoldCalibration.around(sums.centre, sums.checked, sums.right)
    return learnt, {"n": n, "slope": learnt.slope, "shift": learnt.shift, "centre": learnt.centre}


def corrected(
    posterior: F8, learnt: GoldCalibration, n_labels: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_] | None
) -> F8:
    """The posterior with calibrated confidence where there are labels; the truth that a fit was given stays certain."""
    out = np.where((n_labels > 0)[:, None], learnt.apply(posterior), posterior)
    if kept is not None:
        out[kept] = posterior[kept]
    return out


def expected(sums: GoldSums, calibrated: float) -> dict[str, Any]:
    """The entry of `extra` with the share of right labels among the tasks without gold, whose calibrated confidence
    adds up to `calibrated`; none where every task has gold."""
    n = sums.others
    if not n:
        return {}
    share = share_of_means(sums.claimed / n, calibrated / n, n, sums.checked, sums.right)
    return {"expected_accuracy": {"mean": share.mean, "low": share.low, "high": share.high, "level": 0.9}}
