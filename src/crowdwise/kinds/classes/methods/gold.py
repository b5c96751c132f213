"""Gold: the known truth of some tasks, as codes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import DataError, LedgerWarning
from ....core.result import Result
from ....core.truth import place_gold, truth_table
from ....core.vocabulary import as_series, lookup, quote, spelt_like
from ..annotations import Annotations

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


# ----------------------------------------------------------------
# Classes in the order of their first appearance: in it their names cannot sway what is drawn, or how ties are broken.
# A sampler draws with dice, eigenvectors and assignments break ties by position: renaming the classes would change
# their answers. Classes that nobody named are alike in every way.

I4 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class ClassOrder:
    """rank[class] in the order of first appearance; the last `silent` ranks belong to classes that nobody named."""

    rank: I4
    silent: int

    @classmethod
    def of(cls, annotations: Annotations, gold: Gold | None) -> ClassOrder:
        """First by the rows (sorted by task and worker, whatever the labels), then by gold."""
        named = annotations.label if gold is None else np.concatenate([annotations.label, gold.label[gold.known]])
        classes, first = np.unique(named, return_index=True)
        rank = np.full(annotations.n_classes, -1, dtype=np.int32)
        rank[classes[np.argsort(first)]] = np.arange(len(classes))
        quiet = np.flatnonzero(rank < 0)
        rank[quiet] = np.arange(len(classes), annotations.n_classes)
        return cls(rank, len(quiet))

    def renamed(self, annotations: Annotations, gold: Gold | None) -> tuple[Annotations, Gold | None]:
        """The same votes and gold, classes numbered by their rank."""
        known = None if gold is None else Gold(self.gold(gold, annotations.n_tasks), gold.n_classes)
        return annotations.saying(self.rank[annotations.label]), known

    def gold(self, gold: Gold | None, n_tasks: int) -> I4:
        """Gold by rank; one past the last rank where the truth is not known."""
        k = len(self.rank)
        if gold is None:
            return np.full(n_tasks, k, dtype=np.int32)
        return np.append(self.rank, np.int32(k))[gold.label]

    def back(self, values: F8) -> F8:
        """values[..., rank] as values[..., class], silent classes sharing evenly."""
        values = values.copy()
        if self.silent > 1:
            quiet = values[..., -self.silent :]
            quiet[...] = quiet.mean(axis=-1, keepdims=True)
        return np.ascontiguousarray(values[..., self.rank])

    def back_square(self, table: F8) -> F8:
        """The same for table[worker, true, observed]; among silent classes, right and wrong stay apart."""
        table, s = table.copy(), self.silent
        if s > 1:
            table[:, :-s, -s:] = table[:, :-s, -s:].mean(axis=2, keepdims=True)
            table[:, -s:, :-s] = table[:, -s:, :-s].mean(axis=1, keepdims=True)
            block = table[:, -s:, -s:]  # a view
            right = np.einsum("wkk->w", block) / s
            wrong = (block.sum(axis=(1, 2)) - s * right) / (s * (s - 1))
            block[...] = np.where(np.eye(s, dtype=bool), right[:, None, None], wrong[:, None, None])
        return np.ascontiguousarray(table[:, self.rank][:, :, self.rank])


# ----------------------------------------------------------------
# What earlier projects say of the workers: counts of (worker, true, observed) that stand beside the new ones.
# A worker who is not in the prior starts as the method's own prior says. The classes' frequencies are not carried
# over: how common a class was there says nothing about here.

COLUMNS = ("worker", "true", "observed", "n")


def as_prior(prior: Any, annotations: Annotations) -> F8 | None:
    """counts[worker, observed, true] of the workers here, from a Result or a table worker, true, observed, n.

    Rows of the same cell add up, so tables of several projects can be put one below the other.
    """
    if prior is None:
        return None
    table = _table(prior)
    n = table["n"].cast(pl.Float64).to_numpy()
    if not (np.isfinite(n) & (n >= 0)).all():
        raise DataError("the prior's column 'n' must hold numbers from 0 up")
    worker, here = lookup(annotations.workers, as_series(table["worker"], "worker"))
    if len(table) and not here.any():
        raise DataError(
            f"none of the prior's workers is among those of the annotations ({quote(table['worker'].unique().head(4))})"
        )
    cells = [lookup(annotations.classes, as_series(table[name], name)) for name in ("true", "observed")]
    (true, true_here), (observed, observed_here) = cells
    known = true_here & observed_here
    lost = float(n[here & ~known].sum())
    if lost > 0:
        warnings.warn(
            f"{lost:g} labels of the prior concern classes that these annotations do not have and are left out",
            LedgerWarning,
            stacklevel=3,
        )
    k = annotations.n_classes
    use = here & known
    place = (worker[use].astype(np.int64) * k + observed[use]) * k + true[use]
    counts = np.bincount(place, weights=n[use], minlength=annotations.n_workers * k * k)
    return counts.astype(np.float64).reshape(annotations.n_workers, k, k)


def _table(prior: Any) -> pl.DataFrame:
    if isinstance(prior, Result):
        if prior.confusion is None or prior.counts is None:
            raise DataError(f"the result of {prior.method} holds no counts of right and wrong labels to start from")
        return prior.confusion_table().select(COLUMNS)
    from ....core.intake.frames import to_polars

    frame = to_polars(prior)
    for name in COLUMNS:
        if name not in frame.columns:
            raise DataError(f"the prior has no column {name!r}; it has {', '.join(frame.columns)}")
    return frame.select(COLUMNS).drop_nulls()
