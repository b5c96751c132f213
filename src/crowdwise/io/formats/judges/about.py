"""Tables about the rows and the workers of an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl


def about_rows(facts: Mapping[int, Mapping[str, Any]], indices: npt.NDArray[np.int64]) -> dict[str, pl.DataFrame]:
    """Return the column `about_rows` with the facts of each kept row; empty if there are no facts."""
    if not facts:
        return {}
    names = dict.fromkeys(name for row in facts.values() for name in row)
    rows = [facts.get(i, {}) for i in indices.tolist()]
    table = {name: pl.Series([row.get(name) for row in rows], strict=False) for name in names}
    return {"about_rows": pl.DataFrame(table)}


def about_workers(sources: Mapping[str, str], lost: Mapping[str | None, int]) -> pl.DataFrame | None:
    """Return worker, source (human or model) and, if there are any, the number of unusable answers; None if empty."""
    unusable = {worker: n for worker, n in lost.items() if worker}
    workers = list(dict.fromkeys([*sources, *unusable]))
    columns: dict[str, Any] = {"worker": workers}
    if sources:
        columns["source"] = [sources.get(worker) for worker in workers]
    if unusable:
        columns["unusable"] = [unusable.get(worker, 0) for worker in workers]
    return pl.DataFrame(columns) if workers else None
