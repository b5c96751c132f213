"""What an export says of its rows and of its workers, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl


def about_rows(facts: Mapping[int, Mapping[str, Any]], n: int) -> pl.DataFrame:
    """A table of n rows of what single rows say of themselves; null where a row says nothing."""
    names = dict.fromkeys(name for each in facts.values() for name in each)
    rows = [facts.get(i, {}) for i in range(n)]
    return pl.DataFrame({name: pl.Series([each.get(name) for each in rows], strict=False) for name in names})


def about_workers(sources: Mapping[str, str], lost: Mapping[str | None, int]) -> pl.DataFrame:
    """worker, source (human or model) and, where somebody's answers were none, unusable."""
    unusable = {worker: n for worker, n in lost.items() if worker}
    who = list(dict.fromkeys([*sources, *unusable]))
    columns: dict[str, Any] = {"worker": who}
    if sources:
        columns["source"] = [sources.get(each) for each in who]
    if unusable:
        columns["unusable"] = [unusable.get(each, 0) for each in who]
    return pl.DataFrame(columns)
