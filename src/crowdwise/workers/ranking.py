"""Who is best and who is worst, so that luck with a few labels leads neither list: by the ends of the intervals.

The best are those whose skill is high for certain (its interval's lower end), the worst those whose skill is low for
certain (its upper end). A worker with one label has a wide interval and is neither.
"""

from __future__ import annotations

import polars as pl


def best_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Workers with labels, the surest good ones first; `table` has n_labels, skill, skill_low and skill_high, or the
    like of what else they are ranked by."""
    return _seen(table).sort(f"{by}_low", by, descending=True, nulls_last=True, maintain_order=True)


def worst_first(table: pl.DataFrame, by: str = "skill") -> pl.DataFrame:
    """Workers with labels, the surest bad ones first."""
    return _seen(table).sort(f"{by}_high", by, nulls_last=True, maintain_order=True)


def best_and_worst(table: pl.DataFrame, limit: int, by: str = "skill") -> tuple[pl.DataFrame, pl.DataFrame]:
    """The first so many of both lists, nobody in two; all in the first where there are no more than twice that."""
    best = best_first(table, by)
    if len(best) <= 2 * limit:
        return best, best.clear()
    top = best.head(limit)
    rest = worst_first(table, by)
    return top, rest.filter(~rest["worker"].is_in(top["worker"].to_list())).head(limit)


def _seen(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("n_labels") > 0)
