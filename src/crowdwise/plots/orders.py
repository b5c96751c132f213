"""Plots of results of comparisons and rankings: `result.plot.leaderboard()`, `.workers()`."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ..core.errors import DataError
from ..core.result import Result
from . import WorkerPlots, check_limit, draw_intervals
from .notebook import table


class OrderPlots(WorkerPlots):
    """The plots of one result; `workers` shows the reliability, for rankings the agreement.

    >>> import crowdwise as cw
    >>> votes = cw.comparisons.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> cw.comparisons.BradleyTerry().fit(votes).plot.leaderboard().get_xlabel()
    'score'
    """

    @property
    def measure(self) -> str:  # type: ignore[override]
        """The attribute of the workers that is shown."""
        return "reliability" if hasattr(self.result.worker_summary, "reliability") else "agreement"

    def leaderboard(self, task: Any = None, limit: int = 40, ax: Any = None) -> Any:
        """Plot items by score with their intervals, best on top.

        Args:
            task: List of rankings, the first by default. Comparisons show the largest component.
            limit: Number of items.
            ax: Axes to draw into.

        Returns:
            The Axes.
        """
        check_limit(limit)
        board = board_of(self.result, task).head(limit).reverse()
        score, low, high = (board[name].to_numpy() for name in ("score", "low", "high"))
        low, high = (np.where(np.isfinite(end), end, score) for end in (low, high))
        ax = draw_intervals(ax, board["item"].to_list(), score, low, high, margin=0.9)
        ax.set_xlabel("score")
        ax.set_title(f"The first {len(board):,} items")
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
