"""Estimates from comparisons: scores and ranks of items, outcomes of pairs, and the reliability of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.estimate import Axes, Estimate, WorkerSummary
from .answers import OUTCOMES, Comparisons


@dataclass(frozen=True, eq=False)
class ComparisonEstimate(Estimate):
    """Scores of the items with intervals and ranks, and the outcome of each task.

    score[item] comes with a standard error and an interval (NaN where the method has none). Scores are comparable
    within a `component` only: items of different components were never compared, not even through other items.
    `rank_low`..`rank_high` is a simultaneous confidence interval of the rank within the component; `group` 1 holds the
    best item and those that cannot be distinguished from it, and so on. left[task] and right[task] are the items of a
    task (-1 without answers), chance[task] the probabilities that left wins, right wins, and of a tie.
    """

    kind: ClassVar[str] = "comparisons"
    vocabulary: ClassVar[str | None] = "items"

    score: Annotated[F8, Axes("k", "finite")]
    se: Annotated[F8, Axes("k")]
    score_low: Annotated[F8, Axes("k")]
    score_high: Annotated[F8, Axes("k")]
    rank_low: Annotated[I8, Axes("k", "amounts")]
    rank_high: Annotated[I8, Axes("k", "amounts")]
    group: Annotated[I8, Axes("k", "amounts")]
    component: Annotated[I8, Axes("k", "amounts")]
    n_asked: Annotated[I8, Axes("k", "amounts")]
    left: Annotated[I8, Axes("n")]
    right: Annotated[I8, Axes("n")]
    chance: Annotated[F8, Axes("n*", "shares")]
    items: pl.Series

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        for name, side in (("left", self.left), ("right", self.right)):
            if side.size and not (side.min() >= -1 and side.max() < len(self.items)):
                raise ValueError(f"{name} refers to items that do not exist")
        if self.chance.shape[1:] != (3,):
            raise ValueError("chance does not have three columns")

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """The most likely outcome of each task: 0 left, 1 right, 2 tie (or left and right are equally likely)."""
        side = np.where(
            np.isclose(self.chance[:, 0], self.chance[:, 1], atol=1e-12), 2, self.chance[:, :2].argmax(axis=1)
        )
        return np.where(self.chance[:, 2] > self.chance[:, :2].max(axis=1), 2, side).astype(np.int8)

    def answers(self) -> Comparisons:
        """The most likely outcome of each task as an answer; arbitrary for tasks without answers."""
        left, right = (np.maximum(side, 0).astype(np.int32) for side in (self.left, self.right))
        return Comparisons(left, right, self.outcome, self.items)

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Columns left, right, winner, p_left, p_right, p_tie, n_labels."""
        winner = pl.Series(OUTCOMES, dtype=pl.String).gather(self.outcome.astype(np.int64))
        return {
            "left": self._named(self.left),
            "right": self._named(self.right),
            "winner": winner,
            "p_left": self.chance[:, 0],
            "p_right": self.chance[:, 1],
            "p_tie": self.chance[:, 2],
            "n_labels": n_labels,
        }

    def _named(self, codes: I8) -> pl.Series:
        if not len(self.items):
            return pl.Series([None] * len(codes), dtype=pl.String)
        return self.items.gather(np.maximum(codes, 0)).set(pl.Series(codes < 0), None)

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
        """Table for checking tasks by hand: task, left, right, winner (empty)."""
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        sides = {"left": self._named(self.left[picked]), "right": self._named(self.right[picked])}
        return pl.DataFrame({"task": tasks.gather(picked), **sides, "winner": blank})

    def leaderboard(self) -> pl.DataFrame:
        """Table of the items, the best of each component first.

        Columns: item, score, low, high, se, rank_low, rank_high, group, component, n_asked.
        """
        table = pl.DataFrame(
            {
                "item": self.items,
                "score": self.score,
                "low": pl.Series(self.score_low).fill_nan(None),
                "high": pl.Series(self.score_high).fill_nan(None),
                "se": pl.Series(self.se).fill_nan(None),
                "rank_low": self.rank_low,
                "rank_high": self.rank_high,
                "group": self.group,
                "component": self.component + 1,
                "n_asked": self.n_asked,
            }
        )
        return table.sort(["component", "score", "item"], descending=[False, True, False])

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:
        """Further tables of a run folder."""
        del tasks
        return {"items.csv": self.leaderboard()}

    without_labels: ClassVar[str] = "chance of any two items"

    def facts(self) -> dict[str, Any]:
        """Numbers of items and components, the best item of the largest component, and the leaderboard."""
        first = self.leaderboard().head(1)
        was_compared = self.n_asked > 0
        return {
            "items": len(self.items),
            "item_components": len(np.unique(self.component[was_compared])) if was_compared.any() else 0,
            "best": first["item"].to_list(),
            "leaderboard": self.leaderboard().head(100).to_dicts(),
        }

    def coder_options(self) -> dict[str, Any]:
        """All items."""
        return {"items": self.items}

    def size(self) -> str:
        """Number of items, as text."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Numbers of items and components, as text."""
        return f"{len(self.items):,} items in {len(np.unique(self.component)) if len(self.items) else 0:,} components"


@dataclass(frozen=True, eq=False)
class ComparisonWorkers(WorkerSummary):
    """Quality of the workers.

    reliability[worker] is the probability that an answer prefers the better item (0.5: guesses, below: reversed), with
    a 95 % interval. slope (1: as sharp as the crowd), position (above 0: prefers the left side) and tie (log-odds of a
    tie between equal items) are NaN where the method has none.
    """

    reliability: Annotated[F8, Axes("m", "skills")]
    reliability_low: Annotated[F8, Axes("m", "skills")]
    reliability_high: Annotated[F8, Axes("m", "skills")]
    slope: Annotated[F8, Axes("m")]
    position: Annotated[F8, Axes("m")]
    tie: Annotated[F8, Axes("m")]

    def table(self) -> dict[str, Any]:
        """All columns; `flip` is the probability that an answer is reversed."""
        return {**self.arrays(), "flip": 1 - self.reliability}
