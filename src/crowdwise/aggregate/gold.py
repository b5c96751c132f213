"""Gold: the known truth of some tasks, as codes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, LedgerWarning
from ..core.vocabulary import as_series, lookup, quote, spelt_like
from ..kinds.classes import Annotations

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


def truth_table(truth: Any) -> pl.DataFrame:
    """Any way to write down truth (a mapping, a table with task and label) as a polars table, each task once."""
    if isinstance(truth, Mapping):
        frame = pl.DataFrame({"task": as_series(truth.keys(), "task"), "label": as_series(truth.values(), "label")})
    else:
        from ..core.intake.frames import to_polars

        frame = to_polars(truth)
        for name in ("task", "label"):
            if name not in frame.columns:
                raise DataError(f"the truth has no column {name!r}; it has {', '.join(frame.columns)}")
        frame = frame.select(as_series(frame["task"], "task"), as_series(frame["label"], "label"))
    frame = frame.drop_nulls().unique(maintain_order=True)
    twice = frame.filter(frame["task"].is_duplicated())["task"].unique(maintain_order=True)
    if len(twice):
        raise DataError(f"{len(twice)} tasks have two different true labels: {quote(twice)}; keep one of them")
    return frame


def as_gold(gold: Any, annotations: Annotations) -> Gold | None:
    """Gold labels as codes; tasks that nobody labelled are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold)
    task, known = lookup(annotations.tasks, table["task"])
    if not known.all():
        strangers = table["task"].filter(~pl.Series(known))
        if len(strangers) == len(table):
            raise DataError(f"none of the {len(table)} gold tasks is among the annotated tasks ({quote(strangers)})")
        warnings.warn(
            f"{len(strangers)} gold tasks have no annotations and are left out: {quote(strangers)}",
            LedgerWarning,
            stacklevel=3,
        )
    label, spoken = lookup(annotations.classes, spelt_like(table["label"], annotations.classes))
    if not spoken[known].all():
        strange = table["label"].filter(pl.Series(known & ~spoken)).unique(maintain_order=True)
        raise DataError(
            f"gold labels {quote(strange)} were never given by a worker; add them with annotations.with_classes(...)"
        )
    codes = np.full(annotations.n_tasks, annotations.n_classes, dtype=np.int32)
    codes[task[known]] = label[known]
    return Gold(codes, annotations.n_classes)
