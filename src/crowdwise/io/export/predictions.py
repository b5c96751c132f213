"""Write results as predictions for Label Studio, where annotators can review the least certain tasks first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.errors import ParameterError
from ..formats.base import Control, TaskItem
from .label_studio import LISTS, names_only, own_control, result_of
from .rows import OBJECT, as_id, as_text, task_facts, write_json_array
from .shapes import UNSIZED, label_studio_shapes

if TYPE_CHECKING:
    from ...core.result import Result
    from ..reading import Reading

DRAWN = ("boxes", "outlines")
# Columns of results that say how sure an estimate is, from 0 to 1.
SURE = ("confidence", "support", "agreement")


@dataclass(frozen=True)
class QuestionResult:
    """The result of one question, and what its export and its run hold besides.

    `question` names the control where there is no original; `about` is the table about the tasks; estimates with a
    score below `at_least` are left out.
    """

    result: Result
    original: Reading | None = None
    question: str | None = None
    about: pl.DataFrame | None = None
    at_least: float | None = None

    @property
    def control(self) -> Control:
        """The control of the original, or a default one."""
        kind = self.result.kind
        if self.original is not None and self.original.control is not None:
            return replace(self.original.control, lists=kind.name in LISTS)
        own = replace(own_control(kind), lists=kind.name in LISTS)
        return own if self.question is None else replace(own, from_name=self.question)


@dataclass(frozen=True)
class TaskPrediction:
    """The estimate of one task: its answer as text, score, and further data to show where there is no original."""

    answer: str
    score: float | None
    data: dict[str, Any]


def write_parts(parts: Sequence[QuestionResult], path: Path) -> tuple[str, ...]:
    """Write tasks with one prediction each, which holds the results of all parts (questions).

    `model_version` is the method, `score` the lowest score of the parts. Tasks without votes get no prediction. The
    ids, data and controls of the original are kept.
    """
    estimates = [_estimates(part) for part in parts]
    all_estimates = estimates
    if any(part.at_least is not None for part in parts):
        estimates = [_sure(part, of_part) for part, of_part in zip(parts, estimates, strict=True)]
    tasks = dict.fromkeys(task for of_part in estimates for task in of_part)
    missing = dict(tasks)
    write_json_array(_tasks(parts, estimates, missing), path)
    n_unlabelled = min(int((part.result.labels_per_task == 0).sum()) for part in parts)
    notes = [f"{n_unlabelled:,} tasks without votes get no prediction"] if n_unlabelled else []
    for part, everything, kept in zip(parts, all_estimates, estimates, strict=True):
        if len(kept) < len(everything):
            of_question = "" if part.question is None else f" of {part.question}"
            n_left = len(everything) - len(kept)
            notes.append(f"{n_left:,} labels{of_question} with a score below {part.at_least:g} are left out")
    first = parts[0]
    if first.original is None or first.original.items is None:
        notes.append(names_only(first.control))
    elif missing:
        notes.append(f"{len(missing):,} tasks of the result are not in the original and are left out")
    if any(part.control.kind == "rating" and _is_number(part.result) for part in parts):
        notes.append("estimates are rounded to whole stars, which is all that a rating holds")
    if any(part.result.kind.name in DRAWN and not _facts(part) for part in parts):
        notes.append(UNSIZED)
    return tuple(notes)


def _tasks(
    parts: Sequence[QuestionResult], estimates: list[dict[str, TaskPrediction]], missing: dict[str, None]
) -> Iterator[dict[str, Any]]:
    """Yield tasks with predictions; those written are removed from `missing`."""
    original = parts[0].original
    facts = [_facts(part) for part in parts]
    items = original.items() if original is not None and original.items is not None else _own_items(estimates, missing)
    for item in items:
        if item.name not in missing:
            continue
        del missing[item.name]
        results, scores = [], []
        for part, of_part, of_task in zip(parts, estimates, facts, strict=True):
            estimate = of_part.get(item.name)
            if estimate is not None:
                results += _results(part, estimate, item, of_task.get(item.name, {}))
                scores.append(estimate.score)
        prediction: dict[str, Any] = {
            "model_version": f"crowdwise:{'+'.join(dict.fromkeys(part.result.method for part in parts))}",
            "result": results,
        }
        numbers = [score for score in scores if score is not None]
        if numbers:
            prediction["score"] = min(numbers)
        yield (
            {"id": as_id(item.id), "data": item.data, "predictions": [prediction]}
            if item.id is not None
            else {
                "data": item.data,
                "predictions": [prediction],
            }
        )


def _own_items(estimates: list[dict[str, TaskPrediction]], tasks: dict[str, None]) -> Iterator[TaskItem]:
    """Yield a task for each estimate whose data hold its name."""
    for task in list(tasks):
        data = {name: value for part in estimates if task in part for name, value in part[task].data.items()}
        yield TaskItem(task, None, {OBJECT: task, "task": task, **data})


def _results(
    part: QuestionResult, estimate: TaskPrediction, item: TaskItem, facts: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the results of one estimate, each with its score; an empty set or a tie has none."""
    kind, control = part.result.kind.name, part.control
    if kind in DRAWN:
        drawn = control if part.original is not None and part.original.control is not None else None
        results = label_studio_shapes(estimate.answer, kind, facts, drawn)
    elif control.kind == "pairwise":
        if estimate.answer not in ("left", "right"):
            return []
        head = {"from_name": control.from_name, "to_name": control.to_name, "type": "pairwise"}
        results = [{**head, "value": {"selected": estimate.answer}}]
    elif control.lists and estimate.answer == "[]":
        return []
    else:
        results = result_of(estimate.answer, control, item.data)
    return results if estimate.score is None else [{**one, "score": estimate.score} for one in results]


def _estimates(part: QuestionResult) -> dict[str, TaskPrediction]:
    """Return task -> estimate, of the tasks with votes."""
    result, control = part.result, part.control
    table = result.to_table()
    answer = "winner" if result.kind.name == "comparisons" else next(iter(result.kind.columns))
    answers = table[answer].round() if control.kind == "rating" and table[answer].dtype.is_float() else table[answer]
    facts = table.select("n_labels", "^low$", "^high$").fill_nan(None).iter_rows(named=True)
    named = zip(as_text(table["task"]), as_text(answers), scores(result, control), facts, strict=True)
    return {task: TaskPrediction(text, score, data) for task, text, score, data in named if data["n_labels"] > 0}


def _sure(part: QuestionResult, estimates: dict[str, TaskPrediction]) -> dict[str, TaskPrediction]:
    """Return the estimates with a sufficient score."""
    threshold = part.at_least
    if threshold is None:
        return estimates
    if estimates and all(one.score is None for one in estimates.values()):
        raise ParameterError(
            f"{part.result.method} gives {part.result.kind.display_name} no confidence; leave --at-least out"
        )
    return {task: one for task, one in estimates.items() if one.score is not None and one.score >= threshold}


def scores(result: Result, control: Control | None = None) -> list[float | None]:
    """Return how sure each estimate is, from 0 to 1; None where the method does not say.

    This is the confidence of a class, a set, spans or a text, the chance of the winner of a pair, the share of the
    workers who drew the boxes, and the overlap with the workers' outlines. Of stars it is the probability that the
    number, rounded, is right if the truth is normal about the estimate; of other numbers the share of the variance
    between tasks that is not uncertainty of this task.
    """
    table = result.to_table()
    column = next((name for name in SURE if name in table.columns), None)
    if column is not None:
        return _shares(table[column])
    if "winner" in table.columns and "p_left" in table.columns:
        return _shares(table.select(pl.max_horizontal("^p_(left|right|tie)$")).to_series())
    if not _is_number(result) or "sd" not in table.columns:
        return [None] * len(table)
    value, sd = (table[name].to_numpy().astype(np.float64) for name in ("value", "sd"))
    if control is not None and control.kind == "rating":
        from scipy.special import ndtr

        wide = np.maximum(_spread(table, sd, float(result.params.get("level", 0.9))), 1e-9)
        star = np.round(value)
        return _shares(pl.Series(ndtr((star + 0.5 - value) / wide) - ndtr((star - 0.5 - value) / wide)))
    between = float(np.nanvar(value[table["n_labels"].to_numpy() > 0]))
    return _shares(pl.Series(np.where(between > 0, 1 - np.minimum(sd**2 / (between or 1.0), 1), np.nan)))


def _spread(table: pl.DataFrame, sd: F8, level: float) -> F8:
    """Return the standard deviation of each truth: that of its interval, which gold may have widened, if there is
    one."""
    from scipy.special import ndtri

    if not {"low", "high"} <= set(table.columns):
        return sd
    half = (table["high"] - table["low"]).to_numpy().astype(np.float64) / 2
    return np.asarray(np.maximum(np.nan_to_num(half / ndtri((1 + level) / 2), nan=0.0), sd))


def _shares(values: pl.Series) -> list[float | None]:
    return [None if value is None or not np.isfinite(value) else float(min(max(value, 0.0), 1.0)) for value in values]


def _is_number(result: Result) -> bool:
    return result.kind.name == "numbers" and "value" in result.to_table().columns


def _facts(part: QuestionResult) -> dict[str, dict[str, Any]]:
    """Return task -> what is known about it: the sizes of images, for shapes."""
    if part.original is not None:
        facts = task_facts(part.original.annotations)
        if any("width" in row for row in facts.values()):
            return facts
    if part.about is None or not {"width", "height"} <= set(part.about.columns):
        return {}
    rows = part.about.with_columns(pl.col("task").cast(pl.String)).iter_rows(named=True)
    return {row["task"]: row for row in rows if row["width"] is not None}
