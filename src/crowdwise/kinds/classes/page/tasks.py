"""Uncertain labels: contested tasks with the labels of all workers, confused classes, contradicted known labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ....core.arrays import F8
from ....core.content import contents
from ....core.result import Result
from ....evaluation.calibration import bins
from ....evaluation.evaluate import evaluate
from ....report import svg
from ....report.svg import NOTHING, reliability
from ....report.text import first_few, shown
from ..annotations import Annotations
from ..methods.gold import as_gold
from ..scoring.evaluate import Evaluation
from ..scoring.tasks import suspected_gold

# ----------------------------------------------------------------
# Calibration: labels against known truth that was not given to the fit.

# Bootstrap resamples for the intervals of the scores.
RESAMPLES = 300
_UNKNOWN = (
    "The truth of no task is known. --truth FILE (or --gold FILE) with some true labels shows whether 90 % sure means "
    "right nine times in ten."
)
_GIVEN = "The known labels were given to the method, so they cannot judge it."


@dataclass(frozen=True)
class Calibration:
    """Scores, reliability diagram and known labels that the crowd contradicts, or the reason why there are none.

    `right[task]` tells whether a scored label is right (NaN if it was not scored).
    """

    scores: Evaluation | None = None
    right: F8 | None = None
    drawing: Markup = NOTHING
    suspects: pl.DataFrame | None = None
    reason: str = ""


def calibration(votes: Annotations, result: Result, truth: Any, blind: Result | None = None) -> Calibration:
    """Measure the calibration; `blind` is a fit without the truth, if `result` was fitted with it."""
    gold = as_gold(truth, votes)
    if gold is None or not len(gold.tasks):
        return Calibration(reason=_UNKNOWN)
    evaluated = blind or result
    at = np.flatnonzero(gold.mask if evaluated.gold is None else gold.mask & ~evaluated.gold)
    if not len(at):
        return Calibration(reason=_GIVEN)
    true = gold.label[at]
    is_right = evaluated.labels[at] == true
    scores = evaluate(evaluated, truth, resamples=RESAMPLES)
    bins_ = bins(evaluated.confidence[at], is_right)
    label = f"Reliability: of {len(at):,} labels with known truth, how many are right at each level of confidence"
    right = np.full(votes.n_tasks, np.nan)
    right[at] = is_right
    return Calibration(scores, right, reliability(bins_, label), suspected_gold(votes, evaluated, truth))


# Most rows of the tables; most worker names listed for one label of a task.
TASKS, CLASSES, GOLD = 200, 12, 50
NAMES = 12
# Longest content of a task.
CONTENT = 240


@dataclass(frozen=True)
class Contested:
    """An uncertain task; `answers` holds (label, number of votes, names of the workers)."""

    task: str
    content: str
    label: str
    second: str
    of: dict[str, Any]
    bar: Markup
    answers: list[tuple[str, int, str]]


def contested_rows(votes: Annotations, table: pl.DataFrame) -> list[Contested]:
    """Return the tasks that need action, most urgent first."""
    rows = table.filter(pl.col("why") != "").head(TASKS).to_dicts()
    task_index = {name: i for i, name in enumerate(votes.tasks.to_list())} if rows else {}
    workers, classes = votes.workers.to_list(), [shown(c, 40) for c in votes.classes.to_list()]
    return [
        Contested(
            task=shown(row["task"]),
            content=shown(content, CONTENT),
            label=shown(row["label"], 40),
            second="" if row["second"] is None else shown(row["second"], 40),
            of=row | {"why": shown(row["why"], 200)},
            bar=svg.bar(row["confidence"]),
            answers=_answers_by_label(votes, task_index[row["task"]], workers, classes),
        )
        for row, content in zip(rows, contents(votes, [row["task"] for row in rows]), strict=True)
    ]


def _answers_by_label(
    votes: Annotations, task: int, workers: list[Any], classes: list[str]
) -> list[tuple[str, int, str]]:
    """Labels of a task with the number and names of the workers who gave them, most frequent first."""
    rows = slice(int(votes.task_offsets[task]), int(votes.task_offsets[task + 1]))
    label, worker = votes.label[rows], votes.worker[rows]
    codes, n = np.unique(label, return_counts=True)
    out = []
    for code, times in sorted(zip(codes.tolist(), n.tolist(), strict=True), key=lambda pair: (-pair[1], pair[0])):
        names = [shown(workers[w], 30) for w in worker[label == code].tolist()]
        out.append((classes[code], times, first_few(names, NAMES)))
    return out


def plain(table: pl.DataFrame, names: tuple[str, ...], at_most: int) -> list[dict[str, Any]]:
    """Return the first rows as dictionaries, with the columns `names` formatted for display."""
    return [
        {name: shown(value, 60) if name in names else value for name, value in row.items()}
        for row in table.head(at_most).to_dicts()
    ]
