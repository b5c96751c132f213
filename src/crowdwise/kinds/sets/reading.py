"""Reading files of true sets and of the classes offered in each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.intake.columns import KNOWN_AS, TRUTH_KNOWN_AS, first_named
from ...core.intake.frames import to_polars
from ...core.vocabulary import as_series
from ...io.tables import open_table
from .answers import NAMES, offered_to


def read_set_truth(path: str | Path, *, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Read a truth file as text.

    Returns:
        A table with the columns task, labels (whole sets), or task, label, value (1 or 0 for single classes).

    Raises:
        DataError: If the file has no usable rows or columns.
    """
    table = open_table(path)
    task = _column(table.header, KNOWN_AS["task"], table.where, "task")
    columns = {name.strip().lower(): name for name in table.header}
    if {"label", "value"} <= set(columns):
        chosen = {"task": task, "label": columns["label"], "value": columns["value"]}
    else:
        names = f"{NAMES} label {TRUTH_KNOWN_AS} {KNOWN_AS['label']}"
        chosen = {"task": task, "labels": _column(table.header, names, table.where, "labels")}
    frame = table.read(list(chosen.values())).rename({theirs: ours for ours, theirs in chosen.items()})
    texts = [_as_text(frame[name]) for name in chosen]
    frame = pl.DataFrame(texts)
    missing_texts = ["", *(str(value).strip() for value in missing)]
    known_rows = frame.filter(pl.all_horizontal((~pl.all().str.strip_chars().is_in(missing_texts)).fill_null(False)))
    if not len(known_rows):
        raise DataError(f"{table.where} has no rows with a task and its labels; is it the right file?")
    return known_rows


def offered_in(task: Any, offered: Any) -> list[Any]:
    """Return the classes offered in each row; `offered` is a mapping, or a file or table with columns task, offered."""
    tasks = as_series(task, "task")
    if isinstance(offered, Mapping):
        return offered_to(tasks, offered)
    if isinstance(offered, str | Path):
        table = open_table(offered)
        where, frame = table.where, table.read(table.header)
    else:
        where, frame = "the table of offered classes", to_polars(offered)
    for name in ("task", "offered"):
        if name not in frame.columns:
            raise DataError(f"{where} has no column {name!r}; it has {', '.join(frame.columns)}")
    if frame["task"].is_duplicated().any():
        raise DataError(f"{where} lists a task twice; keep one row per task")
    return offered_to(tasks, dict(zip(frame["task"].to_list(), frame["offered"].to_list(), strict=True)))


def _column(header: Sequence[str], names: str, where: str, role: str) -> str:
    column = first_named(header, names)
    if column is None:
        raise DataError(f"{where} has no column for the {role}; it has {', '.join(map(repr, header))}")
    return column


def _as_text(values: pl.Series) -> pl.Series:
    """Return lists as JSON and everything else as text."""
    if not isinstance(values.dtype, pl.List):
        return values.cast(pl.String)
    import json

    return pl.Series(values.name, [None if v is None else json.dumps(v, ensure_ascii=False) for v in values.to_list()])
