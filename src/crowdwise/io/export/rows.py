"""Annotations row by row and task by task, with everything as text, for the writers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from ...annotations import Annotations
    from ..reading import Reading

Row = dict[str, Any]


def frame_of(annotations: Annotations) -> pl.DataFrame:
    """task, worker, label as text, and the numbers that there are; NaN is null."""
    names = ["task", "worker", "label"]
    return annotations.to_frame().with_columns(pl.col(names).cast(pl.String), pl.selectors.float().fill_nan(None))


def rows(annotations: Annotations) -> Iterator[Row]:
    """One mapping a row; a number that is missing is None."""
    empty = dict.fromkeys(("weight", "time", "duration", "confidence"))
    for row in frame_of(annotations).iter_rows(named=True):
        yield {**empty, **row}


def by_task(annotations: Annotations) -> Iterator[tuple[str, list[Row]]]:
    """(task, its rows); also tasks without any."""
    every = rows(annotations)
    for task, n in zip(annotations.tasks.cast(pl.String), annotations.labels_per_task.tolist(), strict=True):
        yield task, [next(every) for _ in range(n)]


def by_worker(annotations: Annotations) -> Iterator[tuple[str, list[Row]]]:
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
