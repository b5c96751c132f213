"""Gold: the known truth of some tasks, as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.truth import place_gold, truth_table
from ..core.vocabulary import lookup, quote, spelt_like
from ..kinds.classes.annotations import Annotations

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Gold:
    """label[task] is a class, or n_classes where the truth is not known."""

    label: npt.NDArray[np.int32]
    n_classes: int

    @property
    def known(self) -> npt.NDArray[np.int64]:
        """The tasks with a known truth."""
        return np.flatnonzero(self.mask)

    @property
    def mask(self) -> npt.NDArray[np.bool_]:
        """mask[task]: whether its truth is known."""
        return np.asarray(self.label < self.n_classes)

    def counts(self, annotations: Annotations) -> F8:
        """counts[worker, true, observed] of the labels on tasks whose truth is known, by their weight."""
        k, true = self.n_classes, self.label[annotations.task]
        rows = np.flatnonzero(true < k)
        cell = (annotations.worker[rows].astype(np.int64) * k + true[rows]) * k + annotations.label[rows]
        weight = None if annotations.weight is None else annotations.weight[rows]
        flat = np.bincount(cell, weights=weight, minlength=annotations.n_workers * k * k)
        return flat.astype(np.float64).reshape(annotations.n_workers, k, k)

    def clamp(self, posterior: F8) -> F8:
        """The posterior with certainty where the truth is known."""
        out = posterior.copy()
        out[self.known] = np.eye(self.n_classes)[self.label[self.known]]
        return out


def as_gold(gold: Any, annotations: Annotations) -> Gold | None:
    """Gold labels as codes; tasks that nobody labelled are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold)
    task, known = place_gold(table, annotations.tasks)
    label, spoken = lookup(annotations.classes, spelt_like(table["label"], annotations.classes))
    if not spoken[known].all():
        strange = table["label"].filter(pl.Series(known & ~spoken)).unique(maintain_order=True)
        raise DataError(
            f"gold labels {quote(strange)} were never given by a worker; add them with annotations.with_classes(...)"
        )
    codes = np.full(annotations.n_tasks, annotations.n_classes, dtype=np.int32)
    codes[task[known]] = label[known]
    return Gold(codes, annotations.n_classes)
