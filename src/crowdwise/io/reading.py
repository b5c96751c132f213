"""Reading: everything that a file of votes holds; the votes, and what else the tool that wrote it knew."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from ..core import kind as kinds
from ..core.answers import Coder
from ..core.errors import DataError, ParameterError
from ..core.intake.column import UnknownClasses
from ..core.intake.columns import TAKEN, candidates, choose, values
from ..core.intake.repeats import Duplicates
from ..core.kind import Kind
from ..core.vocabulary import quote
from .about import facts, with_about, with_links
from .formats import FORMATS as EXPORTS
from .formats import get
from .formats.base import OF_TASKS, SETS, Ask, Control, Found, Item, Multiple, Rejected
from .formats.detect import PLAIN, detect
from .found_votes import coded_votes, with_facts
from .kind_of_columns import FALLBACK, answer_of, fitting, may_be_classes, roles, told, told_by_values
from .numerals import respell, with_points
from .snorkel import read_snorkel
from .sources import Source, Table, open_source, printable
from .tables import format_of, table_of
from .wide import read_wide

TABLES = ("csv", "tsv", "jsonl", "parquet", "excel", "wide", "snorkel")
FORMATS = (*TABLES, *EXPORTS)


@dataclass(frozen=True)
class Reading:
    """The votes of a file, how they were read, and what came with them.

    `annotations` are the votes: Annotations where they are classes, Votes where they are of another kind.

    `format` and `why`: what the file was taken for; `question`: which of its questions; `columns`: our names to the
    file's. `gold` (task, label) is the truth that the file itself knows; `workers` (worker, source, group) says who
    is a human and who a model, where the file does. `items` goes through the tasks as the file has them, with ids and
    data, and `control` is the question in Label Studio's words; both for exports of Label Studio.
    """

    annotations: Any
    format: str
    why: str
    question: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    gold: pl.DataFrame | None = None
    workers: pl.DataFrame | None = None
    items: Callable[[], Iterator[Item]] | None = None
    control: Control | None = None

    def usable_gold(self) -> tuple[pl.DataFrame | None, str | None]:
        """The gold labels in the file itself, for a fit, and what to say of them.

        Where a file knows the truth of every task, that is for judging, not for use.
        """
        if self.gold is None:
            return None, None
        if len(self.gold) >= self.annotations.n_tasks:
            n = f"{len(self.gold):,}"
            return None, f"the file knows the true label of all {n} tasks; it is left aside (see evaluate --truth)"
        return self.gold, f"{len(self.gold):,} gold labels in the file itself are used; --gold FILE takes others"


def read_all(
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
    likely: str | None = None,
    order: Sequence[Any] | None = None,
    offered: Any = None,
    links: Any = None,
    about_tasks: Any = None,
    about_workers: Any = None,
) -> Reading:
    """Everything in a file of votes; `read` gives the annotations alone.

    `question`, `multiple`, `predictions` and `rejected` are for exports of labelling tools: which control, what to do
    with several labels in one answer ("join" makes "a|b" a class, "set" reads sets, also from "a|b" in tables), whether
    models' predictions are votes, and whether assignments that the requester rejected stay in. `missing` lists values
    that stand for nothing, such as R's "NA". `kind` says what kind of answers these are ("classes", "numbers", "sets");
    without it the columns tell, or, where they leave it open, the `likely` kind is meant (the one that a method takes).
    `order` names the classes from the lowest to the highest, where they have an order; `offered` (a mapping, a file or
    frame with a row a task) what could be chosen, where answers are sets and not everything could. `about_tasks` and
    `about_workers` are files or frames with a row a task or worker, which then travel with the votes;
    `links` is one with two columns of tasks that belong together, and a third with weights if there is one.
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if kind is None and (classes is not None or order is not None):
        kind = FALLBACK
    if kind is None and multiple == "set":
        kind = SETS
    ask = Ask(question, columns or {}, multiple, predictions, rejected, missing, kind or likely)
    about = {"tasks": about_tasks, "workers": about_workers}
    if format == "snorkel" or (format is None and str(path).endswith(".npy")):
        votes = with_about(read_snorkel(path, columns, classes), **about)
        return Reading(votes, "snorkel", "the file's name ends in .npy")
    where, name, why, chosen, found = _find(path, format, ask)
    unknown = None if unknown_classes == "error" else unknown_classes
    own = {"classes": classes, "order": order, "unknown_classes": unknown}
    record = kinds.get(kind or likely or found.kind)
    _take_as(found, record, where)
    if offered is not None:
        _add_offered(found, record, offered)
    coder = _coder(record, {key: value for key, value in own.items() if value is not None}, name, found, kind)
    policy = "keep" if found.again and duplicates == "error" else duplicates
    votes = with_facts(coded_votes(record, coder, found, (where, name), policy, missing), found, where, columns)
    votes = with_links(with_about(votes, **about), links)
    return Reading(votes, name, why, found.question, chosen, found.gold, found.workers, found.items, found.control)


def _take_as(found: Found, record: Kind, where: str) -> None:
    """Labels of an export or a wide table as answers of their kind, or of the kind that was asked for."""
    if "label" not in found.columns or "label" in record.columns:
        return
    if len(record.columns) == 1:
        found.columns[next(iter(record.columns))] = found.columns.pop("label")
    elif record.complete is not None:
        _complete(found, record)
    else:
        raise DataError(f"{where} cannot be read as {record.people}")


def _add_offered(found: Found, record: Kind, offered: Any) -> None:
    """A column of what could be chosen in each row, by its task."""
    if "offered" not in record.roles:
        raise ParameterError(f"offered does not go with {record.people}")
    found.columns["offered"] = record.hooks.offered(found.columns["task"], offered)


def _coder(
    record: Kind, own: Mapping[str, Any], name: str, found: Found, asked: str | None
) -> Callable[[dict[str, Any]], Coder]:
    """The kind's coder with what was said about its answers; what it does not know is refused."""
    known = signature(record.coder).parameters
    for option in own:
        if option not in known:
            raise ParameterError(f"{option} does not go with {record.people}")
    more: dict[str, Any] = {"respell": None, "asked": asked is not None or found.certain}
    if name in TABLES:
        more["respell"] = partial(respell, decimal_comma=found.decimal_comma)
    return partial(record.coder, **own, **{key: value for key, value in more.items() if key in known})


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
    record, wanted, chosen, notes = columns_of(table, mapping, ask.kind)
    frame = _read(table, chosen, wanted)
    out: list[str] = []  # kinds that the names of the columns told, but not what stands in them
    guessed = ask.kind is None and may_be_classes(table.header)
    while guessed and not mapping.keys() & set(record.roles) and not fitting(record, frame, chosen):
        out.append(record.name)
        record, wanted, chosen, notes = columns_of(table, mapping, None, out)
        frame = _read(table, chosen, wanted)
    other, why_other = told_by_values(frame[chosen["label"]]) if ask.kind is None and "label" in chosen else (None, ())
    if other is not None:
        own = {role: column for role, column in mapping.items() if role != "label"}
        role = next(iter(other.columns))
        record, wanted, chosen, notes = columns_of(table, {**own, role: chosen["label"]}, other.name)
        frame, notes = _read(table, chosen, wanted), notes + why_other
    elif record.name == FALLBACK and table.with_lists is not None:
        frame = table.read(list(chosen.values()))  # a class is no list: it says where there is one
    if table.decimal_comma:
        numbers = ("time", "weight", *TAKEN, *(answer_of(wanted) if record.fits is not None else ()))
        frame = with_points(frame, [chosen[role] for role in numbers if role in chosen])
    picked, more = values(frame, chosen, where, strict=mapping, missing=ask.missing, wanted=wanted)
    found = Found(picked, notes=table.notes + notes + more, decimal_comma=table.decimal_comma, kind=record.name)
    _complete(found, record)
    if "gold" in chosen and "task" in chosen:
        found.gold = _gold(frame, chosen, where)
    if "worker" in chosen:
        found.workers = facts(frame, chosen, "worker", ("source", "group"))
    if found.about_tasks is None and "task" in chosen:
        found.about_tasks = facts(frame, chosen, "task", OF_TASKS)
    why = f"{why} with columns for {', '.join(chosen)}" if why == PLAIN else why
    return where, kind, why, chosen, found


def _read(table: Table, chosen: Mapping[str, str], wanted: Sequence[str]) -> pl.DataFrame:
    """The chosen columns; those of the answer may hold lists."""
    columns, own = list(chosen.values()), [chosen[role] for role in answer_of(wanted)]
    return table.read(columns) if table.with_lists is None else table.with_lists(columns, own)


def _complete(found: Found, record: Kind) -> None:
    """Tasks and workers that the file does not name, by the rule of the kind."""
    if record.complete is not None:
        notes, about, again = record.complete(found.columns)
        found.notes, found.about_tasks, found.again = found.notes + notes, about, again


def columns_of(
    table: Table, mapping: Mapping[str, str], asked: str | None, but: Sequence[str] = ()
) -> tuple[Kind, tuple[str, ...], dict[str, str], tuple[str, ...]]:
    """The kind of the answers, the roles of its columns, which column has which, and notes."""
    record, named, notes = told(table.header, mapping, asked, but)
    taken = {*named.values()}
    named |= {role: role for role in record.along if role in table.header and role not in (*named, *taken)}
    wanted = tuple(
        role
        for role in roles(record, named)
        if role not in record.may_lack or role in named or candidates(role, table.header, ("worker",))
    )
    chosen, more = choose_columns(table, named, wanted)
    return record, wanted, chosen, notes + more


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
