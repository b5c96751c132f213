"""Estimates from same-or-different answers: clusters of items, probabilities of pairs, and quality of workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.estimate import Arrays, Estimate, Rules, WorkerSummary

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SimilarityEstimate(Estimate):
    """Clusters of the items, belief[item, cluster], and the pair of each task.

    left[task] and right[task] are the items of a task, same[task] the probability that they are in the same cluster.
    `answers` counts the answers about each item, and `known` marks items with a gold cluster. Clusters are numbered
    from 0, in the order of the gold names or from the largest to the smallest.
    """

    kind: ClassVar[str] = "similarities"
    rules: ClassVar[Rules] = {
        "left": ("n", "i", "amounts"),
        "right": ("n", "i", "amounts"),
        "same": ("n", "f", "skills"),
        "belief": ("k*", "f", "shares"),
        "answers": ("k", "f", "amounts"),
        "known": ("k", "b", "any"),
    }
    needed: ClassVar[tuple[str, ...]] = ("left", "right", "same", "belief", "answers", "known")
    vocabulary: ClassVar[str | None] = "items"

    left: I8
    right: I8
    same: F8
    belief: F8
    answers: F8
    known: npt.NDArray[np.bool_]
    items: pl.Series

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SimilarityEstimate:  # noqa: ARG003
        """Restore from the arrays of a run folder, which may have been tampered with."""
        assert names is not None
        estimate = cls(**{name: arrays[name] for name in cls.rules}, items=names.rename("item"))
        if len(estimate) and max(int(estimate.left.max()), int(estimate.right.max())) >= len(names):
            raise DataError("the saved result is damaged (a task refers to an item that does not exist)")
        return estimate

    def __len__(self) -> int:
        return len(self.left)

    @property
    def cluster(self) -> I8:
        """The most likely cluster of each item."""
        return np.asarray(self.belief.argmax(axis=1))

    @property
    def n_clusters(self) -> int:
        """Number of clusters with items."""
        return len(np.unique(self.cluster))

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
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

    def answer_columns(self) -> tuple[str, ...]:
        """Names of the answer columns."""
        return ("left", "right", "same")

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
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

    rules: ClassVar[Rules] = {
        f"{name}{end}": ("m", "f", "skills") for name in ("skill", "hit", "rejection") for end in ("", "_low", "_high")
    }
    needed: ClassVar[tuple[str, ...]] = tuple(rules)

    skill: F8
    skill_low: F8
    skill_high: F8
    hit: F8
    hit_low: F8
    hit_high: F8
    rejection: F8
    rejection_low: F8
    rejection_high: F8

    @classmethod
    def of(cls, arrays: Arrays, names: pl.Series | None, params: Mapping[str, Any]) -> SimilarityWorkers:  # noqa: ARG003
        """Restore from the arrays of a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """Columns skill, hit, rejection and their intervals."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
