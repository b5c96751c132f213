"""Labels in doubt: contested tasks with who said what, confused classes, known labels that the crowd contradicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ..kinds.classes.annotations import Annotations
from . import svg
from .text import enough, shown

# Rows shown of each table; names of workers listed behind one label of a task.
TASKS, CLASSES, GOLD = 200, 12, 50
NAMES = 12


@dataclass(frozen=True)
class Contested:
    """A task in doubt; `said` holds (label, how many said so, who)."""

    task: str
    label: str
    second: str
    of: dict[str, Any]
    bar: Markup
    said: list[tuple[str, int, str]]


def contested_rows(votes: Annotations, table: pl.DataFrame) -> list[Contested]:
    """The tasks to do something about, what to do first on top."""
    rows = table.filter(pl.col("why") != "").head(TASKS).to_dicts()
    place = {name: i for i, name in enumerate(votes.tasks.to_list())} if rows else {}
    workers, classes = votes.workers.to_list(), [shown(c, 40) for c in votes.classes.to_list()]
    return [
        Contested(
            task=shown(row["task"]),
            label=shown(row["label"], 40),
            second="" if row["second"] is None else shown(row["second"], 40),
            of=row | {"why": shown(row["why"], 200)},
            bar=svg.bar(row["confidence"]),
            said=_said(votes, place[row["task"]], workers, classes),
        )
        for row in rows
    ]


def _said(votes: Annotations, task: int, workers: list[Any], classes: list[str]) -> list[tuple[str, int, str]]:
    """Each label of a task with the number and names of those who gave it, the most frequent first."""
    here = slice(int(votes.task_offsets[task]), int(votes.task_offsets[task + 1]))
    label, worker = votes.label[here], votes.worker[here]
    codes, n = np.unique(label, return_counts=True)
    out = []
    for code, times in sorted(zip(codes.tolist(), n.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])):
        who = [shown(workers[w], 30) for w in worker[label == code].tolist()]
        out.append((classes[code], times, enough(who, NAMES)))
    return out


def plain(table: pl.DataFrame, names: tuple[str, ...], at_most: int) -> list[dict[str, Any]]:
    """The first rows as dictionaries, the columns `names` made fit to show."""
    return [
        {name: shown(value, 60) if name in names else value for name, value in row.items()}
        for row in table.head(at_most).to_dicts()
    ]
