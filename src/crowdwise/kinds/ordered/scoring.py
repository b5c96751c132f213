"""Scores that need the order of the classes: steps off, quadratic kappa."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ..classes.answers import in_order
from .maths import kappa_interval, median_level, quadratic_kappa

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]


def ladder_of(found: Result | pl.DataFrame, order: Sequence[Any] | None, names: pl.Series) -> I4 | None:
    """Level of each class where they have an order: the one given, or that of the fit."""
    if order is None:
        own = getattr(found.estimate, "order", None) if isinstance(found, Result) else None
        if own is None or len(names) > len(own):
            return None
        assert isinstance(found, Result)
        order = found.classes.gather(own).to_list()
    return np.argsort(in_order(order, names)).astype(np.int32)


def ladder_scores(
    terms: dict[str, F8], p: F8 | None, said: I4, true: I4, level: I4, resamples: int, seed: int
) -> tuple[float | None, tuple[float, float] | None]:
    """Adds the steps off to the terms; quadratic kappa of the median class with its interval."""
    k = len(level)
    middle = level[said].astype(np.int64)
    if p is not None:
        middle = median_level(p[:, np.argsort(level)])
    at = level[true].astype(np.int64)
    terms["mae"] = np.abs(middle - at).astype(np.float64)
    table = np.bincount(middle * k + at, minlength=k * k).reshape(k, k).astype(np.float64)
    kappa = float(quadratic_kappa(table))
    if np.isnan(kappa):
        return None, None
    return kappa, kappa_interval(table, resamples, seed) if resamples else None
