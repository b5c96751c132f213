"""What an export says of its rows and of its workers, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def about_rows(facts: Mapping[int, Mapping[str, Any]], kept: npt.NDArray[np.int64]) -> dict[str, pl.DataFrame]:
    """The column `about_rows`: what each row that is kept says of itself, null for nothing; none where no row does."""
    if not facts:
        return {}
    names = dict.fromkeys(name for each in facts.values() for name in each)
    rows = [facts.get(i, {}) for i in kept.tolist()]
    table = {name: pl.Series([each.get(name) for each in rows], strict=False) for name in names}
    return {"about_rows": pl.DataFrame(table)}


def about_workers(sources: Mapping[str, str], lost: Mapping[str | None, int]) -> pl.DataFrame | None:
    """worker, source (human or model) and, where somebody's answers were none, unusable; None where nobody is known."""
    unusable = {worker: n for worker, n in lost.items() if worker}
    who = list(dict.fromkeys([*sources, *unusable]))
    columns: dict[str, Any] = {"worker": who}
    if sources:
        columns["source"] = [sources.get(each) for each in who]
    if unusable:
        columns["unusable"] = [unusable.get(each, 0) for each in who]
    return pl.DataFrame(columns) if who else None
