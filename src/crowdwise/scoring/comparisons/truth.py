"""Known winners and known scores, from whatever columns a file has."""

from __future__ import annotations

import numpy as np
import polars as pl

from ...aggregate.comparisons.gold import outcomes
from ...kinds.comparisons.answers import as_text, fits
from ...kinds.comparisons.columns import complete, told_by


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Columns left, right, winner (or chosen, rejected) as a table task, label, whose label is the winning item's name
    or "tie"; None where the columns are not these."""
    found = told_by(frame.columns)
    if found is None:
        return None
    columns = {role: frame[name] for role, name in found.items()}
    if not fits(columns):
        return None
    if "task" in frame.columns:
        columns["task"] = frame["task"]
    columns["worker"] = pl.Series([""] * len(frame))
    complete(columns)
    if "chosen" in columns:
        label = as_text(columns["chosen"])
    else:
        left, right, said = (as_text(columns[name]) for name in ("left", "right", "winner"))
        at = outcomes(said, left, right)
        label = pl.select(
            pl.when(pl.Series(at == 0)).then(left).when(pl.Series(at == 1)).then(right)
            .when(pl.Series(at == 2)).then(pl.lit("tie")).otherwise(said)
        ).to_series()  # fmt: skip
    return pl.DataFrame({"task": as_text(columns["task"]), "label": label})


def numbers(labels: pl.Series) -> np.ndarray | None:
    """Labels as numbers; None where one is none."""
    found = labels.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    return None if found.null_count() else found.to_numpy()
