"""Wide tables: one row per task, one column per worker, empty cells for missing answers."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.intake.columns import KNOWN_AS, plain_name
from ..core.intake.matrix import melt
from ..core.options import ReadOptions
from ..core.vocabulary import quote
from .formats.base import ParsedFile
from .tables import FORMATS, open_table

# Names of columns about the task, in English and German.
ABOUT = (
    "text aussage statement sentence satz comment comments kommentar anmerkung anmerkungen bemerkung bemerkungen note "
    "notes notiz notizen remark remarks description beschreibung title titel url link"
)
# A column of values this long (median, in characters) that hardly repeat holds text, not labels.
LONG, REPEATED = 25, 0.5
# A column with at least this many values, none of which another column has, is asked about.
STRANGE = 5


def read_wide(path: str | Path, options: ReadOptions) -> tuple[str, ParsedFile]:
    """Return the name of the file for messages, and its content; cells with a value in `missing` are empty."""
    columns, missing = options.columns, options.missing
    has_format = str(path) == "-" or any(s.lower() in FORMATS for s in Path(path).suffixes)
    table = open_table(path, None if has_format else "csv")
    where = table.where
    header = table.header if table.all_names is None else table.all_names()
    if set(columns) - {"task"}:
        raise ParameterError(f"{where}: in a wide table only the column of the task can be named: --columns task=NAME")
    named = _matching(options.worker_columns, header, where) if options.worker_columns else []
    name = columns.get("task") or _task_column([c for c in header if c not in named], bool(named), where)
    if name not in header:
        raise DataError(f"{where} has no column {name!r} for the task; it has {quote(header, 8)}")
    workers = [c for c in named or header if c != name]
    if not workers:
        raise DataError(f"{where} has no column besides {name!r}; a wide table has one column per worker")
    frame = table.read(header)
    dtypes = frame.schema  # read once: the property is recomputed on access, and there may be very many columns
    frame = frame.with_columns(
        _full(pl.col(c), dtypes[c], missing) for c in header if missing or dtypes[c] == pl.String
    )
    frame, notes = _named_only(frame, workers, where)
    empty = frame[name].is_null()
    blank = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    if (empty & ~blank).any():
        row = int((empty & ~blank).arg_true()[0])
        raise DataError(f"{where}, row {row + 1}: labels without a task; fill in column {name!r}")
    if blank.any():
        notes += (f"{blank.sum()} blank rows are ignored",)
        frame = frame.filter(~blank)
    chosen = set(workers)
    workers = [c for c in frame.columns if c in chosen]
    if not named and options.requested_kind in (None, "classes", "numbers"):
        workers, about_notes = _without_text(frame, workers)
        notes += about_notes
        _refuse_strange(frame, workers, where)
    return where, _content(frame, name, workers, where, table.notes + notes, table.decimal_comma)


def _content(
    frame: pl.DataFrame, name: str, workers: list[str], where: str, notes: tuple[str, ...], decimal_comma: bool
) -> ParsedFile:
    """Return the votes in the columns of the workers; the other columns are about the tasks."""
    try:
        task, worker, label, tasks, all_workers, more = melt(frame.select(workers), frame[name], None, None)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    not_about = {name, *workers}
    about = [c for c in frame.columns if c not in not_about]
    facts = frame.select(pl.col(name).cast(pl.String).alias("task"), *(pl.col(c) for c in about if c != "task"))
    return ParsedFile(
        {"task": task, "worker": worker, "label": label},
        notes=notes + more,
        tasks=tasks,
        all_workers=all_workers,
        decimal_comma=decimal_comma,
        about_tasks=facts if facts.width > 1 else None,
    )


def _matching(patterns: Sequence[str], header: Sequence[str], where: str) -> list[str]:
    """Return the columns that match names, patterns (Coder*) or ranges (C1:C5)."""
    matches: list[str] = []
    for pattern in (text.strip() for text in patterns):
        first, colon, last = pattern.partition(":")
        if pattern in header:
            columns = [pattern]
        elif colon and {first.strip(), last.strip()} <= set(header):
            ends = sorted((header.index(first.strip()), header.index(last.strip())))
            columns = list(header[ends[0] : ends[1] + 1])
        else:
            columns = [c for c in header if fnmatchcase(c, pattern)]
        if not columns:
            raise DataError(f"{where} has no column {pattern!r} for --workers; it has {quote(header, 12)}")
        matches += [c for c in columns if c not in matches]
    return matches


def _task_column(header: Sequence[str], is_chosen: bool, where: str) -> str:
    """Return the column of the task: the first, or where the workers' columns are named one that is called so."""
    if not header and not is_chosen:
        raise DataError(f"{where} has no column 'task' for the task")
    if not header:
        raise DataError(f"{where}: --workers takes every column; none is left for the task")
    ids = [c for c in header if plain_name(c) in ("id", "nr", *KNOWN_AS["task"].split())] if is_chosen else []
    return (ids or list(header))[0]


def _without_text(frame: pl.DataFrame, workers: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the workers' columns without those of text or comments, and a note about these."""
    about = [
        c for c in workers if _is_text(frame[c]) or (plain_name(c) in ABOUT.split() and not _shares(frame, c, workers))
    ]
    if not about or len(about) == len(workers):
        return workers, ()
    note = f"about the tasks, not workers: {quote(about, 8)}; --workers names the columns of the workers"
    return [c for c in workers if c not in about], (note,)


def _is_text(cells: pl.Series) -> bool:
    if cells.dtype != pl.String or cells.null_count() == len(cells):
        return False
    full = cells.drop_nulls()
    return float(full.str.len_chars().median() or 0) >= LONG and full.n_unique() > REPEATED * len(full)  # type: ignore[arg-type]


def _shares(frame: pl.DataFrame, column: str, workers: Sequence[str]) -> bool:
    """Whether most values of a column occur in another column too."""
    others = [frame[c].cast(pl.String) for c in workers if c != column]
    values = frame[column].drop_nulls().cast(pl.String)
    if not others or not len(values):
        return True
    return float(values.is_in(pl.concat(others, rechunk=True).unique().implode()).mean() or 0) > REPEATED  # type: ignore[arg-type]


def _refuse_strange(frame: pl.DataFrame, workers: Sequence[str], where: str) -> None:
    """Ask about a column that shares no value with the others, while they share theirs."""
    if len(workers) < 3 or len(workers) > 200:
        return
    values = {c: set(frame[c].drop_nulls().cast(pl.String).unique().to_list()) for c in workers}
    alone = [c for c in workers if values[c] and not any(values[c] & values[o] for o in workers if o != c)]
    if len(alone) > len(workers) / 3:
        return
    for column in alone:
        if len(frame[column].drop_nulls()) >= STRANGE:
            raise DataError(
                f"{where}: column {column!r} shares no value with the others, so it may be about the tasks; name "
                "the columns of the workers with --workers, such as --workers 'Coder*' (in Python worker_columns=)"
            )


def _full(cell: pl.Expr, dtype: pl.DataType, missing: Sequence[str]) -> pl.Expr:
    """Replace blank cells and missing values by null."""
    if dtype != pl.String and not missing:
        return cell
    return pl.when(~cell.cast(pl.String).str.strip_chars().is_in(["", *map(str, missing)])).then(cell)


def _named_only(frame: pl.DataFrame, workers: list[str], where: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Drop empty columns without a name, as spreadsheets leave behind; raise if such a column has values."""
    unnamed = [c for c in workers if not c.strip()]
    for column in unnamed:
        if frame[column].null_count() < frame.height:
            raise DataError(f"{where}: column {frame.columns.index(column) + 1} has labels but no name; name it")
    notes = (f"{len(unnamed)} empty columns without a name are ignored",) if unnamed else ()
    return frame.drop(unnamed), notes
