"""Calibration of the confidence that judges state, by Platt scaling on gold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.judges import JudgeVerdicts
from ..stats.platt import Platt, fit_platt, why_ignored

F8 = npt.NDArray[np.float64]
BINS = 8


@dataclass(frozen=True)
class Stated:
    """The stated confidence of a judge on gold tasks.

    Attributes:
        platt: The calibration map (None: the confidence is ignored).
        why: Why it is ignored.
        mean: Mean stated confidence.
        right: Share of right verdicts.
        n: Number of gold tasks.
        curve: Calibration curve: (mean confidence, share right, number of tasks) of each bin.
    """

    platt: Platt | None
    why: str
    mean: float
    right: float
    n: int
    curve: tuple[tuple[float, float, int], ...]


def stated(verdicts: JudgeVerdicts, gold: GoldLabels | None, judge: int) -> Stated | None:
    """Calibrate the confidence of a judge; None where the judge states none."""
    has_confidence = (verdicts.judge == judge) & np.isfinite(verdicts.confidence)
    if not has_confidence.any():
        return None
    if gold is None:
        mean = float(verdicts.confidence[has_confidence].mean())
        return Stated(None, "no gold: read as symbols by judge_symbols, not as chances", mean, float("nan"), 0, ())
    rows = np.flatnonzero(has_confidence & gold.mask[verdicts.task])
    confidence = verdicts.confidence[rows]
    right = (verdicts.mode[rows] == gold.label[verdicts.task[rows]]).astype(np.float64)
    reason = why_ignored(confidence)
    mean, hit = (float(confidence.mean()), float(right.mean())) if len(rows) else (float("nan"), float("nan"))
    return Stated(
        None if reason else fit_platt(confidence, right), reason, mean, hit, len(rows), _curve(confidence, right)
    )


def _curve(confidence: F8, right: F8) -> tuple[tuple[float, float, int], ...]:
    """Bins with about the same number of tasks; equal confidences stay together."""
    if not len(confidence):
        return ()
    level = np.unique(confidence, return_inverse=True)[1]
    n = np.bincount(level)
    bin_ = np.minimum((np.cumsum(n) - n / 2) * BINS // len(confidence), BINS - 1).astype(int)[level]
    return tuple(
        (float(confidence[bin_ == b].mean()), float(right[bin_ == b].mean()), int((bin_ == b).sum()))
        for b in np.unique(bin_)
    )
