"""Estimates from same-or-different answers: clusters of items, probabilities of pairs, and quality of workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.estimate import Axes, Estimate, WorkerSummary


@dataclass(frozen=True, eq=False)
class SimilarityEstimate(Estimate):
    """Clusters of the items, belief[item, cluster], and the pair of each task.

    left[task] and right[task] are the items of a task, same[task] the probability that they are in the same cluster.
    `answers` counts the answers about each item, and `known` marks items with a gold cluster. Clusters are numbered
    from 0, in the order of the gold names or from the largest to the smallest.
    """

    kind: ClassVar[str] = "similarities"
    vocabulary: ClassVar[str | None] = "items"

    left: Annotated[I8, Axes("n", "amounts")]
    right: Annotated[I8, Axes("n", "amounts")]
    same: Annotated[F8, Axes("n", "skills")]
    belief: Annotated[F8, Axes("k*", "shares")]
    answers: Annotated[F8, Axes("k", "amounts")]
    known: Annotated[Mask, Axes("k")]
    items: pl.Series

    def check(self) -> None:
        """Raise if arrays of a run folder contradict each other."""
        if len(self) and max(int(self.left.max()), int(self.right.max())) >= len(self.items):
            raise DataError("the saved result is damaged (a task refers to an item that does not exist)")

    @property
    def cluster(self) -> I8:
        """The most likely cluster of each item."""
        return np.asarray(self.belief.argmax(axis=1))

    @property
    def n_clusters(self) -> int:
        """Number of clusters with items."""
        return len(np.unique(self.cluster))

    def table(self, n_labels: I8) -> dict[str, Any]:
        """Columns left, right, same (1 or 0), p_same, n_labels."""
        return {
            "left": self.items.gather(self.left),
            "right": self.items.gather(self.right),
            "same": (self.same > 0.5).astype(np.int64),
            "p_same": self.same,
            "n_labels": n_labels,
        }

    def item_table(self) -> pl.DataFrame:
        """Table of the items: item, cluster (from 1), confidence, n_answers, known."""
        return pl.DataFrame(
            {
                "item": self.items,
                "cluster": self.cluster + 1,
                "confidence": self.belief.max(axis=1, initial=0.0),
                "n_answers": self.answers,
                "known": self.known,
            }
        )

    def tables(self, tasks: pl.Series) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Further tables of a run folder."""
        return {"items.csv": self.item_table()}

    def to_check(self, tasks: pl.Series, picked: I8) -> pl.DataFrame:
        """Table for checking items by hand: item, cluster (empty); as many as `picked`, those of its tasks first."""
        del tasks
        order = np.concatenate([self.left[picked], self.right[picked], np.arange(len(self.items))])
        first = order[np.sort(np.unique(order, return_index=True)[1])][: len(picked)]
        blank = pl.Series([None] * len(first), dtype=pl.String)
        return pl.DataFrame({"item": self.items.gather(first), "cluster": blank})

    def coder_options(self) -> dict[str, Any]:
        """All items."""
        return {"items": self.items}

    def facts(self) -> dict[str, Any]:
        """Number of items and sizes of the clusters."""
        return {"items": len(self.items), "cluster_sizes": np.bincount(self.cluster).tolist()}

    def size(self) -> str:
        """Number of items, as text."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Numbers of items and clusters, as text."""
        return f"{len(self.items):,} items in {self.n_clusters} clusters"


@dataclass(frozen=True, eq=False)
class SimilarityWorkers(WorkerSummary):
    """Quality of the workers, with 95 % intervals.

    `hit` is the probability of "same" for pairs of one cluster, `rejection` that of "different" for pairs of two,
    `skill` the share of right answers. NaN without information.
    """

    skill: Annotated[F8, Axes("m", "skills")]
    skill_low: Annotated[F8, Axes("m", "skills")]
    skill_high: Annotated[F8, Axes("m", "skills")]
    hit: Annotated[F8, Axes("m", "skills")]
    hit_low: Annotated[F8, Axes("m", "skills")]
    hit_high: Annotated[F8, Axes("m", "skills")]
    rejection: Annotated[F8, Axes("m", "skills")]
    rejection_low: Annotated[F8, Axes("m", "skills")]
    rejection_high: Annotated[F8, Axes("m", "skills")]
