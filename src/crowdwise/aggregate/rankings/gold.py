"""Known orders of some tasks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.rankings.answers import Rankings
from ...kinds.rankings.parsing import Groups, parse

I8 = npt.NDArray[np.int64]
# Rankings that a known order weighs as much as.
GOLD_WEIGHT = 5.0


def ranking_truth(truth: Any) -> tuple[pl.Series, list[Groups]]:
    """Tasks and their known orders, from a mapping, a table task, ranking (or label), or task, item, rank (1 best)."""
    if isinstance(truth, pl.DataFrame) and {"task", "item"} <= set(truth.columns) and "label" not in truth.columns:
        truth = _by_item(truth)
    if isinstance(truth, pl.DataFrame) and "label" not in truth.columns and "ranking" in truth.columns:
        truth = truth.rename({"ranking": "label"})
    table = truth_table(truth)
    groups = []
    for task, text in table.select("task", "label").iter_rows():
        found = parse(str(text))
        if isinstance(found, str):
            raise DataError(f"the truth of task {quote([task])}, {quote([text])}, {found}; write a>b>c")
        groups.append(found)
    return table["task"], groups


def _by_item(truth: pl.DataFrame) -> pl.DataFrame:
    by = next((name for name in ("rank", "place", "score") if name in truth.columns), None)
    if by is None:
        raise DataError("a truth by item needs a column rank (1 is best) or score (higher is better)")
    value = pl.col(by).cast(pl.Float64) * (-1 if by == "score" else 1)
    rows = truth.with_columns(value.alias("_at")).sort("task", "_at", "item")
    places = rows.group_by("task", "_at", maintain_order=True).agg(pl.col("item").cast(pl.String).str.join("="))
    return places.group_by("task", maintain_order=True).agg(pl.col("item").str.join(">").alias("label"))


def known_orders(gold: Any, votes: Votes[Rankings]) -> dict[int, Groups]:
    """The known orders by code of their task; tasks that nobody answered are left out with a warning."""
    tasks, groups = ranking_truth(gold)
    task, known = place_gold(pl.DataFrame({"task": tasks}), votes.tasks)
    return {int(t): g for t, g, here in zip(task, groups, known, strict=True) if here}


def known(votes: Votes[Rankings], gold: Any) -> tuple[I8, Rankings]:
    """Codes of the known tasks and their orders, over the items of the votes and of the truth."""
    orders = known_orders(gold, votes)
    names = pl.Series("item", [n for g, _ in orders.values() for p in g for n in p], dtype=pl.String)
    items = pl.concat([votes.answers.items.cast(pl.String), names]).unique().sort()
    codes = lookup(items, names)[0]
    size = np.array([sum(map(len, g)) for g, _ in orders.values()], dtype=np.int64)
    level = np.array([i for g, _ in orders.values() for i, p in enumerate(g) for _ in p], dtype=np.int32)
    offset = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    rest = np.array([r for _, r in orders.values()], dtype=bool)
    return np.array(list(orders), dtype=np.int64), Rankings(offset, codes, level, rest, items.rename("item"))


def said(votes: Votes[Rankings], result: Any) -> Rankings:  # noqa: ARG001
    """The estimates as one ranking a task."""
    answers: Rankings = result.estimate.answers()
    return answers
