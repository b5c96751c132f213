"""Results of rankings for people: orders, who cannot be told apart, and the workers."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.rankings.answers import Rankings
from ...kinds.rankings.estimate import RankingEstimate
from ..scored import Table

Row = list[str]
LISTS, TOP = 3, 15


def sentences(votes: Votes[Rankings], result: Result) -> list[str]:
    """How many lists, and how many of them have a first item that is surely first."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    if not len(estimate.score):
        return ["no items were ranked"]
    out = [estimate.summary()]
    if np.isfinite(estimate.se).any():
        first = np.bincount(estimate.entry_task, estimate.group == 1, len(estimate))
        sure = int((first == 1).sum())
        n = int(estimate.heard.sum())
        level = 100 * float(result.params.get("level", 0.95))
        out.append(
            f"in {sure:,} of {n:,} lists the first item is surely first ({level:.0f} %, all pairs of a list at once)"
        )
        if n == 1:
            top = estimate.items.gather(estimate.entry_item[estimate.group == 1]).to_list()
            if len(top) > 1:
                names = ", ".join(str(name)[:40] for name in top[:4]) + (
                    f" and {len(top) - 4} more" if len(top) > 4 else ""
                )
                out[-1] = f"the first {len(top):,} cannot be told apart: {names} ({level:.0f} %, all pairs at once)"
    else:
        out.append(f"{result.method} has no intervals; plackett_luce and borda do")
    if votes.n_tasks and votes.labels_per_task.max() <= 1:
        out.append("no list was ranked twice: nothing tells the workers apart")
    return out


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[Row]]:
    """By the ends of their agreements' intervals, those without rankings left out."""
    picture: Any = result.picture
    heard = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(picture.agreement))
    best = heard[np.argsort(-np.nan_to_num(picture.agreement_low[heard]), kind="stable")]
    worst = heard[np.argsort(-np.nan_to_num(picture.agreement_high[heard]), kind="stable")][-limit:]
    some = best if len(best) <= 2 * limit else np.concatenate([best[:limit], worst])
    rows = [
        [
            str(name),
            f"{result.labels_per_worker[w]:,}",
            f"{picture.agreement[w]:.3f}",
            f"{picture.agreement_low[w]:.3f} – {picture.agreement_high[w]:.3f}",
            *(f"{v[w]:.2f}" if np.isfinite(v[w]) else "–" for v in (picture.temperature, picture.dispersion)),
        ]
        for name, w in zip(result.workers.gather(some).to_list(), some.tolist(), strict=True)
    ]
    if len(some) < len(best):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "rankings", "agreement", "95 % interval", "temperature", "dispersion"], rows


def list_tables(result: Result, lists: int = LISTS, top: int = TOP) -> list[Table]:
    """The first lists with scores and places."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    board = estimate.board(result.tasks)
    out = []
    for task in board["task"].unique(maintain_order=True).head(lists).to_list():
        own = board.filter(pl.col("task") == task).head(top)
        rows = []
        for row in own.iter_rows(named=True):
            known = row["se"] is not None and np.isfinite(row["se"])
            between = f"{row['low']:.2f} – {row['high']:.2f}" if known else "–"
            places = f"{row['rank_low']} – {row['rank_high']}" if known else "–"
            rows.append([f"{row['place']:g}", str(row["item"])[:60], f"{row['score']:.3f}", between, places])
        out.append(Table(f"{task}", ["place", "item", "score", "interval", "may be at"], rows))
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The first lists."""
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    table = result.to_table().head(5)
    rows = [[str(c)[:80] for c in row] for row in table.iter_rows()]
    return estimate.summary(), [*list_tables(result), Table("Rankings", table.columns, rows)]


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[Row], list[Table], list[str]]:  # noqa: ARG001
    """Rows for the table of sizes, tables, and advice."""
    task, ranking = facts["items_per_task"], facts["items_per_ranking"]
    rows = [
        ["items", f"{facts['items']:,}"],
        ["items of a task", f"{task['min']} to {task['max']}"],
        ["items in a ranking", f"{ranking['min']} to {ranking['max']}"],
        ["rankings of all items of their task", f"{facts['whole_rankings']:,}"],
        ["rankings with ties", f"{facts['rankings_with_ties']:,}"],
        ["workers with several rankings", f"{facts['workers_with_several_rankings']:,}"],
    ]
    advice = []
    if facts["whole_rankings"] < facts["annotations"]:
        advice.append(
            "items that a ranking leaves out count as not seen; write a>b>... where they come after all others"
        )
    return rows, [], advice
