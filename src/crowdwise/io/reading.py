"""Read everything in a file of votes: the votes, and what else the tool that wrote the file recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from ..core import kind as kinds
from ..core.answers import Coder
from ..core.doubt import OF_AGGREGATION, InputDoubt, refuse
from ..core.errors import DataError, ParameterError
from ..core.intake.coding import encode
from ..core.intake.columns import TAKEN, candidates, choose, values
from ..core.kind import Kind
from ..core.ledger import Ledger
from ..core.options import ReadOptions
from ..core.progress import watching
from ..core.vocabulary import quote
from .about import attach_links, attach_tables, facts, facts_of_items
from .detect_kind import FALLBACK, accepts_columns, answer_of, detect_kind, kind_from_values, may_be_classes, roles
from .doubts import doubts_of
from .formats import FORMATS as EXPORTS
from .formats import get
from .formats.base import TASK_COLUMNS, Control, ParsedFile, TaskItem
from .formats.detect import PLAIN, detect
from .numerals import respell, with_points
from .sources import FileTable, Source, open_source, printable
from .tables import format_of, table_of

TABLES = ("csv", "tsv", "jsonl", "parquet", "excel", "wide", "snorkel")
FORMATS = (*TABLES, *EXPORTS)


@dataclass(frozen=True)
class Reading:
    """The votes of a file, how they were read, and what came with them.

    Attributes:
        annotations: The votes: `Annotations` of classes, `Votes` of another kind.
        format: The format that the file was read as.
        why: How the format was determined.
        question: Which question of an export was read.
        columns: Our column names mapped to those of the file.
        gold: Gold labels in the file itself (task, label).
        workers: Whether workers are human or models, and their group, where the file states it (worker, source, group).
        items: Iterates over the tasks of an export of Label Studio, with ids and data.
        control: The question as Label Studio names it.
        doubts: What looks like a mistake and was allowed, or concerns aggregation only.
    """

    annotations: Any
    format: str
    why: str
    question: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    gold: pl.DataFrame | None = None
    workers: pl.DataFrame | None = None
    items: Callable[[], Iterator[TaskItem]] | None = None
    control: Control | None = None
    doubts: tuple[InputDoubt, ...] = ()

    def usable_gold(self) -> tuple[pl.DataFrame | None, str | None]:
        """Return the gold labels in the file that a fit may use, and a note about them.

        Where a file holds the truth of every task, it is meant for evaluation and is not used.
        """
        if self.gold is None:
            return None, None
        if len(self.gold) >= self.annotations.n_tasks:
            n = f"{len(self.gold):,}"
            return None, f"the file holds the true label of all {n} tasks, which is not used (see evaluate --truth)"
        return self.gold, f"{len(self.gold):,} gold labels in the file itself are used; --gold FILE takes others"


def read_all(path: str | Path, options: ReadOptions | None = None, **keywords: Any) -> Reading:
    """Read everything in a file of votes; `read` returns the votes alone.

    Args:
        path: The file, `-` for standard input, or the folder of an export.
        options: How to read the file.
        **keywords: The fields of `ReadOptions`, if `options` is not given. They are the keyword arguments of `read`,
            and `likely`: the kind of answers to assume where neither `kind` nor the columns determine it.

    Returns:
        The votes, the format that was detected, and what else the file holds: gold labels, questions, tasks.
    """
    if options is None:
        options = ReadOptions(**keywords)
    elif keywords:
        raise ParameterError(f"give options or keywords, not both; got {', '.join(keywords)}")
    if options.format is not None and options.format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {options.format!r}")
    if options.format == "snorkel" or (options.format is None and str(path).endswith(".npy")):
        from .snorkel import read_snorkel

        votes = read_snorkel(path, options.columns, options.classes)
        return Reading(_attach(votes, options, links=False), "snorkel", "the file's name ends in .npy")
    with watching(f"reading {Path(path).name}"):
        return _read_all(path, options)


def _read_all(path: str | Path, options: ReadOptions) -> Reading:
    """Read a file or folder (see `read_all`)."""
    where, name, why, chosen, content = _parse_file(path, options)
    kind = kinds.get(options.expected_kind or content.kind)
    _take_as(content, kind, where)
    if options.offered is not None:
        _add_offered(content, kind, options.offered)
    coder = _coder(kind, options, name, content)
    votes = _build_votes(kind, coder, content, where, name, options)
    doubts = doubts_of(votes, chosen, options) if name in TABLES else []
    refuse(doubts, (*options.allow, *OF_AGGREGATION), where)
    votes = _attach(_attach_file_tables(votes, content, where, options.columns), options)
    return Reading(
        votes, name, why, content.question, chosen, content.gold, content.workers, content.items, content.control,
        tuple(doubts),
    )  # fmt: skip


def _build_votes(
    kind: Kind,
    coder: Callable[[dict[str, Any]], Coder],
    content: ParsedFile,
    where: str,
    format: str,
    options: ReadOptions,
) -> Any:
    """Encode the content of a file as votes; the ledger includes rows that the format dropped."""
    try:
        coded = encode(
            content.columns,
            coder,
            tasks=content.tasks,
            workers=content.all_workers,
            duplicates="keep" if content.repeats_allowed and options.duplicates == "error" else options.duplicates,
            notes=content.notes,
            missing=options.missing if format != "wide" else (),
        )
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    ledger = _with_dropped(coded.ledger, content)
    _refuse_empty(ledger, where, format)
    return kind.votes._of(replace(coded, ledger=ledger))


def _attach_file_tables(votes: Any, content: ParsedFile, where: str, columns: Mapping[str, str]) -> Any:
    """Attach the tables about workers and tasks that the file itself holds."""
    if content.items is not None:
        of_tasks = {role: column for role, column in columns.items() if role in TASK_COLUMNS}
        named_facts = facts_of_items(content.items(), of_tasks, where)
        content.about_tasks = _joined(content.about_tasks, named_facts)
    if content.workers is not None and content.workers.width > 1:
        votes = votes.about(workers=content.workers)
    return votes if content.about_tasks is None else votes.about(tasks=content.about_tasks)


def _joined(first: pl.DataFrame | None, second: pl.DataFrame | None) -> pl.DataFrame | None:
    """Return both tables about the tasks; the second's columns replace those of the first."""
    if first is None or second is None:
        return second if first is None else first
    return first.drop(set(second.columns) - {"task"}, strict=False).join(second, on="task", how="full", coalesce=True)


def _with_dropped(ledger: Ledger, content: ParsedFile) -> Ledger:
    dropped = content.dropped
    reasons = {r: dropped.get(r, 0) + ledger.dropped.get(r, 0) for r in dict.fromkeys([*dropped, *ledger.dropped])}
    rows_in = ledger.rows_in + sum(dropped.values())
    return Ledger(rows_in, ledger.rows_used, reasons, ledger.notes, content.question)


def _refuse_empty(ledger: Ledger, where: str, format: str) -> None:
    if ledger.rows_used:
        return
    if ledger.rows_in:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        hint = "are these the right columns?" if format not in EXPORTS else "is it the right file?"
        raise DataError(f"{where}: none of its {ledger.rows_in:,} rows can be used ({why}); {hint}")
    raise DataError(
        f"{where} has a header but no rows with labels; is it the right file?"
        if format not in EXPORTS
        else f"{where} has no annotations; is it the right file?"
    )


def _attach(votes: Any, options: ReadOptions, *, links: bool = True) -> Any:
    """Attach the tables that the caller named."""
    votes = attach_tables(votes, tasks=options.about_tasks, workers=options.about_workers)
    return attach_links(votes, options.links) if links else votes


def _take_as(content: ParsedFile, kind: Kind, where: str) -> None:
    """Move the labels of an export or a wide table to the columns of their kind."""
    if "label" not in content.columns or "label" in kind.columns:
        return
    if len(kind.columns) == 1:
        content.columns[next(iter(kind.columns))] = content.columns.pop("label")
    elif kind.fill_columns is not None:
        _fill_columns(content, kind)
    else:
        raise DataError(f"{where} cannot be read as {kind.display_name}")


def _add_offered(content: ParsedFile, kind: Kind, offered: Any) -> None:
    """Add the column `offered`: the choices of each row's task."""
    if "offered" not in kind.roles:
        raise ParameterError(f"offered does not go with {kind.display_name}")
    content.columns["offered"] = kind.hooks.offered(content.columns["task"], offered)


def _coder(kind: Kind, options: ReadOptions, format: str, content: ParsedFile) -> Callable[[dict[str, Any]], Coder]:
    """Return the kind's coder with the options for its answers; options that it does not take are refused."""
    unknown = None if options.unknown_classes == "error" else options.unknown_classes
    named = {"classes": options.classes, "order": options.order, "unknown_classes": unknown}
    named = {name: value for name, value in named.items() if value is not None}
    parameters = signature(kind.coder).parameters
    for name in named:
        if name not in parameters:
            raise ParameterError(f"{name} does not go with {kind.display_name}")
    more: dict[str, Any] = {"respell": None, "asked": options.requested_kind is not None or content.certain}
    if format in TABLES:
        more["respell"] = partial(respell, decimal_comma=content.decimal_comma)
    return partial(kind.coder, **named, **{name: value for name, value in more.items() if name in parameters})


def _parse_file(path: str | Path, options: ReadOptions) -> tuple[str, str, str, Mapping[str, str], ParsedFile]:
    """Return (name for messages, format, why this format, columns, content)."""
    format = options.format
    if format == "wide" or options.worker_columns:
        from .wide import read_wide

        where, content = read_wide(path, options)
        return where, "wide", "as asked", {}, content
    folder = str(path) != "-" and os.path.isdir(path)
    source, where = (Path(path), printable(Path(path).name or str(path))) if folder else open_source(path)
    name, why = (format, "as asked") if format is not None else detect(source, where, str(path))
    if name in EXPORTS:
        return where, name, why, options.columns, get(name).read(source, where, options)
    if folder:
        open_source(path)  # raises: the path is a folder
    return _read_long(source, where, name or format_of(path), why, options)


def _read_long(
    source: Source, where: str, format: str, why: str, options: ReadOptions
) -> tuple[str, str, str, Mapping[str, str], ParsedFile]:
    """Read a table with one row per vote; return the same as `_parse_file`."""
    table = table_of(source, where, format)
    mapping = dict(options.columns)
    if options.question is not None:
        mapping.setdefault("label", options.question)
    expected = options.expected_kind
    kind, required, chosen, notes = columns_of(table, mapping, expected)
    frame = _read(table, chosen, required)
    rejected: list[str] = []  # kinds whose column names are there but whose values are not
    is_guess = expected is None and may_be_classes(table.header)
    while is_guess and not mapping.keys() & set(kind.roles) and not accepts_columns(kind, frame, chosen):
        rejected.append(kind.name)
        kind, required, chosen, notes = columns_of(table, mapping, None, rejected)
        frame = _read(table, chosen, required)
    other, other_notes = (
        kind_from_values(frame[chosen["label"]]) if expected is None and "label" in chosen else (None, ())
    )
    if other is not None:
        other_roles = {role: column for role, column in mapping.items() if role != "label"}
        role = next(iter(other.columns))
        kind, required, chosen, notes = columns_of(table, {**other_roles, role: chosen["label"]}, other.name)
        frame, notes = _read(table, chosen, required), notes + other_notes
    elif kind.name == FALLBACK and table.with_lists is not None:
        frame = table.read(list(chosen.values()))  # a class is not a list: this names the line that holds one
    if table.decimal_comma:
        numbers = ("time", "weight", *TAKEN, *(answer_of(required) if kind.accepts is not None else ()))
        frame = with_points(frame, [chosen[role] for role in numbers if role in chosen])
    _refuse_headers(frame, chosen, where)
    columns, more = values(frame, chosen, where, strict=mapping, missing=options.missing, required=required)
    content = ParsedFile(columns, notes=table.notes + notes + more, decimal_comma=table.decimal_comma, kind=kind.name)
    _fill_columns(content, kind)
    if "gold" in chosen and "task" in chosen:
        content.gold = _gold(frame, chosen, where)
    if "worker" in chosen:
        content.workers = facts(frame, chosen, "worker", ("source", "group"))
    if content.about_tasks is None and "task" in chosen:
        content.about_tasks = facts(frame, chosen, "task", TASK_COLUMNS)
    why = f"{why} with columns for {', '.join(chosen)}" if why == PLAIN else why
    return where, format, why, chosen, content


def _refuse_headers(frame: pl.DataFrame, chosen: Mapping[str, str], where: str) -> None:
    """Raise if a row holds the names of its columns, as where files were put one below the other."""
    names = [column for column in chosen.values() if frame[column].dtype == pl.String]
    if len(names) < 3:
        return
    is_header = frame[names[0]] == names[0]
    for name in names[1:]:
        is_header &= frame[name] == name
    rows = is_header.arg_true()
    if len(rows):
        raise DataError(
            f"{where}, line {int(rows[0]) + 2}: the header occurs again ({len(rows)} times), as if files were put one "
            "below the other; remove these lines"
        )


def _read(table: FileTable, chosen: Mapping[str, str], required: Sequence[str]) -> pl.DataFrame:
    """Read the chosen columns; those of the answer may hold lists."""
    columns, answer_columns = list(chosen.values()), [chosen[role] for role in answer_of(required)]
    return table.read(columns) if table.with_lists is None else table.with_lists(columns, answer_columns)


def _fill_columns(content: ParsedFile, kind: Kind) -> None:
    """Add tasks and workers that the file does not name, by the rule of the kind."""
    if kind.fill_columns is not None:
        notes, about, repeats_allowed = kind.fill_columns(content.columns)
        content.notes, content.about_tasks, content.repeats_allowed = content.notes + notes, about, repeats_allowed


def columns_of(
    table: FileTable, mapping: Mapping[str, str], kind_name: str | None, excluded: Sequence[str] = ()
) -> tuple[Kind, tuple[str, ...], dict[str, str], tuple[str, ...]]:
    """Return the kind of the answers, the roles of its columns, the column of each role, and notes."""
    kind, named, notes = detect_kind(table.header, mapping, kind_name, excluded)
    taken = {*named.values()}
    named |= {role: role for role in kind.along if role in table.header and role not in (*named, *taken)}
    required = tuple(
        role
        for role in roles(kind, named)
        if role not in kind.may_lack or role in named or candidates(role, table.header, ("worker",))
    )
    chosen, more = choose_columns(table, named, required)
    return kind, required, chosen, notes + more


def choose_columns(
    table: FileTable, columns: Mapping[str, str] | None, required: tuple[str, ...], option: str = "--columns"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Like `choose`, but look for names in the whole file where those at its beginning do not suffice."""
    try:
        return choose(table.header, columns, table.where, required, option)
    except DataError:
        if table.all_names is None or set(table.all_names()) == set(table.header):
            raise
        return choose(table.all_names(), columns, table.where, required, option)


def _gold(frame: pl.DataFrame, chosen: Mapping[str, str], where: str) -> pl.DataFrame:
    pairs = frame.select(
        pl.col(chosen["task"]).cast(pl.String).alias("task"), pl.col(chosen["gold"]).cast(pl.String).alias("label")
    )
    gold = pairs.filter(pl.all_horizontal((pl.all().str.strip_chars() != "").fill_null(False)))
    return one_label_per_task(gold, f"{where}: ", "gold")


def one_label_per_task(labels: pl.DataFrame, prefix: str, what: str) -> pl.DataFrame:
    """Return the distinct rows (task, label); raise if a task has two different labels."""
    labels = labels.unique(maintain_order=True)
    contradicted = labels.filter(pl.col("task").is_duplicated())["task"].unique(maintain_order=True)
    if len(contradicted):
        raise DataError(
            f"{prefix}{len(contradicted)} tasks have two different {what} labels: "
            f"{quote(contradicted)}; keep one of them"
        )
    return labels
