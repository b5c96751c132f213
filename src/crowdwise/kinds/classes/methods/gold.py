"""Gold labels and worker priors as codes, and class orders that do not depend on the classes' names."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ....core.arrays import F8, I4, I8, Mask
from ....core.errors import DataError, LedgerWarning
from ....core.result import Result
from ....core.truth import place_gold, truth_table
from ....core.vocabulary import as_series, lookup, quote, spelt_like
from ..annotations import Annotations


@dataclass(frozen=True)
class GoldLabels:
    """Gold labels of some tasks: label[task] is a class code, or n_classes where the truth is not known."""

    label: I4
    n_classes: int

    @property
    def tasks(self) -> I8:
        """Indices of the gold tasks."""
        return np.flatnonzero(self.mask)

    @property
    def mask(self) -> Mask:
        """mask[task]: whether it is a gold task."""
        return np.asarray(self.label < self.n_classes)

    def counts(self, annotations: Annotations) -> F8:
        """Return counts[worker, true, observed] of the labels on gold tasks, by their weight."""
        k, true = self.n_classes, self.label[annotations.task]
        rows = np.flatnonzero(true < k)
        cell = (annotations.worker[rows].astype(np.int64) * k + true[rows]) * k + annotations.label[rows]
        weight = None if annotations.weight is None else annotations.weight[rows]
        flat = np.bincount(cell, weights=weight, minlength=annotations.n_workers * k * k)
        return flat.astype(np.float64).reshape(annotations.n_workers, k, k)

    def clamp(self, posterior: F8) -> F8:
        """Return a copy of the posterior with certainty on gold tasks."""
        out, tasks = posterior.copy(), self.tasks
        out[tasks] = np.eye(self.n_classes)[self.label[tasks]]
        return out


def as_gold(gold: Any, annotations: Annotations) -> GoldLabels | None:
    """Return gold labels as codes; tasks that are not among the annotations are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold)
    task, has_task = place_gold(table, annotations.tasks)
    label, has_class = lookup(annotations.classes, spelt_like(table["label"], annotations.classes))
    if not has_class[has_task].all():
        unknown = table["label"].filter(pl.Series(has_task & ~has_class)).unique(maintain_order=True)
        raise DataError(
            f"gold labels {quote(unknown)} were never given by a worker; add them with annotations.with_classes(...)"
        )
    codes = np.full(annotations.n_tasks, annotations.n_classes, dtype=np.int32)
    codes[task[has_task]] = label[has_task]
    return GoldLabels(codes, annotations.n_classes)


# ----------------------------------------------------------------
# Classes in the order of their first appearance. A sampler's draws, and the ties of eigenvectors and assignments,
# depend on the position of the classes: with classes in the order of their names, renaming them would change the
# answer. Classes without any label are exchangeable.


@dataclass(frozen=True)
class ClassOrder:
    """rank[class] in the order of first appearance; the last `n_unseen` ranks belong to classes without labels."""

    rank: I4
    n_unseen: int

    @classmethod
    def of(cls, annotations: Annotations, gold: GoldLabels | None) -> ClassOrder:
        """Order classes by the rows (which are sorted by task and worker, whatever the labels), then by gold."""
        labels = annotations.label if gold is None else np.concatenate([annotations.label, gold.label[gold.tasks]])
        classes, first = np.unique(labels, return_index=True)
        rank = np.full(annotations.n_classes, -1, dtype=np.int32)
        rank[classes[np.argsort(first)]] = np.arange(len(classes))
        unseen = np.flatnonzero(rank < 0)
        rank[unseen] = np.arange(len(classes), annotations.n_classes)
        return cls(rank, len(unseen))

    def apply(self, annotations: Annotations, gold: GoldLabels | None) -> tuple[Annotations, GoldLabels | None]:
        """Return the same votes and gold with classes numbered by their rank."""
        ranked_gold = None if gold is None else GoldLabels(self.ranked_gold(gold, annotations.n_tasks), gold.n_classes)
        return annotations.with_labels(self.rank[annotations.label]), ranked_gold

    def ranked_gold(self, gold: GoldLabels | None, n_tasks: int) -> I4:
        """Return gold by rank; one past the last rank where the truth is not known."""
        k = len(self.rank)
        if gold is None:
            return np.full(n_tasks, k, dtype=np.int32)
        return np.append(self.rank, np.int32(k))[gold.label]

    def invert(self, values: F8) -> F8:
        """Return values[..., rank] as values[..., class]; unseen classes share evenly."""
        values = values.copy()
        if self.n_unseen > 1:
            unseen = values[..., -self.n_unseen :]
            unseen[...] = unseen.mean(axis=-1, keepdims=True)
        return np.ascontiguousarray(values[..., self.rank])

    def invert_confusion(self, table: F8) -> F8:
        """Invert table[worker, true, observed]; among unseen classes, right and wrong labels stay separate."""
        table, s = table.copy(), self.n_unseen
        if s > 1:
            table[:, :-s, -s:] = table[:, :-s, -s:].mean(axis=2, keepdims=True)
            table[:, -s:, :-s] = table[:, -s:, :-s].mean(axis=1, keepdims=True)
            block = table[:, -s:, -s:]  # a view
            right = np.einsum("wkk->w", block) / s
            wrong = (block.sum(axis=(1, 2)) - s * right) / (s * (s - 1))
            block[...] = np.where(np.eye(s, dtype=bool), right[:, None, None], wrong[:, None, None])
        return np.ascontiguousarray(table[:, self.rank][:, :, self.rank])


# ----------------------------------------------------------------
# Worker priors: counts of (worker, true, observed) from earlier projects, added to those of this one.
# Workers without counts start from the method's own prior. Class frequencies are not carried over: they may differ
# between projects.

COLUMNS = ("worker", "true", "observed", "n")


def as_prior(prior: Any, annotations: Annotations) -> F8 | None:
    """Return counts[worker, observed, true] from a Result or a table with columns worker, true, observed, n.

    Rows of the same cell add up, so tables of several projects can be concatenated.
    """
    if prior is None:
        return None
    table = _table(prior)
    n = table["n"].cast(pl.Float64).to_numpy()
    if not (np.isfinite(n) & (n >= 0)).all():
        raise DataError("the prior's column 'n' must hold numbers from 0 up")
    worker, has_worker = lookup(annotations.workers, as_series(table["worker"], "worker"))
    if len(table) and not has_worker.any():
        raise DataError(
            f"none of the prior's workers is among those of the annotations ({quote(table['worker'].unique().head(4))})"
        )
    cells = [lookup(annotations.classes, as_series(table[name], name)) for name in ("true", "observed")]
    (true, has_true), (observed, has_observed) = cells
    has_cell = has_true & has_observed
    n_dropped = float(n[has_worker & ~has_cell].sum())
    if n_dropped > 0:
        warnings.warn(
            f"{n_dropped:g} labels of the prior concern classes that these annotations do not have and are left out",
            LedgerWarning,
            stacklevel=3,
        )
    k = annotations.n_classes
    use = has_worker & has_cell
    cell = (worker[use].astype(np.int64) * k + observed[use]) * k + true[use]
    counts = np.bincount(cell, weights=n[use], minlength=annotations.n_workers * k * k)
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
