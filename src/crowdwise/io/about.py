"""Attach tables about tasks and workers, and links between tasks, from files to votes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from ..core.errors import DataError
from ..core.intake.columns import KNOWN_AS, plain_name
from ..core.intake.frames import to_polars
from ..core.vocabulary import quote
from ..core.votes import Votes
from .formats.base import TaskItem
from .tables import open_table

V = TypeVar("V", bound=Votes[Any])


def attach_tables(votes: V, *, tasks: Any = None, workers: Any = None) -> V:
    """Attach tables (or files of them) about tasks and workers; a note in the ledger states how many they cover."""
    for key, source in (("task", tasks), ("worker", workers)):
        if source is None:
            continue
        where, table = _table(source, key)
        try:
            votes = votes.about(**{f"{key}s": table})
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        n_matched, n_names = _n_matched(votes, table, key), len(getattr(votes, f"{key}s"))
        if not n_matched:
            raise DataError(f"{where}: none of its {len(table):,} {key}s is among the votes; do the ids match?")
        if n_matched < n_names:
            note = f"{where} covers {n_matched:,} of the {n_names:,} {key}s"
            votes = replace(votes, ledger=replace(votes.ledger, notes=(*votes.ledger.notes, note)))
    return votes


def attach_links(votes: V, links: Any) -> V:
    """Attach links between tasks, from a file or a table; a note in the ledger counts links to other tasks."""
    if links is None:
        return votes
    where = "the table of links"
    if isinstance(links, str | Path):
        table = open_table(links)
        where, links = table.where, table.read(table.header)
    try:
        linked = votes.linked(links)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    assert linked.links is not None
    names = votes.tasks.cast(pl.String).implode()
    n_inside = int((linked.links["task"].is_in(names) & linked.links["other"].is_in(names)).sum())
    if not n_inside:
        raise DataError(f"{where}: none of its {len(linked.links):,} links joins two of the tasks; do the ids match?")
    if n_inside == len(linked.links):
        return linked
    n_outside = len(linked.links) - n_inside
    note = f"{where}: {n_outside:,} of {len(linked.links):,} links lead to tasks that are not among the votes"
    return replace(linked, ledger=replace(linked.ledger, notes=(*linked.ledger.notes, note)))


def facts(frame: pl.DataFrame, chosen: Mapping[str, str], key: str, roles: Sequence[str]) -> pl.DataFrame | None:
    """Return the columns of a file of votes about tasks or workers, one row each: the first with a value."""
    roles = [role for role in roles if role in chosen]
    if not roles:
        return None
    text = frame.select(pl.col(chosen[role]).cast(pl.String).alias(role) for role in (key, *roles))
    has_value = pl.any_horizontal(pl.col(roles).is_not_null())
    has_key = (pl.col(key).str.strip_chars() != "").fill_null(False)
    return text.filter(has_key).sort(has_value, descending=True, maintain_order=True).unique(key, maintain_order=True)


def facts_of_items(items: Iterable[TaskItem], chosen: Mapping[str, str], where: str) -> pl.DataFrame | None:
    """Return fields of the tasks' data in an export as text; `chosen` maps roles to fields."""
    if not chosen:
        return None
    rows: dict[str, dict[str, str | None]] = {}
    for item in items:
        rows.setdefault(item.name, {role: _text(item.data.get(field)) for role, field in chosen.items()})
    for role, field in chosen.items():
        if all(row[role] is None for row in rows.values()):
            raise DataError(f"{where}: no task's data have {field!r} for the {role}; look at the file's `data`")
    columns = {role: pl.Series([row[role] for row in rows.values()], dtype=pl.String) for role in chosen}
    return pl.DataFrame({"task": pl.Series(list(rows), dtype=pl.String), **columns})


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(source: Any, key: str) -> tuple[str, pl.DataFrame]:
    """Return a name for messages, and the table with its key under our name; rows without a key are left out."""
    if not isinstance(source, str | Path):
        return f"the table about {key}s", to_polars(source)
    table = open_table(source)
    frame = table.read(table.header)
    candidates = [c for c in frame.columns if plain_name(c) in KNOWN_AS[key].split()]
    if key not in frame.columns:
        if len(candidates) != 1:
            how = f"could be {quote(candidates)}" if candidates else f"is not among {quote(frame.columns, 8)}"
            raise DataError(f"{table.where}: the column of the {key}s {how}; call it {key!r}")
        frame = frame.rename({candidates[0]: key})
    if frame.width < 2:
        raise DataError(f"{table.where} has no column besides {key!r}; it has no information about the {key}s")
    has_key = (pl.col(key).cast(pl.String).str.strip_chars() != "").fill_null(False)
    return table.where, frame.filter(has_key)


def _n_matched(votes: Votes[Any], table: pl.DataFrame, key: str) -> int:
    names = getattr(votes, f"{key}s")
    table_names = table[key] if table[key].dtype == names.dtype else table[key].cast(pl.String)
    return int(names.is_in(table_names.implode()).sum()) if table_names.dtype == names.dtype else len(table)
