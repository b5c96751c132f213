"""Tables about tasks and workers, from files: what else is known of them, to travel with the votes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from ..core.errors import DataError
from ..core.intake.columns import KNOWN_AS
from ..core.intake.frames import to_polars
from ..core.vocabulary import quote
from ..core.votes import Votes
from .formats.base import Item
from .tables import open_table

V = TypeVar("V", bound=Votes[Any])


def with_about(votes: V, *, tasks: Any = None, workers: Any = None) -> V:
    """The votes with tables (or files of them) about their tasks and workers; a note tells whom they leave out."""
    for key, given in (("task", tasks), ("worker", workers)):
        if given is None:
            continue
        where, table = _table(given, key)
        try:
            votes = votes.about(**{f"{key}s": table})
        except DataError as error:
            raise DataError(f"{where}: {error}") from None
        known, every = _known(votes, table, key), len(getattr(votes, f"{key}s"))
        if not known:
            raise DataError(f"{where}: none of its {len(table):,} {key}s is among the votes; do the ids match?")
        if known < every:
            note = f"{where} tells of {known:,} of the {every:,} {key}s"
            votes = replace(votes, ledger=replace(votes.ledger, notes=(*votes.ledger.notes, note)))
    return votes


def with_links(votes: V, links: Any) -> V:
    """The votes with links between their tasks, from a file or a table; a note tells how many lead elsewhere."""
    if links is None:
        return votes
    where = "the table of links"
    if isinstance(links, str | Path):
        table = open_table(links)
        where, links = table.where, table.read(table.header)
    try:
        found = votes.linked(links)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    assert found.links is not None
    names = votes.tasks.cast(pl.String).implode()
    inside = int((found.links["task"].is_in(names) & found.links["other"].is_in(names)).sum())
    if not inside:
        raise DataError(f"{where}: none of its {len(found.links):,} links joins two of the tasks; do the ids match?")
    if inside == len(found.links):
        return found
    note = f"{where}: {len(found.links) - inside:,} of {len(found.links):,} links lead to tasks that are not here"
    return replace(found, ledger=replace(found.ledger, notes=(*found.ledger.notes, note)))


def facts(frame: pl.DataFrame, chosen: Mapping[str, str], key: str, roles: Sequence[str]) -> pl.DataFrame | None:
    """Columns of a file of votes that tell of each task or worker: of several rows the first that says something."""
    roles = [role for role in roles if role in chosen]
    if not roles:
        return None
    text = frame.select(pl.col(chosen[role]).cast(pl.String).alias(role) for role in (key, *roles))
    said = pl.any_horizontal(pl.col(roles).is_not_null())
    named = (pl.col(key).str.strip_chars() != "").fill_null(False)
    return text.filter(named).sort(said, descending=True, maintain_order=True).unique(key, maintain_order=True)


def facts_of_items(items: Iterable[Item], chosen: Mapping[str, str], where: str) -> pl.DataFrame | None:
    """Fields of the tasks' data in an export: role -> field, as text."""
    if not chosen:
        return None
    found: dict[str, dict[str, str | None]] = {}
    for item in items:
        found.setdefault(item.name, {role: _text(item.data.get(field)) for role, field in chosen.items()})
    for role, field in chosen.items():
        if all(each[role] is None for each in found.values()):
            raise DataError(f"{where}: no task's data have {field!r} for the {role}; look at the file's `data`")
    columns = {role: pl.Series([each[role] for each in found.values()], dtype=pl.String) for role in chosen}
    return pl.DataFrame({"task": pl.Series(list(found), dtype=pl.String), **columns})


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _table(given: Any, key: str) -> tuple[str, pl.DataFrame]:
    """What to call it, and the table with its key by our name; rows without one are left out."""
    if not isinstance(given, str | Path):
        return f"the table about {key}s", to_polars(given)
    table = open_table(given)
    frame = table.read(table.header)
    also = [c for c in frame.columns if c.strip().lower().replace(" ", "_") in KNOWN_AS[key].split()]
    if key not in frame.columns:
        if len(also) != 1:
            how = f"could be {quote(also)}" if also else f"is not among {quote(frame.columns, 8)}"
            raise DataError(f"{table.where}: the column of the {key}s {how}; call it {key!r}")
        frame = frame.rename({also[0]: key})
    if frame.width < 2:
        raise DataError(f"{table.where} has no column besides {key!r}; it tells nothing of the {key}s")
    named = (pl.col(key).cast(pl.String).str.strip_chars() != "").fill_null(False)
    return table.where, frame.filter(named)


def _known(votes: Votes[Any], table: pl.DataFrame, key: str) -> int:
    names = getattr(votes, f"{key}s")
    own = table[key] if table[key].dtype == names.dtype else table[key].cast(pl.String)
    return int(names.is_in(own.implode()).sum()) if own.dtype == names.dtype else len(table)
