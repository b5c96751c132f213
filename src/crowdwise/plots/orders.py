"""Plots of results of comparisons and rankings for notebooks: `result.plot.leaderboard()`, `.workers()`."""

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
    >>> votes = cw.comparison_votes([*"aab"], [*"bcc"], ["left"] * 3, worker=[*"xyx"])
    >>> cw.BradleyTerry().fit(votes).plot.leaderboard().get_xlabel()
    'score'
    """

    result: Result

    def leaderboard(self, task: Any = None, limit: int = 40, ax: Any = None) -> Any:
        """Items by score with their intervals, the best on top: of one list (`task`) of rankings, the first unless
        said, or of the largest component of comparisons."""
        if limit < 1:
            raise ParameterError(f"limit must be at least 1, got {limit}")
        own = board_of(self.result, task).head(limit).reverse()
        place = np.arange(len(own))
        score, low, high = (own[name].to_numpy() for name in ("score", "low", "high"))
        ax = axes(ax, (6.0, 0.9 + 0.22 * len(own)))
        ax.hlines(
            place, np.where(np.isfinite(low), low, score), np.where(np.isfinite(high), high, score), lw=4, alpha=0.35
        )
        ax.plot(score, place, "o", ms=5)
        ax.set_yticks(place, [name_of(item) for item in own["item"].to_list()], parse_math=False)
        ax.set_xlabel("score")
        ax.set_title(f"The first {len(own):,} items")
        return ax

    def workers(self, limit: int = WORKERS, ax: Any = None) -> Any:
        """Reliability (of rankings agreement) with its interval, the best on top; of many those with most answers."""
        result, picture = self.result, self.result.picture
        name = "reliability" if hasattr(picture, "reliability") else "agreement"
        value, low, high = (getattr(picture, f"{name}{end}") for end in ("", "_low", "_high"))
        seen = np.flatnonzero((result.labels_per_worker > 0) & np.isfinite(value))
        busy = seen[np.argsort(-result.labels_per_worker[seen], kind="stable")][:limit]
        order = busy[np.argsort(value[busy], kind="stable")]
        place = np.arange(len(order))
        ax = axes(ax, (6.0, 0.8 + 0.22 * len(order)))
        ax.hlines(place, low[order], high[order], lw=4, alpha=0.35)
        ax.plot(value[order], place, "o", ms=5)
        ax.set_yticks(place, [name_of(w) for w in result.workers.gather(order).to_list()], parse_math=False)
        ax.set_xlabel(name)
        ax.set_title(f"Workers by {name} ({len(order)} of {len(seen)})")
        return ax


def board_of(result: Result, task: Any = None) -> pl.DataFrame:
    """The rows of one leaderboard, the best first."""
    estimate: Any = result.estimate
    if hasattr(estimate, "leaderboard"):
        board: pl.DataFrame = estimate.leaderboard().filter(pl.col("n_asked") > 0)
        return board.filter(pl.col("component") == board["component"].min())
    board = estimate.board(result.tasks)
    if not len(board):
        return board
    wanted = board["task"][0] if task is None else task
    own = board.filter(pl.col("task") == wanted)
    if not len(own):
        raise DataError(f"there is no list {wanted!r} here")
    return own


def html(result: Result) -> str:
    """A result in a notebook: what it is, and the first items."""
    own = board_of(result).head(10)
    rows = [[str(item), f"{score:.3f}"] for item, score in own.select("item", "score").iter_rows()]
    return str(Markup("<p>{}</p>").format(repr(result)) + table(["item", "score"], rows))
