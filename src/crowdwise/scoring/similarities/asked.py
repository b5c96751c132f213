"""What was asked of items, in a table that aggregate wrote: which of its rows a truth of the items can judge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.vocabulary import lookup
from ..evaluate import ALL_GOLD, among

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def judged(
    found: pl.DataFrame, items: pl.Series, sides: Sequence[str], told: pl.Series | None
) -> tuple[Mask, list[I8], int]:
    """(rows whose items are all in the truth and that somebody answered, where each side of these rows stands in
    `items`, how many rows were gold in the fit and are left out)."""
    for name in sides:
        if name not in found.columns:
            raise DataError(f"the table has no column {name!r}; it has {', '.join(found.columns)}")
    order = items.cast(pl.String).arg_sort()
    names = items.cast(pl.String).gather(order)
    placed = [lookup(names, found[name].cast(pl.String)) for name in sides]
    use = np.all([known for _, known in placed], axis=0)
    if "n_labels" in found.columns:
        use &= (found["n_labels"].cast(pl.Float64, strict=False).fill_null(0) > 0).to_numpy()
    if not use.any():
        raise DataError("no row of this table has all its items in the truth; do the ids match?")
    gone = use & (among(found["task"], told) if "task" in found.columns else False)
    fair = use & ~gone
    if not fair.any():
        raise DataError(ALL_GOLD.format(n=int(gone.sum())))
    at = order.to_numpy().astype(np.int64)
    return fair, [at[place[fair]] for place, _ in placed], int(gone.sum())
