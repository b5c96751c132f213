"""Known clusters of some items."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote

I8 = npt.NDArray[np.int64]


def item_truth(truth: Any, what: str = "cluster") -> pl.DataFrame:
    """A mapping, or a table item (or task) and cluster (or label, or `what`), as a table item, label as text."""
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        names = {"item": "task", what: "label"}
        truth = frame.rename(
            {old: new for old, new in names.items() if old in frame.columns and new not in frame.columns}
        )
    return truth_table(truth).rename({"task": "item"})


def item_gold(gold: Any, items: pl.Series) -> tuple[I8, list[str]]:
    """(cluster of each item, -1 where it is not known; the names of the clusters)."""
    if gold is None:
        return np.full(len(items), -1, dtype=np.int64), []
    table = item_truth(gold)
    at, known = lookup(items.cast(pl.String), table["item"].cast(pl.String))
    if not known.any():
        raise DataError(
            f"none of the {len(table)} gold items is among the items of the answers ({quote(table['item'])})"
        )
    names = table["label"].cast(pl.String).unique().sort().to_list()
    code = {name: i for i, name in enumerate(names)}
    out = np.full(len(items), -1, dtype=np.int64)
    out[at[known]] = [code[name] for name in table["label"].cast(pl.String).filter(pl.Series(known)).to_list()]
    return out, names
