"""Reading: everything that a file of votes holds; the votes, and what else the tool that wrote it knew."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import DataError, ParameterError
from ..core.intake.coding import encode
from ..core.intake.column import UnknownClasses
from ..core.intake.columns import TAKEN, VOTE, choose, values
from ..core.intake.repeats import Duplicates
from ..core.ledger import Ledger
from ..core.vocabulary import quote
from ..kinds.class_answers import ClassCoder
from ..kinds.classes import Annotations
from .formats import FORMATS as EXPORTS
from .formats import get
from .formats.base import Ask, Control, Found, Item, Multiple, Rejected
from .formats.detect import PLAIN, detect
from .numerals import respell, with_points
from .snorkel import read_snorkel
from .sources import Source, open_source, printable
from .tables import Table, format_of, table_of
from .wide import read_wide

TABLES = ("csv", "tsv", "jsonl", "parquet", "excel", "wide", "snorkel")
FORMATS = (*TABLES, *EXPORTS)


@dataclass(frozen=True)
class Reading:
    """The votes of a file, how they were read, and what came with them.

    `format` and `why`: what the file was taken for; `question`: which of its questions; `columns`: our names to the
    file's. `gold` (task, label) is the truth that the file itself knows; `workers` (worker, source, group) says who
    is a human and who a model, where the file does. `items` goes through the tasks as the file has them, with ids and
    data, and `control` is the question in Label Studio's words; both for exports of Label Studio.
    """

    annotations: Annotations
    format: str
    why: str
    question: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    gold: pl.DataFrame | None = None
    workers: pl.DataFrame | None = None
    items: Callable[[], Iterator[Item]] | None = None
    control: Control | None = None


def read_all(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    duplicates: Duplicates = "error",
    format: str | None = None,
    question: str | None = None,
    multiple: Multiple = "error",
    predictions: bool = False,
    rejected: Rejected = "keep",
    classes: Any = None,
    unknown_classes: UnknownClasses = "error",
    missing: Sequence[str] = (),
) -> Reading:
    """Everything in a file of votes; `read` gives the annotations alone.

    `question`, `multiple`, `predictions` and `rejected` are for exports of labelling tools: which control, what to do
    with several labels in one answer ("join" makes "a|b" a class), whether models' predictions are votes, and whether
    assignments that the requester rejected stay in. `missing` lists values that stand for nothing, such as R's "NA".
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    ask = Ask(question, columns or {}, multiple, predictions, rejected, missing)
    if format == "snorkel" or (format is None and str(path).endswith(".npy")):
        return Reading(read_snorkel(path, columns, classes), "snorkel", "the file's name ends in .npy")
    where, kind, why, chosen, found = _find(path, format, ask)
    try:
        coded = encode(
            found.columns,
            partial(
                ClassCoder,
                classes=classes,
                unknown_classes=unknown_classes,
                respell=partial(respell, decimal_comma=found.decimal_comma) if kind in TABLES else None,
            ),
            tasks=found.tasks,
            workers=found.all_workers,
            duplicates=duplicates,
            notes=found.notes,
            missing=missing if kind != "wide" else (),
        )
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    ledger = _with(coded.ledger, found.dropped)
    _refuse_empty(ledger, where, kind)
    annotations = Annotations._of(replace(coded, ledger=ledger))
    return Reading(
        annotations, kind, why, found.question, chosen, found.gold, found.workers, found.items, found.control
    )


def _find(path: str | Path, format: str | None, ask: Ask) -> tuple[str, str, str, Mapping[str, str], Found]:
    """(what to call the file, format, why, columns, what was found)."""
    if format == "wide":
        where, found = read_wide(path, ask.columns, ask.missing)
        return where, "wide", "as asked", {}, found
    folder = str(path) != "-" and os.path.isdir(path)
    source, where = (Path(path), printable(Path(path).name or str(path))) if folder else open_source(path)
    name, why = (format, "as asked") if format is not None else detect(source, where, str(path))
    if name in EXPORTS:
        return where, name, why, ask.columns, get(name).read(source, where, ask)
    if folder:
        open_source(path)  # says that it is a folder
    return _find_long(source, where, name or ("csv" if str(path) == "-" else format_of(Path(path))), why, ask)


def _find_long(
    source: Source, where: str, kind: str, why: str, ask: Ask
) -> tuple[str, str, str, Mapping[str, str], Found]:
    table = table_of(source, where, kind)
    mapping = dict(ask.columns)
    if ask.question is not None:
        mapping.setdefault("label", ask.question)
    chosen, notes = choose_columns(table, mapping, VOTE)
    frame = table.read(list(chosen.values()))
    if table.decimal_comma:
        frame = with_points(frame, [chosen[role] for role in ("time", "weight", *TAKEN) if role in chosen])
    picked, more = values(frame, chosen, where, strict=mapping, missing=ask.missing)
    found = Found(picked, notes=table.notes + notes + more, decimal_comma=table.decimal_comma)
    if "gold" in chosen:
        found.gold = _gold(frame, chosen, where)
    if {"source", "group"} & set(chosen):
        roles = [role for role in ("worker", "source", "group") if role in chosen]
        found.workers = frame.select(pl.col(chosen[role]).cast(pl.String).alias(role) for role in roles).unique(
            "worker", keep="first", maintain_order=True
        )
    why = f"{why} with columns for {', '.join(chosen)}" if why == PLAIN else why
    return where, kind, why, chosen, found


def choose_columns(
    table: Table, columns: Mapping[str, str] | None, wanted: tuple[str, ...], option: str = "--columns"
) -> tuple[dict[str, str], tuple[str, ...]]:
    """`choose`, with the names from the whole file where those from its beginning do not do."""
    try:
        return choose(table.header, columns, table.where, wanted, option)
    except DataError:
        if table.all_names is None or set(table.all_names()) == set(table.header):
            raise
        return choose(table.all_names(), columns, table.where, wanted, option)


def _gold(frame: pl.DataFrame, chosen: Mapping[str, str], where: str) -> pl.DataFrame:
    both = frame.select(
        pl.col(chosen["task"]).cast(pl.String).alias("task"), pl.col(chosen["gold"]).cast(pl.String).alias("label")
    )
    known = both.filter(pl.all_horizontal((pl.all().str.strip_chars() != "").fill_null(False))).unique(
        maintain_order=True
    )
    twice = known.filter(known["task"].is_duplicated())["task"].unique(maintain_order=True)
    if len(twice):
        raise DataError(f"{where}: {len(twice)} tasks have two different gold labels: {quote(twice)}; keep one of them")
    return known


def _with(ledger: Ledger, dropped: Mapping[str, int]) -> Ledger:
    reasons = {r: dropped.get(r, 0) + ledger.dropped.get(r, 0) for r in dict.fromkeys([*dropped, *ledger.dropped])}
    return Ledger(ledger.rows_in + sum(dropped.values()), ledger.rows_used, reasons, ledger.notes)


def _refuse_empty(ledger: Ledger, where: str, kind: str) -> None:
    if ledger.rows_used:
        return
    if ledger.rows_in:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        hint = "are these the right columns?" if kind in TABLES else "is it the right file?"
        raise DataError(f"{where}: none of its {ledger.rows_in:,} rows can be used ({why}); {hint}")
    raise DataError(
        f"{where} has a header but no rows with labels; is it the right file?"
        if kind in TABLES
        else f"{where} has no annotations; is it the right file?"
    )
