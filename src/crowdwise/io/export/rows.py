"""Annotations row by row and task by task, with everything as text, for the writers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ..formats.base import Item

if TYPE_CHECKING:
    from ...core.votes import Votes
    from ..reading import Reading

Row = dict[str, Any]
# What the data of a task are called where only its name is known.
OBJECT = "text"


def answer_of(annotations: Votes[Any]) -> str:
    """What a column of such answers is called: label, or value."""
    return next(iter(annotations.kind.columns))


def frame_of(annotations: Votes[Any]) -> pl.DataFrame:
    """task, worker and label, which is the answer whatever its kind, as text; the numbers that there are, NaN null."""
    frame = annotations.to_frame().rename({answer_of(annotations): "label"})
    text = as_text(frame["label"])
    return frame.with_columns(pl.col("task", "worker").cast(pl.String), text).with_columns(
        pl.selectors.float().fill_nan(None)
    )


def as_text(values: pl.Series) -> pl.Series:
    """Names as they are, numbers as short as can be: 4 and 2.5."""
    if not values.dtype.is_float():
        return values.cast(pl.String)
    whole = (values == values.round()) & (values.abs() < 2**53)
    short = values.set(~whole, 0.0).cast(pl.Int64).cast(pl.String)
    return pl.select(pl.when(whole).then(short).otherwise(values.cast(pl.String))).to_series().alias(values.name)


def as_number(text: str) -> float | int:
    """The number that `as_text` wrote."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def rows(annotations: Votes[Any]) -> Iterator[Row]:
    """One mapping a row; a number that is missing is None."""
    empty = dict.fromkeys(("weight", "time", "duration", "confidence"))
    for row in frame_of(annotations).iter_rows(named=True):
        yield {**empty, **row}


def by_task(annotations: Votes[Any]) -> Iterator[tuple[str, list[Row]]]:
    """(task, its rows); also tasks without any."""
    every = rows(annotations)
    for task, n in zip(annotations.tasks.cast(pl.String), annotations.labels_per_task.tolist(), strict=True):
        yield task, [next(every) for _ in range(n)]


def by_item(reading: Reading) -> Iterator[tuple[Item, list[Row]]]:
    """Every task with its id and data as the file has them, in the file's order, and its rows.

    Where the file has no more of a task than its name, that is its id and its data, with what else is known of it.
    """
    if reading.items is None:
        known = known_of(reading.annotations)
        for task, found in by_task(reading.annotations):
            yield Item(task, as_id(task), {OBJECT: task} | known.get(task, {})), found
        return
    frame, ends = frame_of(reading.annotations), reading.annotations.task_offsets
    empty = dict.fromkeys(("weight", "time", "duration", "confidence"))
    place = {name: i for i, name in enumerate(reading.annotations.tasks.cast(pl.String))}
    for item in reading.items():
        at = place.pop(item.name, None)  # two items of one name are one task: its labels are written once
        if at is not None:
            yield item, [{**empty, **row} for row in frame[int(ends[at]) : int(ends[at + 1])].iter_rows(named=True)]


def known_of(votes: Votes[Any]) -> dict[str, dict[str, Any]]:
    """task -> what is known of it besides its answers."""
    if votes.about_tasks is None:
        return {}
    names = votes.about_tasks["task"].cast(pl.String)
    facts = votes.about_tasks.drop("task").iter_rows(named=True)
    return {
        name: {key: value for key, value in each.items() if value is not None}
        for name, each in zip(names, facts, strict=True)
    }


def as_id(name: Any) -> Any:
    """Label Studio's ids are numbers; what is none stays as it is."""
    is_number = isinstance(name, str) and name.isascii() and name.isdigit() and str(int(name[:18])) == name
    return int(name) if is_number else name


def by_worker(annotations: Votes[Any]) -> Iterator[tuple[str, list[Row]]]:
    """(worker, rows)."""
    for (worker,), part in frame_of(annotations).group_by("worker", maintain_order=True):
        yield str(worker), part.to_dicts()


def gold_of(reading: Reading) -> dict[str, str]:
    """task -> true label."""
    return {} if reading.gold is None else dict(reading.gold.select("task", "label").iter_rows())


def models_of(reading: Reading) -> set[str]:
    """The workers that are models."""
    if reading.workers is None or "source" not in reading.workers.columns:
        return set()
    return set(reading.workers.filter(pl.col("source") == "model")["worker"])


def moment(seconds: float | None) -> str | None:
    """2026-01-31T23:59:59.000000Z."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def write_json_array(values: Iterator[Any], path: Path) -> None:
    """One value a line, so that a large file needs little memory to write."""
    with path.open("w", encoding="utf-8") as file:
        for i, value in enumerate(values):
            file.write((",\n" if i else "[\n") + json.dumps(value, ensure_ascii=False))
        file.write("\n]\n")


def write_jsonl(values: Iterator[Any], path: Path) -> None:
    """One JSON object per line."""
    with path.open("w", encoding="utf-8") as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
