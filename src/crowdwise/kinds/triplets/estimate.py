"""Places of items, what they say of each triplet, and workers by their slopes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerPicture

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TripletEstimate(Estimate):
    """place[item, axis], the widest axis first; of each task its three items and `left_closer`, the chance that a
    worker of slope 1 finds left more like head."""

    kind: ClassVar[str] = "triplets"
    rules: ClassVar[Rules] = {
        "head": ("n", "i", "amounts"),
        "left": ("n", "i", "amounts"),
        "right": ("n", "i", "amounts"),
        "left_closer": ("n", "f", "skills"),
        "place": ("k*", "f", "finite"),
        "answers": ("k", "f", "amounts"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)
    vocabulary: ClassVar[str | None] = "items"

    head: I8
    left: I8
    right: I8
    left_closer: F8
    place: F8
    answers: F8
    items: pl.Series

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> TripletEstimate:  # noqa: ARG003
        """From a run folder; a stranger may have had it."""
        assert names is not None
        made = cls(**{name: arrays[name] for name in cls.rules}, items=names.rename("item"))
        if len(made) and max(int(each.max()) for each in (made.head, made.left, made.right)) >= len(names):
            raise DataError("the saved result is damaged (a task has an item that is not there)")
        return made

    def __len__(self) -> int:
        return len(self.head)

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """head, left, right, closer, p_left, n_labels."""
        sides = {name: self.items.gather(getattr(self, name)) for name in ("head", "left", "right")}
        closer = pl.Series(["right", "left"]).gather((self.left_closer > 0.5).astype(np.int64))
        return {**sides, "closer": closer, "p_left": self.left_closer, "n_labels": n_labels}

    def item_table(self) -> pl.DataFrame:
        """One row an item: item, axis_1, axis_2, ..., n_answers."""
        axes = {f"axis_{j + 1}": self.place[:, j] for j in range(self.place.shape[1])}
        return pl.DataFrame({"item": self.items, **axes, "n_answers": self.answers})

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """items.csv."""
        return {"items.csv": self.item_table()}

    def answer_columns(self) -> tuple[str, ...]:
        """head, left, right, closer."""
        return ("head", "left", "right", "closer")

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """task, head, left, right, closer (empty)."""
        three = {name: self.items.gather(getattr(self, name)[picked]) for name in ("head", "left", "right")}
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        return pl.DataFrame({"task": tasks.gather(picked), **three, "closer": blank})

    def coder_options(self) -> dict[str, Any]:
        """The items."""
        return {"items": self.items}

    def facts(self) -> dict[str, Any]:
        """Items and how much of their spread each axis holds."""
        return {"items": len(self.items), "axes": self.shares()}

    def shares(self) -> list[float]:
        """Share of the places' variance on each axis."""
        spread = (self.place**2).sum(axis=0) if len(self.place) else np.zeros(self.place.shape[1])
        return [float(each) for each in spread / max(float(spread.sum()), 1e-300)]

    def size(self) -> str:
        """Items."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Items and axes."""
        shares = ", ".join(f"{share:.0%}" for share in self.shares())
        return f"{len(self.items):,} items in {self.place.shape[1]} dimensions (spread {shares})"


@dataclass(frozen=True, eq=False)
class TripletWorkers(WorkerPicture):
    """Of each worker: `slope` (1 the usual worker, 0 a coin, below 0 the opposite) with its interval, and `skill`, the
    share of their answers that go with the places, with its interval."""

    rules: ClassVar[Rules] = {
        "skill": ("m", "f", "skills"),
        "skill_low": ("m", "f", "skills"),
        "skill_high": ("m", "f", "skills"),
        "slope": ("m", "f", "finite"),
        "slope_low": ("m", "f", "finite"),
        "slope_high": ("m", "f", "finite"),
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)

    skill: F8
    skill_low: F8
    skill_high: F8
    slope: F8
    slope_low: F8
    slope_high: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> TripletWorkers:  # noqa: ARG003
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """skill and slope with their intervals."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
