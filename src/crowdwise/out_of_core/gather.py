"""Read all votes of a plan into memory, and place gold in the parts of a plan."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError, LedgerWarning
from ..core.intake.coding import NUMBERS
from ..core.order import order_by
from ..core.truth import truth_table
from ..core.vocabulary import lookup, quote, spelt_like
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.answers import Classes
from ..stats.hashing import name_hash
from .plan import PartitionPlan, PlacedGold
from .shuffle import BITS, FINEST


def in_memory(plan: PartitionPlan) -> Annotations:
    """Return all votes of a plan as `read` returns those of one file, with tasks sorted by name."""
    source = plan.source
    parts = [source.mapped_part(number) for number in range(len(plan.parts))]
    names = pl.concat([part.tasks for part in parts])
    order = names.arg_sort().to_numpy()
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    first = np.concatenate([[0], np.cumsum([part.n_tasks for part in parts])])
    task = np.concatenate([rank[lo + part.task] for lo, part in zip(first, parts, strict=False)])
    cell = np.concatenate([part.cell for part in parts])
    worker, label = np.divmod(cell, np.int32(len(plan.classes)))
    numbers: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in NUMBERS
        if getattr(parts[0], name) is not None
    }
    rows = order_by(task, len(names), np.zeros(len(task), dtype=np.int32), 1)  # already sorted within a task
    if rows is not None:
        task, worker, label = task[rows], worker[rows], label[rows]
        numbers = {name: values[rows] for name, values in numbers.items()}
    return Annotations(
        task=task,
        worker=worker,
        answers=Classes(label, plan.classes, source.order),
        tasks=names.gather(order).rename("task"),
        workers=plan.workers,
        ledger=plan.ledger,
        about_workers=_unusable(plan),
        **numbers,
    )


def _unusable(plan: PartitionPlan) -> pl.DataFrame | None:
    n = plan.per_worker["unusable"]
    workers = np.flatnonzero(n)
    return pl.DataFrame({"worker": plan.workers.gather(workers), "unusable": n[workers]}) if len(workers) else None


def gold_by_part(plan: PartitionPlan, gold: Any) -> PlacedGold | None:
    """Return the gold of each part; tasks without annotations are left out with a warning."""
    if gold is None:
        return None
    table = truth_table(gold)
    label, has_class = lookup(plan.classes, spelt_like(table["label"], plan.classes))
    n, has_task = len(plan.parts), np.zeros(len(table), dtype=bool)
    at = (name_hash(table["task"]) >> np.uint64(64 - BITS)).astype(np.int64) // (FINEST // n)
    is_grouped = bool(plan.options["grouped"])
    parts = []
    for number in range(n):
        rows = np.arange(len(table)) if is_grouped else np.flatnonzero(at == number)
        codes = np.empty(0, dtype=np.int32)
        if len(rows):
            codes, is_task = lookup(plan.source.mapped_part(number).tasks, table["task"].gather(rows))
            rows, codes = rows[is_task], codes[is_task]
            has_task[rows] = True
        parts.append((codes.astype(np.int64), label[rows]))
    _check(table, has_task, has_class)
    return tuple(parts)


def _check(table: pl.DataFrame, has_task: Any, has_class: Any) -> None:
    unknown = table["task"].filter(~pl.Series(has_task))
    if len(unknown) == len(table):
        raise DataError(f"none of the {len(table)} gold tasks is among the annotated tasks ({quote(unknown)})")
    if len(unknown):
        message = f"{len(unknown)} gold tasks have no annotations and are left out: {quote(unknown)}"
        warnings.warn(message, LedgerWarning, stacklevel=3)
    if not has_class[has_task].all():
        unknown_labels = table["label"].filter(pl.Series(has_task & ~has_class)).unique(maintain_order=True)
        raise DataError(f"gold labels {quote(unknown_labels)} were never given by a worker; name them as classes")
