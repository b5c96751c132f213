"""Write preference pairs for training a reward model or a policy: prompt, chosen, rejected, weight."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ..csv.cells import to_csv

if TYPE_CHECKING:
    from ...core.result import Result


def write_preferences(result: Result, path: Path, about: pl.DataFrame | None = None) -> tuple[str, ...]:
    """Write one row per task with a winner, as JSONL, CSV or Parquet by the file's ending.

    Columns: task, prompt (if the votes have one), chosen, rejected, chance (that chosen is preferred), weight (chance
    of chosen minus that of rejected, 0 to 1), n_labels.
    """
    table = result.to_table()
    won = table.filter((table["winner"] != "tie") & (table["n_labels"] > 0))
    left = (won["winner"] == "left").to_numpy()
    p = won.select("p_left", "p_right").to_numpy()
    chance = np.where(left, p[:, 0], p[:, 1])
    sides = pl.when(pl.Series(left))
    out = won.select(
        "task",
        sides.then(pl.col("left")).otherwise(pl.col("right")).alias("chosen"),
        sides.then(pl.col("right")).otherwise(pl.col("left")).alias("rejected"),
        pl.Series("chance", chance),
        pl.Series("weight", np.abs(p[:, 0] - p[:, 1])),
        "n_labels",
    )
    if about is not None:
        columns = about.select("task", *(name for name in ("prompt", "topic") if name in about.columns))
        if columns.width > 1:
            joined = out.with_columns(pl.col("task").cast(pl.String)).join(
                columns.with_columns(pl.col("task").cast(pl.String)), on="task", how="left", maintain_order="left"
            )
            out = joined.select("task", *columns.columns[1:], pl.exclude("task", *columns.columns[1:]))
    ending = path.suffix.lower()
    if ending == ".parquet":
        out.write_parquet(path)
    elif ending == ".csv":
        to_csv(out, path)
    else:
        out.write_ndjson(path)
    n_dropped = len(table) - len(out)
    return (f"{n_dropped:,} pairs without a winner are left out",) if n_dropped else ()
