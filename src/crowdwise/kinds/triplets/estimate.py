"""Estimated embeddings of items with the probabilities of triplets, and the workers' slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary


@dataclass(frozen=True, eq=False)
class TripletEstimate(Estimate):
    """Embedding of the items and probabilities of the triplets.

    Args:
        head: Reference item of each task, as a code into `items`.
        left: First item to compare with it.
        right: Second item to compare with it.
        left_closer: Probability that a worker of slope 1 finds left closer to head.
        place: place[item, axis], widest axis first.
        answers: Number of answers that involve each item.
        items: Names of the items.
    """

    kind: ClassVar[str] = "triplets"
    vocabulary: ClassVar[str | None] = "items"

    head: Annotated[I8, Axes("n", "amounts")]
    left: Annotated[I8, Axes("n", "amounts")]
    right: Annotated[I8, Axes("n", "amounts")]
    left_closer: Annotated[F8, Axes("n", "skills")]
    place: Annotated[F8, Axes("k*", "finite")]
    answers: Annotated[F8, Axes("k", "amounts")]
    items: pl.Series

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        if len(self) and max(int(codes.max()) for codes in (self.head, self.left, self.right)) >= len(self.items):
            raise DataError("the saved result is damaged (a task has an unknown item)")

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Return the columns head, left, right, closer, p_left and n_labels."""
        sides = {name: self.items.gather(getattr(self, name)) for name in ("head", "left", "right")}
        closer = pl.Series(["right", "left"]).gather((self.left_closer > 0.5).astype(np.int64))
        return {**sides, "closer": closer, "p_left": self.left_closer, "n_labels": n_labels}

    def item_table(self) -> pl.DataFrame:
        """Return one row per item: item, axis_1, axis_2, ..., n_answers."""
        axes = {f"axis_{j + 1}": self.place[:, j] for j in range(self.place.shape[1])}
        return pl.DataFrame({"item": self.items, **axes, "n_answers": self.answers})

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Return the table of items for items.csv."""
        return {"items.csv": self.item_table()}

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
        """Return a table task, head, left, right, closer, with closer to fill in."""
        sides = {name: self.items.gather(getattr(self, name)[picked]) for name in ("head", "left", "right")}
        blank = pl.Series([None] * len(picked), dtype=pl.String)
        return pl.DataFrame({"task": tasks.gather(picked), **sides, "closer": blank})

    def coder_options(self) -> dict[str, Any]:
        """Return the items as an option of the coder."""
        return {"items": self.items}

    def facts(self) -> dict[str, Any]:
        """Return the number of items and the share of the variance on each axis."""
        return {"items": len(self.items), "axes": self.shares()}

    def shares(self) -> list[float]:
        """Return the share of the variance of the embedding on each axis."""
        spread = (self.place**2).sum(axis=0) if len(self.place) else np.zeros(self.place.shape[1])
        return [float(share) for share in spread / max(float(spread.sum()), 1e-300)]

    def size(self) -> str:
        """Describe the number of items."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Describe the number of items and dimensions."""
        shares = ", ".join(f"{share:.0%}" for share in self.shares())
        return f"{len(self.items):,} items in {self.place.shape[1]} dimensions (spread {shares})"


@dataclass(frozen=True, eq=False)
class TripletWorkers(WorkerSummary):
    """Quality of the workers.

    Args:
        skill: Share of a worker's answers that agree with the embedding.
        skill_low: Lower end of its 95 % interval.
        skill_high: Upper end of its 95 % interval.
        slope: 1 for the typical worker, 0 for random answers, negative for opposite answers.
        slope_low: Lower end of its 95 % interval.
        slope_high: Upper end of its 95 % interval.
    """

    skill: Annotated[F8, Axes("m", "skills")]
    skill_low: Annotated[F8, Axes("m", "skills")]
    skill_high: Annotated[F8, Axes("m", "skills")]
    slope: Annotated[F8, Axes("m", "finite")]
    slope_low: Annotated[F8, Axes("m", "finite")]
    slope_high: Annotated[F8, Axes("m", "finite")]
