"""Known sets of some tasks: whole sets, or a word on single classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.vocabulary import as_series, lookup, quote
from .parse import lists_of

I1 = npt.NDArray[np.int8]
Mask = npt.NDArray[np.bool_]
UNKNOWN = -1
_YES, _NO = ("1", "true", "yes", "1.0"), ("0", "false", "no", "0.0")


def set_truth(truth: Any, classes: pl.Series) -> tuple[pl.Series, pl.Series, I1]:
    """(tasks, classes, known[task, class]): 1 in the set, 0 not, -1 nobody knows.

    A truth is a mapping from tasks to lists, a table task, labels with whole sets, or a table task, label, value with a
    word on single classes (1 or 0). Classes that only the truth knows come after the given ones.
    """
    if isinstance(truth, Mapping):
        frame = None
        tasks, lists = as_series(truth.keys(), "task"), lists_of(list(truth.values()), "labels")
    else:
        frame = to_polars(truth)
        if "task" not in frame.columns:
            raise DataError(f"the truth has no column 'task'; it has {', '.join(frame.columns)}")
        if {"label", "value"} <= set(frame.columns):
            return _single(frame, classes)
        column = next((name for name in ("labels", "label") if name in frame.columns), None)
        if column is None:
            raise DataError(f"the truth has no column 'labels'; it has {', '.join(frame.columns)}")
        tasks, lists = as_series(frame["task"], "task"), lists_of(frame[column], "labels")
    heard = lists.code >= 0
    tasks, code = tasks.filter(pl.Series(heard)), lists.code[heard]
    names = _with(classes, lists.names())
    place = {name: j for j, name in enumerate(names.cast(pl.String).to_list())}
    table = np.zeros((len(lists.lists), len(names)), dtype=np.int8)
    for i, each in enumerate(lists.lists):
        table[i, [place[name] for name in each if name in place]] = 1
    return _once(tasks, names, table[code])


def _single(frame: pl.DataFrame, classes: pl.Series) -> tuple[pl.Series, pl.Series, I1]:
    """From a table task, label, value."""
    frame = frame.select(pl.col("task", "label", "value")).drop_nulls()
    said = frame["value"].cast(pl.String).str.strip_chars().str.to_lowercase()
    bad = frame.filter(~said.is_in([*_YES, *_NO]))
    if len(bad):
        raise DataError(f"the truth of task {quote([bad['task'][0]])} is {quote([bad['value'][0]])}; say 1 or 0")
    label = frame["label"].cast(pl.String)
    names = _with(classes, set(label.to_list()))
    text = as_series(frame["task"], "task")
    tasks = text.unique().sort()
    at = tasks.search_sorted(text).to_numpy()
    order = pl.DataFrame({"name": names.cast(pl.String), "code": np.arange(len(names))})
    code = pl.DataFrame({"name": label}).join(order, on="name", how="left", maintain_order="left")["code"].to_numpy()
    known = np.full((len(tasks), len(names)), UNKNOWN, dtype=np.int8)
    yes = said.is_in(list(_YES)).to_numpy()
    known[at, code] = yes
    if (known[at, code] != yes).any():
        row = int(np.flatnonzero(known[at, code] != yes)[0])
        raise DataError(f"task {quote([text[row]])} has two different truths of {label[row]!r}; keep one of them")
    return tasks, names, known


def _with(classes: pl.Series, names: set[str]) -> pl.Series:
    """The classes, and after them the names that they lack."""
    own = classes.cast(pl.String)
    more = sorted(names - set(own.to_list()))
    return pl.concat([own, pl.Series(own.name, more, dtype=pl.String)]) if more else own


def _once(tasks: pl.Series, names: pl.Series, known: I1) -> tuple[pl.Series, pl.Series, I1]:
    """Each task once; two different truths of one are refused."""
    if not tasks.is_duplicated().any():
        return tasks, names, known
    own = tasks.unique().sort()
    at = own.search_sorted(tasks).to_numpy()
    first = np.empty(len(own), dtype=np.int64)
    first[at[::-1]] = np.arange(len(tasks))[::-1]
    bad = np.flatnonzero((known != known[first[at]]).any(axis=1))
    if len(bad):
        raise DataError(f"task {quote([tasks[int(bad[0])]])} has two different true sets; keep one of them")
    return own, names, known[first]


def known_of(table: tuple[pl.Series, pl.Series, I1], tasks: pl.Series, classes: pl.Series) -> I1:
    """known[task, class] over these tasks and classes; -1 where the truth says nothing."""
    own, names, known = table
    at, here = lookup(tasks, own)
    code, spoken = lookup(classes.cast(pl.String), names)
    out = np.full((len(tasks), len(classes)), UNKNOWN, dtype=np.int8)
    out[np.ix_(at[here], code[spoken])] = known[np.ix_(np.flatnonzero(here), np.flatnonzero(spoken))]
    return out
