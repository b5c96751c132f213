"""Plots of results of comparisons and rankings: `result.plot.leaderboard()`, `.workers()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ..core.errors import DataError, ParameterError
from ..core.result import Result
from . import WORKERS, axes, name_of
from .notebook import table


@dataclass(frozen=True, eq=False)
class OrderPlots:
    """The plots of one result.

    >>> import crowdwise as cw
    >>> votes = cw.comparisons.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> cw.comparisons.BradleyTerry().fit(votes).plot.leaderboard().get_xlabel()
    'score'
    """

    result: Result

    def leaderboard(self, task: Any = None, limit: int = 40, ax: Any = None) -> Any:
        """Plot items by score with their intervals, best on top.

        Args:
            task: List of rankings, the first by default. Comparisons show the largest component.
            limit: Number of items.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        if limit < 1:
            raise ParameterError(f"limit must be at least 1, got {limit}")
        board = board_of(self.result, task).head(limit).reverse()
        place = np.arange(len(board))
        score, low, high = (board[name].to_numpy() for name in ("score", "low", "high"))
        ax = axes(ax, (6.0, 0.9 + 0.22 * len(board)))
        ax.hlines(
            place, np.where(np.isfinite(low), low, score), np.where(np.isfinite(high), high, score), lw=4, alpha=0.35
        )
        ax.plot(score, place, "o", ms=5)
        ax.set_yticks(place, [name_of(item) for item in board["item"].to_list()], parse_math=False)
        ax.set_xlabel("score")
        ax.set_title(f"The first {len(board):,} items")
        return ax

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """Plot the reliability (for rankings the agreement) of workers with its interval.

        Args:
            limit: Number of workers; those with most answers are chosen.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        result, summary = self.result, self.result.worker_summary
        name = "reliability" if hasattr(summary, "reliability") else "agreement"
        value, low, high = (getattr(summary, f"{name}{end}") for end in ("", "_low", "_high"))
        answered = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(value))
        selected = answered[np.argsort(-result.labels_per_worker[answered], kind="stable")][:limit]
        order = selected[np.argsort(value[selected], kind="stable")]
        place = np.arange(len(order))
        ax = axes(ax, (6.0, 0.8 + 0.22 * len(order)))
        ax.hlines(place, low[order], high[order], lw=4, alpha=0.35)
        ax.plot(value[order], place, "o", ms=5)
        ax.set_yticks(place, [name_of(w) for w in result.workers.gather(order).to_list()], parse_math=False)
        ax.set_xlabel(name)
        ax.set_title(f"Workers by {name} ({len(order)} of {len(answered)})")
        return ax


def board_of(result: Result, task: Any = None) -> pl.DataFrame:
    """Return the rows of one leaderboard, best first."""
    estimate: Any = result.estimate
    if hasattr(estimate, "leaderboard"):
        board: pl.DataFrame = estimate.leaderboard().filter(pl.col("n_asked") > 0)
        return board.filter(pl.col("component") == board["component"].min())
    board = estimate.board(result.tasks)
    if not len(board):
        return board
    name = board["task"][0] if task is None else task
    rows = board.filter(pl.col("task") == name)
    if not len(rows):
        raise DataError(f"there is no list {name!r}")
    return rows


def html(result: Result) -> str:
    """Return the first items of a result as HTML for notebooks."""
    board = board_of(result).head(10)
    rows = [[str(item), f"{score:.3f}"] for item, score in board.select("item", "score").iter_rows()]
    return str(Markup("<p>{}</p>").format(repr(result)) + table(["item", "score"], rows))
