"""Metadata of judges: families, kinds and prices; and the check that gold came from people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.arrays import F8, I8
from ..core.errors import DataError
from ..core.intake.frames import to_polars
from ..core.side_tables import column_by, side_table
from ..core.vocabulary import as_series, lookup, quote
from ..core.votes import Votes
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.methods.dependence import find_groups
from ..kinds.classes.methods.judges import families_from_table, kinds_of

# Names for a person's label in a table of prices.
PERSON = ("person", "human", "people")
WRITERS = ("worker", "annotator", "labeler", "labeller", "rater", "written_by", "author")


def with_families(votes: Annotations, families: Any) -> Annotations:
    """Return the votes with families of their workers, from a mapping worker -> family or a table worker, family."""
    if families is None:
        return votes
    table = _table(families, "family")
    unknown = ~lookup(votes.workers, _names(table, votes))[1]
    if unknown.all():
        raise DataError(f"none of the judges with a family gave a verdict: {quote(table['worker'])}; do the ids match?")
    return votes.about(workers=table)


def families_of(votes: Annotations) -> tuple[I8, pl.Series, bool]:
    """Family number and name of each judge, and whether they were given (else they are estimated)."""
    given = families_from_table(votes)
    if given is not None:
        names = column_by(votes.about_workers, "family", votes.workers)
        assert names is not None
        worker_names = votes.workers.cast(pl.String)
        return given, names.cast(pl.String).fill_null(worker_names).rename("family"), True
    groups = find_groups(votes, 0.001, 0.1)
    first = {int(g): str(votes.workers[int(np.flatnonzero(groups == g)[0])]) for g in np.unique(groups)}
    size = np.bincount(groups)
    families = [f"with {first[int(g)]}" if size[g] > 1 else first[int(g)] for g in groups]
    return groups, pl.Series("family", families), False


def is_person(votes: Votes[Any]) -> npt.NDArray[np.bool_]:
    """Mark workers whose kind is a person."""
    return np.array([kind in ("human", "person") for kind in kinds_of(votes)], dtype=bool)


def prices_of(votes: Votes[Any], prices: Any = None) -> tuple[F8 | None, float | None]:
    """Price of each judge's verdict on a task, and of a person's label (None: unknown).

    Args:
        votes: The verdicts.
        prices: A mapping or a table worker, price, in which `person` is a person's label (None: the column `price`
            about workers, or the mean cost of the rows of a task).
    """
    if prices is None:
        column = column_by(votes.about_workers, "price", votes.workers)
        return (_costs(votes) if column is None else _numbers(column, votes.workers)), None
    table = _table(prices, "price")
    names = table["worker"].cast(pl.String)
    person = table.filter(names.str.to_lowercase().is_in(list(PERSON)))
    judges = table.filter(~names.str.to_lowercase().is_in(list(PERSON)))
    column = column_by(side_table(judges, "worker", votes.workers), "price", votes.workers)
    assert column is not None
    person_price = float(_numbers(person["price"][:1], pl.Series(["person"]))[0]) if len(person) else None
    return _numbers(column, votes.workers), person_price


def refuse_gold_of_models(gold: Any, votes: Votes[Any]) -> None:
    """Raise where a table of gold was written by a model."""
    if gold is None or (isinstance(gold, Mapping) and "task" not in gold):
        return
    table = to_polars(gold)
    models = {str(w) for w, kind in zip(votes.workers, kinds_of(votes), strict=True) if kind == "model"}
    for column in (name for name in table.columns if name in WRITERS):
        for name in table[column].cast(pl.String).drop_nulls().unique(maintain_order=True):
            if name in models:
                raise DataError(f"gold was written by {name} (kind model); gold must come from people")
    for column in ("kind", "source"):
        if column in table.columns and bool((table[column].cast(pl.String).str.to_lowercase() == "model").any()):
            raise DataError("gold was written by a model (kind model); gold must come from people")


def _table(data: Any, column: str) -> pl.DataFrame:
    if isinstance(data, Mapping) and "worker" not in data:
        return pl.DataFrame({"worker": [str(w) for w in data], column: list(data.values())})
    table = to_polars(data)
    name_columns = [name for name in ("worker", "judge", "model") if name in table.columns]
    if not name_columns or column not in table.columns:
        raise DataError(f"a table of judges needs the columns worker and {column}; it has {quote(table.columns, 8)}")
    return table.rename({name_columns[0]: "worker"}).select("worker", column)


def _names(table: pl.DataFrame, votes: Votes[Any]) -> pl.Series:
    names = as_series(table["worker"], "worker")
    return names if names.dtype == votes.workers.dtype else names.cast(votes.workers.dtype, strict=False)


def _costs(votes: Votes[Any]) -> F8 | None:
    """Mean cost of each worker's rows of a task, where all rows have a cost."""
    if votes.about_rows is None or "cost" not in votes.about_rows.columns or not len(votes):
        return None
    cost = votes.about_rows["cost"].cast(pl.String).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    pairs = np.unique(votes.worker.astype(np.int64) * votes.n_tasks + votes.task) // votes.n_tasks
    tasks = np.bincount(pairs, minlength=votes.n_workers)
    total = np.bincount(votes.worker, weights=cost, minlength=votes.n_workers) / np.maximum(tasks, 1)
    return total if np.isfinite(total).all() else None


def _numbers(column: pl.Series, names: pl.Series) -> F8:
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    bad = numbers.is_null() | (numbers < 0).fill_null(True)
    if bad.any():
        nameless = names.cast(pl.String).filter(bad)
        raise DataError(
            f"{quote(nameless)} {'has' if len(nameless) == 1 else 'have'} no price of at least 0; give each judge one"
        )
    return numbers.to_numpy()
