"""Confidence in bins: how sure the labels of each are, and how many of them are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .evaluate import BINS


@dataclass(frozen=True)
class Bin:
    """Labels of about the same confidence: how sure they were and how many were right."""

    n: int
    confidence: float
    accuracy: float
    low: float
    high: float


def bins(confidence: Any, right: Any) -> list[Bin]:
    """Equal bins of the confidence, as in the calibration error, each with a Jeffreys interval of its accuracy."""
    from scipy.special import betaincinv

    place = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    n = np.bincount(place, minlength=BINS)
    hits = np.bincount(place, weights=right, minlength=BINS)
    sure = np.bincount(place, weights=confidence, minlength=BINS)
    return [
        Bin(
            int(n[i]),
            float(sure[i] / n[i]),
            float(hits[i] / n[i]),
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.025)) if hits[i] else 0.0,
            float(betaincinv(hits[i] + 0.5, n[i] - hits[i] + 0.5, 0.975)) if hits[i] < n[i] else 1.0,
        )
        for i in np.flatnonzero(n)
    ]
