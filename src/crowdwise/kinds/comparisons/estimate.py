"""Scores of items with intervals and places, who wins each pair, and workers by how far they can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture
from .answers import OUTCOMES, Comparisons

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ComparisonEstimate(Estimate):
    """score[item] with standard error and interval (NaN where the method has none), and what follows for the tasks.

    Scores compare within a `component` only: items of different ones were never compared, not even by others between
    them. `rank_low`..`rank_high` are the places an item may have there, all together with the chance of the level;
    `group` 1 holds the best item and those that cannot be told from it, and so on. left[task], right[task] are its
    items (-1: nobody answered it), chance[task] the probabilities that left wins, right wins, it is a tie.
    """

    kind: ClassVar[str] = "comparisons"
    rules: ClassVar[Rules] = {
        "score": ("k", "f", "finite"),
        "se": ("k", "f", "any"),
        "score_low": ("k", "f", "any"),
        "score_high": ("k", "f", "any"),
        "rank_low": ("k", "i", "amounts"),
        "rank_high": ("k", "i", "amounts"),
        "group": ("k", "i", "amounts"),
        "component": ("k", "i", "amounts"),
        "n_asked": ("k", "i", "amounts"),
        "left": ("n", "i", "any"),
        "right": ("n", "i", "any"),
        "chance": ("n*", "f", "shares"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)
    vocabulary: ClassVar[str | None] = "items"

    score: F8
    se: F8
    score_low: F8
    score_high: F8
    rank_low: I8
    rank_high: I8
    group: I8
    component: I8
    n_asked: I8
    left: I8
    right: I8
    chance: F8
    items: pl.Series

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ComparisonEstimate:  # noqa: ARG003
        """From a run folder."""
        assert names is not None
        own = {name: arrays[name] for name in cls.rules}
        for side in ("left", "right"):
            if own[side].size and not (own[side].min() >= -1 and own[side].max() < len(names)):
                raise ValueError(f"{side} names items that are not there")
        if own["chance"].shape[1:] != (3,):
            raise ValueError("chance has not three columns")
        return cls(**own, items=names.rename("item"))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """The likeliest outcome of each task: 0 left, 1 right, 2 tie; a tie also where both are as likely."""
        side = np.where(
            np.isclose(self.chance[:, 0], self.chance[:, 1], atol=1e-12), 2, self.chance[:, :2].argmax(axis=1)
        )
        return np.where(self.chance[:, 2] > self.chance[:, :2].max(axis=1), 2, side).astype(np.int8)

    def answers(self) -> Comparisons:
        """What is believed of each task as one answer; of a task that nobody answered it means nothing."""
        left, right = (np.maximum(side, 0).astype(np.int32) for side in (self.left, self.right))
        return Comparisons(left, right, self.outcome, self.items)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """left, right, winner, the three probabilities, n_labels."""
        said = pl.Series(OUTCOMES, dtype=pl.String).gather(self.outcome.astype(np.int64))
        return {
            "left": self._named(self.left),
            "right": self._named(self.right),
            "winner": said,
            "p_left": self.chance[:, 0],
            "p_right": self.chance[:, 1],
            "p_tie": self.chance[:, 2],
            "n_labels": n_labels,
        }

    def _named(self, codes: I8) -> pl.Series:
        if not len(self.items):
            return pl.Series([None] * len(codes), dtype=pl.String)
        return self.items.gather(np.maximum(codes, 0)).set(pl.Series(codes < 0), None)

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """task, left, right, winner (empty)."""
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        sides = {"left": self._named(self.left[picked]), "right": self._named(self.right[picked])}
        return pl.DataFrame({"task": tasks.gather(picked), **sides, "winner": blank})

    def leaderboard(self) -> pl.DataFrame:
        """One row an item, the best of each component first: item, score, low, high, se, rank_low, rank_high, group,
        component, n_asked."""
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
        """Items, islands, and the best item of the largest one."""
        first = self.leaderboard().head(1)
        asked = self.n_asked > 0
        return {
            "items": len(self.items),
            "item_components": len(np.unique(self.component[asked])) if asked.any() else 0,
            "best": first["item"].to_list(),
            "leaderboard": self.leaderboard().head(100).to_dicts(),
        }

    def answer_columns(self) -> tuple[str, ...]:
        """left, right, winner."""
        return ("left", "right", "winner")

    def coder_options(self) -> dict[str, Any]:
        """The items that there are."""
        return {"items": self.items}

    def size(self) -> str:
        """How many items."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """How many items, on how many islands."""
        return f"{len(self.items):,} items in {len(np.unique(self.component)) if len(self.items) else 0:,} components"


@dataclass(frozen=True, eq=False)
class ComparisonWorkers(WorkerPicture):
    """reliability[worker]: the chance that an answer follows the better item (0.5: guesses, below: reversed) with its
    95 % interval; slope (1: as sharp as the crowd), position (above 0: drawn to the left) and tie (log-odds of a tie
    between equal items), NaN where the method has none."""

    rules: ClassVar[Rules] = {
        "reliability": ("m", "f", "skills"),
        "reliability_low": ("m", "f", "skills"),
        "reliability_high": ("m", "f", "skills"),
        "slope": ("m", "f", "any"),
        "position": ("m", "f", "any"),
        "tie": ("m", "f", "any"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)

    reliability: F8
    reliability_low: F8
    reliability_high: F8
    slope: F8
    position: F8
    tie: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> ComparisonWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """All of it; `flip` is the chance that an answer is turned around."""
        out: dict[str, Any] = {name: getattr(self, name) for name in self.rules}
        return {**out, "flip": 1 - self.reliability}
