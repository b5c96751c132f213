"""From rows to a verdict: means under conditions, and a claim that is `not run` where a figure is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from .experiment import Claim

FAINT = "the difference is below two standard errors"


def mean_of(rows: pl.DataFrame, value: str, where: Mapping[str, Any]) -> float:
    """Mean of a column over the rows of a condition; nan where there are none."""
    if value not in rows.columns or not set(where) <= set(rows.columns):
        return math.nan
    for name, wanted in where.items():
        rows = rows.filter(pl.col(name) == wanted)
    found = rows[value].drop_nulls()
    return float(np.mean(found.to_numpy())) if len(found) else math.nan


def clear(rows: pl.DataFrame, value: str, by: str) -> bool:
    """Whether the means of two conditions are more than two standard errors apart."""
    if value not in rows.columns:
        return False
    parts = [part[value].drop_nulls().to_numpy() for _, part in rows.group_by(by)]
    if len(parts) != 2 or min(map(len, parts)) < 2:
        return False
    error = math.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    return bool(abs(parts[0].mean() - parts[1].mean()) > 2 * error)


def judged(
    text: str,
    published: str,
    ours: str,
    figures: Sequence[float],
    holds: bool,
    why: str = "",
    *,
    remark: str = "",
    only: bool = False,
    faint: bool = False,
) -> Claim:
    """The claim, and `why` where it fails or a `remark` in any case.

    `only` where the effect is the paper's but the figures are not comparable; `faint` where the difference, of either
    sign, lies within the noise: the claim is then undecided.
    """
    if not figures or any(math.isnan(f) for f in figures):
        return Claim(text, published, "", "not run")
    if faint:
        return Claim(text, published, ours, "undecided", FAINT)
    yes = "reproduced in direction" if only else "reproduced"
    return Claim(text, published, ours, yes if holds else "not reproduced", remark or ("" if holds else why))  # type: ignore[arg-type]


def percents(named: Mapping[str, float]) -> str:
    """Shares for people: "MV 75.9, DS 89.8"."""
    return ", ".join(f"{name} {100 * value:.1f}" for name, value in named.items())
