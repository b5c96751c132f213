"""Read votes and truths from files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..core import kind as kinds
from ..core.errors import DataError, LedgerWarning
from ..core.intake.column import UnknownClasses, asking, reads_like_missing
from ..core.intake.columns import ALSO_KNOWN_AS, KNOWN_AS, TRUTH, TRUTH_KNOWN_AS, TRUTH_OPTION
from ..core.intake.repeats import Duplicates
from ..core.kind import KindHooks
from ..core.vocabulary import as_series, quote
from .formats.base import Multiple, Rejected
from .formats.detect import detect
from .kind_of_columns import kind_of_header
from .reading import FORMATS, Reading, choose_columns, read_all
from .sources import Table, open_source
from .tables import format_of, table_of

__all__ = ["FORMATS", "Reading", "read", "read_all", "read_truth"]


def read(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    format: str | None = None,
    question: str | None = None,
    multiple: Multiple | None = None,
    predictions: bool = False,
    rejected: Rejected = "keep",
    classes: Any = None,
    unknown_classes: UnknownClasses = "error",
    missing: Sequence[str] = (),
    kind: str | None = None,
    order: Sequence[Any] | None = None,
    offered: Any = None,
    links: Any = None,
    about_tasks: Any = None,
    about_workers: Any = None,
) -> Any:
    """Votes from a file: .csv, .tsv, .jsonl, .parquet (+ .gz, .zst), .xlsx, .npy (Snorkel's L), `-` for stdin.

    Exports of labelling tools (Label Studio, Argilla, MTurk, Toloka, Prodigy, doccano, CVAT, ...) are recognised.
    `columns` maps task, worker, label (and time, weight, duration, confidence, gold, ...) to the file's names where
    they differ. `format="wide"` reads a table with one column per worker, whose first column names the task.
    `missing` lists values that stand for nothing, such as R's "NA". What comes back are Annotations where the
    answers are classes, and Votes where they are of another `kind`; without `kind` the columns tell. `order` names
    classes that have an order from the lowest to the highest; `offered` says of label sets what could be chosen in
    each task. `about_tasks` and `about_workers` are files or frames with a row a task or worker (text, url; group,
    family, cost), which travel with the votes; `links` is one of linked tasks.
    `read_all` also returns the gold labels that the file knows, and explains what it was taken for.
    """
    return read_all(
        path,
        columns=columns,
        duplicates=duplicates,
        format=format,
        question=question,
        multiple=multiple,
        predictions=predictions,
        rejected=rejected,
        classes=classes,
        unknown_classes=unknown_classes,
        missing=missing,
        kind=kind,
        order=order,
        offered=offered,
        links=links,
        about_tasks=about_tasks,
        about_workers=about_workers,
    ).annotations


def _of_a_kind(table: Table) -> pl.DataFrame | None:
    """A truth in columns that only one kind of answers has, as that kind reads them."""
    for name in kinds.names():
        kind = kinds.get(name)
        told = (
            kind.told_by(table.header)
            if kind.hooks.supports(KindHooks.truth_table) and kind.told_by is not None
            else None
        )
        if told is not None:
            found: pl.DataFrame | None = kind.hooks.truth_table(table.read(table.header))
            if found is not None:
                return found
    return None


def read_number_truth(path: str | Path, *, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Known numbers: a table task, value_<part>... as text where answers have several parts, else as `read_truth`."""
    source, where = open_source(path)
    if detect(source, where, str(path))[0] is not None:
        return read_truth(path, missing=missing)
    table = table_of(source, where, "csv" if str(path) == "-" else format_of(Path(path)))
    parts = [name for name in table.header if name.startswith("value_")]
    if not parts:
        return read_truth(path, missing=missing)
    chosen, _ = choose_columns(table, None, ("task",), TRUTH_OPTION)
    frame = table.read([chosen["task"], *parts]).rename({chosen["task"]: "task"})
    frame = frame.select(as_series(frame[name], name).cast(pl.String).str.strip_chars() for name in frame.columns)
    nothing = ["", *(str(value).strip() for value in missing)]
    full = frame.filter(pl.all_horizontal((~pl.all().is_in(nothing)).fill_null(False)))
    if not len(full):
        raise DataError(f"{table.where} has no rows with a task and all its numbers; is it the right file?")
    if len(full) < len(frame):
        warnings.warn(
            f"{table.where}: {len(frame) - len(full)} rows without a task or a number are left out",
            LedgerWarning,
            stacklevel=2,
        )
    return full


def _only_column(header: Sequence[str]) -> dict[str, str] | None:
    """Where nothing is called a label: the column that a kind of one column knows as its answer (a transcript)."""
    plain = {name.strip().lower().replace(" ", "_") for name in header}
    if plain & {*KNOWN_AS["label"].split(), *ALSO_KNOWN_AS["label"].split(), *TRUTH_KNOWN_AS.split()}:
        return None
    for name in kinds.names():
        kind = kinds.get(name)
        told = kind.told_by(header) if kind.told_by is not None and len(kind.columns) == 1 else None
        if told is not None and len(told) == 1:
            return {"label": next(iter(told.values()))}
    return None


def read_truth(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    question: str | None = None,
    missing: Sequence[str] = (),
) -> pl.DataFrame:
    """A table task, label from a file, as text, each task once; rows without a label are left out with a warning.

    `columns` and `missing` are as for `read`. Of an export of a labelling tool, the gold labels in it.
    """
    source, where = open_source(path)
    kind = None if columns else detect(source, where, str(path))[0]
    if kind is not None:
        reading = read_all(path, format=kind, question=question, duplicates="keep", multiple="join")
        if reading.gold is None:
            raise DataError(f"{where} is read as {kind} and holds no gold labels; name a table task,label")
        return reading.gold
    table = table_of(source, where, "csv" if str(path) == "-" else format_of(Path(path)))
    own = None if columns else kind_of_header(table.header)
    if own is not None and len(own.columns) == 1:
        columns = {"label": next(iter(own.columns))}
    elif not columns:
        columns = _only_column(table.header)
    try:
        frame = _of_a_kind(table) if not columns else None
        if frame is None:
            chosen, _ = choose_columns(table, columns, TRUTH, TRUTH_OPTION)
            frame = table.read(list(chosen.values()))
            frame = pl.DataFrame([as_series(frame[chosen[role]], role).cast(pl.String) for role in TRUTH])
    except DataError as error:
        raise DataError(f"{table.where}: {error}".replace(f"{table.where}: {table.where}", table.where)) from None
    nothing = ["", *(str(value).strip() for value in missing)]
    full = frame.filter(pl.all_horizontal((~pl.col(TRUTH).str.strip_chars().is_in(nothing)).fill_null(False)))
    if not len(full):
        raise DataError(f"{table.where} has no rows with a task and a label; is it the right file?")
    for word in full["label"].filter(reads_like_missing(full["label"])).unique(maintain_order=True):
        warnings.warn(f"{table.where}: the true label {word!r} {asking(word)}", LedgerWarning, stacklevel=2)
    if len(full) < len(frame):
        warnings.warn(
            f"{table.where}: {len(frame) - len(full)} rows without a task or a label are left out",
            LedgerWarning,
            stacklevel=2,
        )
    full = full.unique(maintain_order=True)
    twice = full.filter(pl.col("task").is_duplicated())["task"].unique(maintain_order=True)
    if len(twice):
        raise DataError(
            f"{table.where}: {len(twice)} tasks have two different true labels: {quote(twice)}; keep one of them"
        )
    return full
