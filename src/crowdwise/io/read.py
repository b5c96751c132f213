"""Read votes and truths from files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from ..core import kind as kinds
from ..core.errors import DataError, LedgerWarning
from ..core.intake.column import UnknownClasses, missing_value_hint, reads_like_missing
from ..core.intake.columns import ALSO_KNOWN_AS, KNOWN_AS, TRUTH, TRUTH_KNOWN_AS, TRUTH_OPTION, plain_name
from ..core.intake.repeats import Duplicates
from ..core.kind import KindHooks
from ..core.options import Multiple, ReadOptions, Rejected
from ..core.vocabulary import as_series
from .detect_kind import columns_of_kind, kind_of_header
from .formats.detect import detect
from .reading import choose_columns, one_label_per_task, read_all
from .sources import FileTable, open_source
from .tables import format_of, table_of


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
    worker_columns: Sequence[str] = (),
    links: Any = None,
    about_tasks: Any = None,
    about_workers: Any = None,
    allow: Sequence[str] = (),
) -> Any:
    """Read votes from a file.

    Tables may be .csv, .tsv, .jsonl or .parquet (also .gz, .zst) and .xlsx; .npy holds Snorkel's label matrix. Exports
    of labelling tools (Label Studio, Argilla, MTurk, Toloka, Prodigy, doccano, CVAT, ...) are recognised. `read_all`
    also returns the gold labels in the file and how it was read.

    Args:
        path: The file, `-` for standard input, or the folder of an export.
        columns: Our column names (task, worker, label, time, weight, duration, confidence, gold, ...) mapped to those
            of the file, where they differ.
        duplicates: What to do when a worker gave a task different labels: "error", "first", "last" or "keep".
        format: The format, where it is not to be detected. "wide" reads a table with one column per worker, whose
            first column names the task.
        question: Which question of an export to read, where it has several.
        multiple: What to do with an answer that holds several labels: "error", "join" (one class "a|b"), "drop" or
            "set" (read all answers as label sets, also from "a|b" in tables).
        predictions: Whether predictions of models in an export count as votes.
        rejected: Whether assignments that the requester rejected are kept ("keep") or dropped ("drop").
        classes: All classes, where the votes may not contain every one of them.
        unknown_classes: What to do with labels outside `classes`: "error" or "drop".
        missing: Values that stand for a missing label, such as R's "NA".
        kind: Kind of the answers ("classes", "numbers", "sets", ...). By default the columns determine it.
        order: Classes from the lowest to the highest, where they are ordered.
        offered: Choices that each task offered, for label sets: a mapping, a file or a frame with one row per task.
        worker_columns: Columns of the workers in a wide table: names, patterns such as "Coder*" or ranges such as
            "C1:C5"; the other columns are about the tasks. By default all columns besides the task's that do not hold
            text or comments.
        links: File or frame with two columns of linked tasks and an optional third column of weights.
        about_tasks: File or frame with one row per task (text, url, ...) to attach to the votes.
        about_workers: File or frame with one row per worker (group, family, cost, ...) to attach to the votes.
        allow: Names of doubts about the votes that do not count, or "all": what looks like a mistake (ids as labels,
            swapped columns, mixed units, ...) is otherwise an error, which gives the name.

    Returns:
        `Annotations` if the answers are classes, else `Votes`.

    Raises:
        DataError: The file cannot be read as votes.
        ParameterError: An option has an invalid value or does not apply to the file.
    """
    options = ReadOptions(
        columns=columns or {},
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
        worker_columns=worker_columns,
        links=links,
        about_tasks=about_tasks,
        about_workers=about_workers,
        allow=allow,
    )
    return read_all(path, options).annotations


def _of_a_kind(table: FileTable) -> pl.DataFrame | None:
    """Read a truth whose columns belong to one kind of answers; None if there are none."""
    for name in kinds.names():
        kind = kinds.get(name)
        if kind.hooks.supports(KindHooks.truth_table) and columns_of_kind(kind, table.header) is not None:
            truth: pl.DataFrame | None = kind.hooks.truth_table(table.read(table.header))
            if truth is not None:
                return truth
    return None


def read_number_truth(path: str | Path, *, missing: Sequence[str] = ()) -> pl.DataFrame:
    """Read true numbers: a table task, value_<part>... as text for answers of several parts, else as `read_truth`."""
    source, where = open_source(path)
    if detect(source, where, str(path))[0] is not None:
        return read_truth(path, missing=missing)
    table = table_of(source, where, format_of(path))
    parts = [name for name in table.header if name.startswith("value_")]
    if not parts:
        return read_truth(path, missing=missing)
    chosen, _ = choose_columns(table, None, ("task",), TRUTH_OPTION)
    frame = table.read([chosen["task"], *parts]).rename({chosen["task"]: "task"})
    frame = frame.select(as_series(frame[name], name).cast(pl.String).str.strip_chars() for name in frame.columns)
    return _complete_rows(frame, missing, table.where, "all its numbers", "a number")


def _complete_rows(frame: pl.DataFrame, missing: Sequence[str], where: str, all_of: str, one_of: str) -> pl.DataFrame:
    """Return the rows without missing values; others are left out with a warning."""
    missing_values = ["", *(str(value).strip() for value in missing)]
    complete = frame.filter(pl.all_horizontal((~pl.all().str.strip_chars().is_in(missing_values)).fill_null(False)))
    if not len(complete):
        raise DataError(f"{where} has no rows with a task and {all_of}; is it the right file?")
    if len(complete) < len(frame):
        message = f"{where}: {len(frame) - len(complete)} rows without a task or {one_of} are left out"
        warnings.warn(message, LedgerWarning, stacklevel=3)
    return complete


def _only_column(header: Sequence[str]) -> dict[str, str] | None:
    """Return the answer column of a kind with a single column (a transcript), if no column is named like a label."""
    plain = {plain_name(name) for name in header}
    if plain & {*KNOWN_AS["label"].split(), *ALSO_KNOWN_AS["label"].split(), *TRUTH_KNOWN_AS.split()}:
        return None
    for name in kinds.names():
        kind = kinds.get(name)
        columns = columns_of_kind(kind, header) if len(kind.columns) == 1 else None
        if columns is not None and len(columns) == 1:
            return {"label": next(iter(columns.values()))}
    return None


def read_truth(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    question: str | None = None,
    missing: Sequence[str] = (),
) -> pl.DataFrame:
    """Read true labels from a file, or the gold labels of a labelling tool's export.

    Rows without a label are left out with a warning.

    Args:
        path: The file, or `-` for standard input.
        columns: Our column names (task, label) mapped to those of the file.
        question: Which question of an export to read, where it has several.
        missing: Values that stand for a missing label.

    Returns:
        A table task, label as text, with each task once.

    Raises:
        DataError: The file holds no labels, or different labels for a task.
    """
    source, where = open_source(path)
    kind = None if columns else detect(source, where, str(path))[0]
    if kind is not None:
        options = ReadOptions(format=kind, question=question, duplicates="keep", multiple="join", allow=("all",))
        reading = read_all(path, options)
        if reading.gold is None:
            raise DataError(f"{where} is read as {kind} and holds no gold labels; name a table task,label")
        return reading.gold
    table = table_of(source, where, format_of(path))
    kind_of_answers = None if columns else kind_of_header(table.header)
    if kind_of_answers is not None and len(kind_of_answers.columns) == 1:
        columns = {"label": next(iter(kind_of_answers.columns))}
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
    complete = _complete_rows(frame.select(TRUTH), missing, table.where, "a label", "a label")
    for label in complete["label"].filter(reads_like_missing(complete["label"])).unique(maintain_order=True):
        warnings.warn(
            f"{table.where}: the true label {label!r} {missing_value_hint(label)}", LedgerWarning, stacklevel=2
        )
    return one_label_per_task(complete, f"{table.where}: ", "true")
