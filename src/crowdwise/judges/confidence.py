"""What judges' stated confidence is worth: calibrated on gold (Platt), or why it is ignored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kinds.classes.methods.gold import Gold
from ..kinds.classes.methods.judges import Voices
from ..stats.platt import Platt, fit_platt, why_ignored

F8 = npt.NDArray[np.float64]
BINS = 8


@dataclass(frozen=True)
class Stated:
    """A judge's stated confidence on gold: its map (None: ignored, and why), its mean, the share that was right, and
    points (mean stated, share right, how many) of its calibration curve."""

    platt: Platt | None
    why: str
    mean: float
    right: float
    n: int
    curve: tuple[tuple[float, float, int], ...]


def stated(said: Voices, gold: Gold | None, judge: int) -> Stated | None:
    """What is known of a judge's confidence; None where the judge states none."""
    own = (said.judge == judge) & np.isfinite(said.confidence)
    if not own.any():
        return None
    if gold is None:
        mean = float(said.confidence[own].mean())
        return Stated(None, "no gold: read as symbols by judge_symbols, not as chances", mean, float("nan"), 0, ())
    rows = np.flatnonzero(own & gold.mask[said.task])
    sure = said.confidence[rows]
    right = (said.mode[rows] == gold.label[said.task[rows]]).astype(np.float64)
    why = why_ignored(sure)
    mean, hit = (float(sure.mean()), float(right.mean())) if len(rows) else (float("nan"), float("nan"))
    return Stated(None if why else fit_platt(sure, right), why, mean, hit, len(rows), _curve(sure, right))


def _curve(sure: F8, right: F8) -> tuple[tuple[float, float, int], ...]:
    """Points of about equally many tasks each, equal confidences together."""
    if not len(sure):
        return ()
    of = np.unique(sure, return_inverse=True)[1]
    n = np.bincount(of)
    bin_ = np.minimum((np.cumsum(n) - n / 2) * BINS // len(sure), BINS - 1).astype(int)[of]
    return tuple(
        (float(sure[bin_ == b].mean()), float(right[bin_ == b].mean()), int((bin_ == b).sum())) for b in np.unique(bin_)
    )
