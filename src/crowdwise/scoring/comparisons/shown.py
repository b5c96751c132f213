"""Results of comparisons for people: the leaderboard, who cannot be told apart, and the workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.estimate import ComparisonEstimate
from ..scored import Table

Row = list[str]
# Rows of a leaderboard on the terminal, and islands that are named one by one.
TOP, ISLANDS = 20, 5


def leaderboard_rows(table: pl.DataFrame) -> list[Row]:
    """Place, item, score, interval and places of each row."""
    out = []
    for i, row in enumerate(table.iter_rows(named=True), 1):
        known = row["se"] is not None and np.isfinite(row["se"])
        between = f"{row['low']:.2f} – {row['high']:.2f}" if known else "–"
        places = f"{row['rank_low']} – {row['rank_high']}" if known else "–"
        group = str(row["group"]) if known else "–"
        out.append(
            [str(i), str(row["item"])[:60], f"{row['score']:.3f}", between, places, group, f"{row['n_asked']:,}"]
        )
    return out


HEADER = ["", "item", "score", "interval", "places", "group", "answers"]


def leaderboards(estimate: ComparisonEstimate, limit: int = TOP, islands: int = ISLANDS) -> list[Table]:
    """One table for each of the largest islands."""
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    out = []
    for island in board["component"].unique().sort().head(islands).to_list():
        own = board.filter(pl.col("component") == island)
        many = board["component"].n_unique() > 1
        title = "Leaderboard" + (f", component {island}" if many else "")
        title += f" (the first {limit} of {len(own):,})" if len(own) > limit else ""
        out.append(Table(title, HEADER, leaderboard_rows(own.head(limit))))
    return out


def sentences(votes: Votes[Comparisons], result: Result) -> list[str]:
    """Who leads, who cannot be told from them, and on how many islands the items lie."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    board = estimate.leaderboard().filter(pl.col("n_asked") > 0)
    if not len(board):
        return ["no items were compared"]
    islands = board["component"].n_unique()
    first = board.filter(pl.col("component") == board["component"][0])
    out = [_lead(first, result, "" if islands == 1 else f" of the largest component ({len(first):,} items)")]
    if islands > 1:
        out.append(
            f"the {len(board):,} items fall into {islands:,} components that were never compared with each other: "
            "scores and places hold within a component only"
        )
    ties = int((votes.answers.outcome == 2).sum())
    if ties == len(votes):
        out.append("every answer is a tie: nothing tells the items apart")
    return out


def _lead(first: pl.DataFrame, result: Result, of: str) -> str:
    best = str(first["item"][0])[:60]
    if len(first) < 2:
        return f"{best} is the only item{of}"
    if not np.isfinite(first["se"].cast(pl.Float64).fill_null(np.nan).to_numpy()).any():
        return f"first{of} is {best}; {result.method} has no intervals"
    top = first.filter(pl.col("group") == 1)["item"].to_list()
    level = 100 * float(result.params.get("level", 0.95))
    if len(top) == 1:
        return f"{best} leads{of}, surely ahead of all others ({level:.0f} %, all pairs at once)"
    names = ", ".join(str(name)[:40] for name in top[:4]) + (f" and {len(top) - 4:,} more" if len(top) > 4 else "")
    return f"the first {len(top):,}{of} cannot be told apart: {names} ({level:.0f} %, all pairs at once)"


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """By the ends of their reliabilities' intervals, those without answers left out."""
    picture: Any = result.picture
    heard = np.flatnonzero(result.labels_per_worker > 0)
    best = heard[np.argsort(-np.nan_to_num(picture.reliability_low[heard]), kind="stable")]
    some = best if len(best) <= 2 * limit else np.concatenate([best[:limit], _worst(picture, heard, limit)])
    names = result.workers.gather(some).to_list()
    rows = [
        [
            str(name),
            f"{result.labels_per_worker[w]:,}",
            f"{picture.reliability[w]:.3f}",
            f"{picture.reliability_low[w]:.3f} – {picture.reliability_high[w]:.3f}",
            *(f"{v[w]:.2f}" if np.isfinite(v[w]) else "–" for v in (picture.slope, picture.position)),
        ]
        for name, w in zip(names, some.tolist(), strict=True)
    ]
    if len(some) < len(best):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "reliability", "95 % interval", "slope", "position"], rows


def _worst(picture: Any, heard: Any, limit: int) -> Any:
    return heard[np.argsort(-np.nan_to_num(picture.reliability_high[heard]), kind="stable")][-limit:]


def show(result: Result) -> tuple[str, list[Table]]:
    """The leaderboard; the pairs that are closest to even."""
    estimate = result.estimate
    assert isinstance(estimate, ComparisonEstimate)
    even = np.where(result.labels_per_task > 0, np.abs(estimate.chance[:, 0] - estimate.chance[:, 1]), np.inf)
    order = np.argsort(even, kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{c:.3f}" if isinstance(c, float) else str(c)[:50] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*leaderboards(estimate), Table("Pairs closest to even", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    agreement, left = facts["pairwise_agreement"], facts["left_wins"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["pairs of items", f"{facts['pairs']:,}"],
        ["ties", f"{facts['ties']:,}"],
        ["left wins (ties apart)", "–" if left is None else f"{left:.1%}"],
        ["components of compared items", f"{facts['item_components']:,} (largest {facts['largest_component']:,})"],
        ["two answers to a task agree", "–" if agreement is None else f"{agreement:.1%}"],
    ]
    advice = []
    if facts["item_components"] > 1:
        advice.append("items of different components were never compared: their scores say nothing of each other")
    if left is not None and facts["annotations"] >= 50 and abs(left - 0.5) > 0.15:
        advice.append(f"left wins {left:.0%} of the decided answers: were the sides drawn at random?")
    return rows, [], advice
