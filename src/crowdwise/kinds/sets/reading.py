"""Files of known sets, and of what could be chosen in each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.intake.columns import KNOWN_AS, TRUTH_KNOWN_AS
from ...core.intake.frames import to_polars
from ...core.vocabulary import as_series
from ...io.tables import open_table
from .kind import NAMES, offered_to


def read_set_truth(path: str | Path, *, missing: Sequence[str] = ()) -> pl.DataFrame:
    """A table task, labels (whole sets), or task, label, value (1 or 0: a word on single classes), as text."""
    table = open_table(path)
    task = _column(table.header, KNOWN_AS["task"], table.where, "task")
    plain = {name.strip().lower(): name for name in table.header}
    if {"label", "value"} <= set(plain):
        chosen = {"task": task, "label": plain["label"], "value": plain["value"]}
    else:
        names = f"{NAMES} label {TRUTH_KNOWN_AS} {KNOWN_AS['label']}"
        chosen = {"task": task, "labels": _column(table.header, names, table.where, "labels")}
    frame = table.read(list(chosen.values())).rename({theirs: ours for ours, theirs in chosen.items()})
    texts = [_as_text(frame[name]) for name in chosen]
    frame = pl.DataFrame(texts)
    nothing = ["", *(str(value).strip() for value in missing)]
    full = frame.filter(pl.all_horizontal((~pl.all().str.strip_chars().is_in(nothing)).fill_null(False)))
    if not len(full):
        raise DataError(f"{table.where} has no rows with a task and its labels; is it the right file?")
    return full


def offered_in(task: Any, offered: Any) -> list[Any]:
    """What could be chosen in each row: `offered` is a mapping, or a file or frame task, offered."""
    tasks = as_series(task, "task")
    if isinstance(offered, Mapping):
        return offered_to(tasks, offered)
    if isinstance(offered, str | Path):
        table = open_table(offered)
        where, frame = table.where, table.read(table.header)
    else:
        where, frame = "the table of what was offered", to_polars(offered)
    for name in ("task", "offered"):
        if name not in frame.columns:
            raise DataError(f"{where} has no column {name!r}; it has {', '.join(frame.columns)}")
    if frame["task"].is_duplicated().any():
        raise DataError(f"{where} names a task twice; keep one row for each")
    return offered_to(tasks, dict(zip(frame["task"].to_list(), frame["offered"].to_list(), strict=True)))


def _column(header: Sequence[str], names: str, where: str, role: str) -> str:
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    for name in names.split():
        if name in plain:
            return plain[name]
    raise DataError(f"{where} has no column for the {role}; it has {', '.join(map(repr, header))}")


def _as_text(values: pl.Series) -> pl.Series:
    """Lists as JSON, everything else as text."""
    if not isinstance(values.dtype, pl.List):
        return values.cast(pl.String)
    import json

    return pl.Series(values.name, [None if v is None else json.dumps(v, ensure_ascii=False) for v in values.to_list()])
