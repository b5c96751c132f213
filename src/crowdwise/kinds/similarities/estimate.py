"""Clusters of items, what they say of each pair, and workers by their two coins."""

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
class SimilarityEstimate(Estimate):
    """belief[item, cluster]; of each task its items left and right and `same`, the chance that they are of one cluster.

    `known` marks items whose cluster was given. Clusters are numbered from 0, the largest first unless gold names them.
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
        """From a run folder; a stranger may have had it."""
        assert names is not None
        made = cls(**{name: arrays[name] for name in cls.rules}, items=names.rename("item"))
        if len(made) and max(int(made.left.max()), int(made.right.max())) >= len(names):
            raise DataError("the saved result is damaged (a task has an item that is not there)")
        return made

    def __len__(self) -> int:
        return len(self.left)

    @property
    def cluster(self) -> I8:
        """The likeliest cluster of each item."""
        return np.asarray(self.belief.argmax(axis=1))

    @property
    def n_clusters(self) -> int:
        """Clusters that some item is in."""
        return len(np.unique(self.cluster))

    def table(self, n_labels: npt.NDArray[np.int64]) -> dict[str, Any]:
        """left, right, same (1 or 0), p_same, n_labels."""
        return {
            "left": self.items.gather(self.left),
            "right": self.items.gather(self.right),
            "same": (self.same > 0.5).astype(np.int64),
            "p_same": self.same,
            "n_labels": n_labels,
        }

    def item_table(self) -> pl.DataFrame:
        """One row an item: item, cluster (from 1), confidence, n_answers, known."""
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
        """items.csv."""
        return {"items.csv": self.item_table()}

    def answer_columns(self) -> tuple[str, ...]:
        """left, right, same."""
        return ("left", "right", "same")

    def to_check(self, tasks: pl.Series, picked: npt.NDArray[np.int64]) -> pl.DataFrame:
        """item, cluster (empty): as many items as there are tasks in `picked`, those of these tasks first."""
        del tasks
        order = np.concatenate([self.left[picked], self.right[picked], np.arange(len(self.items))])
        first = order[np.sort(np.unique(order, return_index=True)[1])][: len(picked)]
        blank = pl.Series([None] * len(first), dtype=pl.String)
        return pl.DataFrame({"item": self.items.gather(first), "cluster": blank})

    def coder_options(self) -> dict[str, Any]:
        """The items."""
        return {"items": self.items}

    def facts(self) -> dict[str, Any]:
        """Items and the clusters' sizes."""
        return {"items": len(self.items), "cluster_sizes": np.bincount(self.cluster).tolist()}

    def size(self) -> str:
        """Items."""
        return f", {len(self.items):,} items"

    def summary(self) -> str:
        """Items and clusters."""
        return f"{len(self.items):,} items in {self.n_clusters} clusters"


@dataclass(frozen=True, eq=False)
class SimilarityWorkers(WorkerPicture):
    """Of each worker, with 95 % intervals: `hit`, how often they say "same" of what is, `rejection`, how often
    "different" of what is; `skill`, the share of their answers that is right. NaN where nothing tells."""

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
        """From a run folder."""
        return cls(**{name: arrays[name] for name in cls.rules})

    def table(self) -> dict[str, Any]:
        """skill, hit, rejection and their intervals."""
        return {name: pl.Series(getattr(self, name)).fill_nan(None) for name in self.rules}
