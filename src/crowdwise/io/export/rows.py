"""Votes as rows and tasks of text, for the writers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.intake.coding import NUMBERS
from ..formats.base import TaskItem

if TYPE_CHECKING:
    from ...core.votes import Votes
    from ..reading import Reading

Row = dict[str, Any]
# Data field that holds the name of a task without other data.
OBJECT = "text"


def answer_of(annotations: Votes[Any]) -> str:
    """Return the name of the answer's column, such as label or value."""
    return next(iter(annotations.kind.columns))


def frame_of(annotations: Votes[Any]) -> pl.DataFrame:
    """Return task, worker and label (the answer of any kind) as text, and the numbers of the rows, NaN as null."""
    frame = annotations.to_frame().rename({answer_of(annotations): "label"})
    text = as_text(frame["label"])
    return frame.with_columns(pl.col("task", "worker").cast(pl.String), text).with_columns(
        pl.selectors.float().fill_nan(None)
    )


def as_text(values: pl.Series) -> pl.Series:
    """Convert to text, with numbers in their shortest form: 4 and 2.5."""
    if not values.dtype.is_float():
        return values.cast(pl.String)
    is_integer = (values == values.round()) & (values.abs() < 2**53)
    short = values.set(~is_integer, 0.0).cast(pl.Int64).cast(pl.String)
    return pl.select(pl.when(is_integer).then(short).otherwise(values.cast(pl.String))).to_series().alias(values.name)


def as_number(text: str) -> float | int:
    """Parse a number that `as_text` wrote."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def rows(annotations: Votes[Any]) -> Iterator[Row]:
    """Yield one mapping per row; missing numbers are None."""
    yield from _complete(frame_of(annotations))


def _complete(frame: pl.DataFrame) -> Iterator[Row]:
    empty = dict.fromkeys(NUMBERS)
    for row in frame.iter_rows(named=True):
        yield {**empty, **row}


def by_task(annotations: Votes[Any]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (task, its rows), including tasks without rows."""
    remaining = rows(annotations)
    for task, n in zip(annotations.tasks.cast(pl.String), annotations.labels_per_task.tolist(), strict=True):
        yield task, [next(remaining) for _ in range(n)]


def by_item(reading: Reading) -> Iterator[tuple[TaskItem, list[Row]]]:
    """Yield every task with its id and data, in the file's order, and its rows.

    If the file has no data of its tasks, the name serves as id and data, together with the table about the tasks.
    """
    if reading.items is None:
        facts = task_facts(reading.annotations)
        for task, task_rows in by_task(reading.annotations):
            yield TaskItem(task, as_id(task), {OBJECT: task} | facts.get(task, {})), task_rows
        return
    frame, ends = frame_of(reading.annotations), reading.annotations.task_offsets
    positions = {name: i for i, name in enumerate(reading.annotations.tasks.cast(pl.String))}
    for item in reading.items():
        position = positions.pop(item.name, None)  # two items of one name are one task, which is written once
        if position is not None:
            yield item, list(_complete(frame[int(ends[position]) : int(ends[position + 1])]))


def task_facts(votes: Votes[Any]) -> dict[str, dict[str, Any]]:
    """Return task -> its row in the table about tasks."""
    return facts_of(votes.about_tasks)


def facts_of(about: pl.DataFrame | None) -> dict[str, dict[str, Any]]:
    """Return task -> its row in a table about tasks."""
    if about is None:
        return {}
    names = about["task"].cast(pl.String)
    facts = about.drop("task").iter_rows(named=True)
    return {
        name: {key: value for key, value in row.items() if value is not None}
        for name, row in zip(names, facts, strict=True)
    }


def as_id(name: Any) -> Any:
    """Convert an id to a number, as in Label Studio, if it is one."""
    is_number = isinstance(name, str) and name.isascii() and name.isdigit() and str(int(name[:18])) == name
    return int(name) if is_number else name


def by_worker(annotations: Votes[Any]) -> Iterator[tuple[str, list[Row]]]:
    """Yield (worker, rows)."""
    for (worker,), part in frame_of(annotations).group_by("worker", maintain_order=True):
        yield str(worker), part.to_dicts()


def gold_of(reading: Reading) -> dict[str, str]:
    """Return task -> gold label."""
    return {} if reading.gold is None else dict(reading.gold.select("task", "label").iter_rows())


def models_of(reading: Reading) -> set[str]:
    """Return the workers that are models."""
    if reading.workers is None or "source" not in reading.workers.columns:
        return set()
    return set(reading.workers.filter(pl.col("source") == "model")["worker"])


def moment(seconds: float | None) -> str | None:
    """Format a time as 2026-01-31T23:59:59.000000Z."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def write_json_array(values: Iterator[Any], path: Path) -> None:
    """Write a JSON array, one value per line, with little memory."""
    with path.open("w", encoding="utf-8") as file:
        for i, value in enumerate(values):
            file.write((",\n" if i else "[\n") + json.dumps(value, ensure_ascii=False))
        file.write("\n]\n")


def write_jsonl(values: Iterator[Any], path: Path) -> None:
    """Write one JSON object per line."""
    with path.open("w", encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
