"""Sets of classes as answers: every row names none, one or several classes of a vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers
from ...core.errors import DataError
from ...core.intake.column import code_text
from ...core.intake.frames import to_polars
from ...core.vocabulary import Codes, as_series, lookup, quote, widened
from ...core.votes import frozen
from .maths import masi, packed

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Sets(Answers):
    """Row i names the classes code[start[i]:start[i + 1]], ascending; `classes` may name more than the rows do.

    Where not every class was offered to everybody, row i chose from menus[menu[i]], a row of yes and no over the
    classes: a class that is not on the menu was not denied.
    """

    kind: ClassVar[str] = "sets"

    start: I8
    code: Codes
    classes: pl.Series
    menu: Codes | None = None
    menus: Mask | None = None

    def __post_init__(self) -> None:
        for name in ("start", "code", "menu", "menus"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def sizes(self) -> I8:
        """How many classes each row names."""
        return np.diff(self.start)

    @property
    def row(self) -> I8:
        """The row of each entry of `code`."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def bits(self) -> npt.NDArray[np.uint64]:
        """The rows as bits, 64 classes to a word."""
        return packed(self.row, self.code, len(self), len(self.classes))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        rows = np.asarray(rows)
        sizes = self.sizes[rows]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        at = np.repeat(self.start[:-1][rows] - start[:-1], sizes) + np.arange(start[-1])
        menu = None if self.menu is None else self.menu[rows]
        return type(self)(start, self.code[at], self.classes, menu, self.menus)

    def join(self, other: Self) -> Self:
        """Both, over the union of the classes; a side without menus offered all of them."""
        classes, old, new = widened(self.classes, other.classes)
        sides = [(self, old), (other, new)]
        code = np.concatenate([_moved(each.code, table) for each, table in sides])
        start = np.concatenate([self.start, other.start[1:] + self.start[-1]])
        code = _sorted_within(start, code)
        if self.menu is None and other.menu is None:
            return type(self)(start, code, classes)
        menus = [_menus(each, table, len(classes)) for each, table in sides]
        menu = [each.menu if each.menu is not None else np.zeros(len(each), np.int32) for each, _ in sides]
        both = np.concatenate([menu[0], menu[1] + np.int32(len(menus[0]))])
        return type(self)(start, code, classes, both.astype(np.int32), np.concatenate(menus))

    def columns(self) -> dict[str, pl.Series]:
        """`labels`, and `offered` where not everything was: lists as JSON."""
        found = {"labels": as_json(self.start, self.code, self.classes, "labels")}
        if self.menu is not None and self.menus is not None:
            rows, codes = np.nonzero(self.menus)
            start = np.searchsorted(rows, np.arange(len(self.menus) + 1))
            found["offered"] = as_json(start, codes.astype(np.int32), self.classes, "offered").gather(self.menu)
        return found

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The words of 64 classes."""
        return tuple(self.bits.T)

    def distance(self, i: I8, j: I8) -> npt.NDArray[np.float64]:
        """How far the sets of rows i and j are apart, by MASI: 0 the same, 1 nothing in common."""
        return masi(self.bits, i, j)


def as_json(start: I8, code: Codes, classes: pl.Series, name: str) -> pl.Series:
    """Lists of classes as JSON, each distinct list written once."""
    names = classes.cast(pl.String).to_list()
    quoted = pl.Series([json.dumps(each, ensure_ascii=False) for each in names], dtype=pl.String)
    sizes = np.diff(start)
    full = sizes > 0
    table = pl.DataFrame({"row": np.repeat(np.arange(len(sizes)), sizes), "name": quoted.gather(code)})
    lists = table.group_by("row", maintain_order=True).agg(pl.col("name").str.join(", "))["name"]
    out = np.full(len(sizes), -1, dtype=np.int64)
    out[full] = np.arange(int(full.sum()))
    texts = pl.concat([("[" + lists + "]").cast(pl.String), pl.Series(["[]"])])
    return texts.gather(np.where(out < 0, len(texts) - 1, out)).rename(name)


def distance(answers: Sets, i: I8, j: I8) -> npt.NDArray[np.float64]:
    """The door of this name: how far the answers of rows i and j are apart, 0..1."""
    return answers.distance(i, j)


def _moved(code: Codes, table: Codes | None) -> Codes:
    return code if table is None or not len(table) else table[code]


def _sorted_within(start: I8, code: Codes) -> Codes:
    """Codes ascending within each row."""
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return np.asarray(code[np.lexsort((code, row))])


def _menus(own: Sets, table: Codes | None, k: int) -> Mask:
    if own.menus is None:
        return np.ones((1, k), dtype=bool)
    out = np.zeros((len(own.menus), k), dtype=bool)
    out[:, np.arange(len(own.classes)) if table is None or not len(table) else table] = own.menus
    return out


# ----------------------------------------------------------------
# Sets of classes as people write them: JSON lists, `a|b`, lists and sets of Python, lists of a table.

SEPARATOR = "|"
# What stands for a separator that is part of a name.
_KEPT = "\0"


class Lists:
    """Distinct lists of names, and which of them each row has (-1: the row has none, not even an empty one)."""

    def __init__(self, code: I8, lists: list[list[str]]) -> None:
        self.code, self.lists = code, lists

    def __len__(self) -> int:
        return len(self.code)

    @property
    def null(self) -> Mask | None:
        """Rows without an answer."""
        gone = self.code < 0
        return gone if gone.any() else None

    def names(self) -> set[str]:
        """Every name in a list that some row has."""
        used = np.unique(self.code[self.code >= 0])
        return {name for i in used.tolist() for name in self.lists[i]}

    def without(self, names: Iterable[str]) -> set[str]:
        """Take rows that say just one of these for rows without an answer; returns those that occurred."""
        gone = set(names)
        hit = [len(each) == 1 and each[0].strip() in gone for each in self.lists]
        if any(hit):
            used = self.code >= 0
            self.code = np.where(used & np.asarray([*hit, False])[self.code], -1, self.code)
        return {each[0].strip() for each, yes in zip(self.lists, hit, strict=True) if yes}

    def rows(self, codes: dict[str, int]) -> tuple[I8, npt.NDArray[np.int32]]:
        """start[row + 1] and the codes of the names, ascending within each row, names that have no code left out."""
        each = [np.array(sorted({codes[n] for n in names if n in codes}), dtype=np.int32) for names in self.lists]
        sizes = np.array([*(len(one) for one in each), 0], dtype=np.int64)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        flat = np.concatenate([*each, np.empty(0, np.int32)])
        own = sizes[self.code]
        start = np.concatenate([[0], np.cumsum(own)])
        at = np.repeat(first[self.code] - start[:-1], own) + np.arange(start[-1])
        return start, np.asarray(flat[at], dtype=np.int32)


def lists_of(values: Any, name: str) -> Lists:
    """Any column of sets."""
    if isinstance(values, pl.Series):
        series = values
    elif isinstance(values, np.ndarray) and values.dtype.kind != "O":
        series = pl.Series(name, values)
    else:
        return _from_python(list(values), name)
    if isinstance(series.dtype, pl.List | pl.Array):
        return _from_python(series.to_list(), name)
    if series.dtype == pl.Object or isinstance(series.dtype, pl.Struct):
        raise DataError(f"column {name!r} holds {series.dtype} values; lists of names, JSON or a|b are needed")
    return _from_texts(series.cast(pl.String), name)


def _from_texts(series: pl.Series, name: str) -> Lists:
    codes, texts = code_text(series)
    lists: list[list[str]] = []
    table = np.full(len(texts) + 1, -1, dtype=np.int64)
    for i, text in enumerate(texts.to_list()):
        if text is not None and text.strip():
            table[i] = len(lists)
            lists.append(parsed(text, name))
    return Lists(table[codes.astype(np.int64)], lists)


def _from_python(values: list[Any], name: str) -> Lists:
    seen: dict[Any, int] = {}
    lists: list[list[str]] = []
    code = np.full(len(values), -1, dtype=np.int64)
    for i, value in enumerate(values):
        if value is None or (isinstance(value, float) and np.isnan(value)):
            continue
        if isinstance(value, str):
            if not value.strip():
                continue
            names = parsed(value, name)
        elif isinstance(value, Iterable):
            names = [_name(each, value, name) for each in value]
        else:
            names = [_name(value, value, name)]
        key = frozenset(names)
        if key not in seen:
            seen[key] = len(lists)
            lists.append(sorted(key))
        code[i] = seen[key]
    return Lists(code, lists)


def parsed(text: str, name: str) -> list[str]:
    """The names in a JSON list, or in a|b (a separator that is part of a name is doubled)."""
    plain = text.strip()
    if plain.startswith("["):
        try:
            found = json.loads(plain)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, list):
            return [_name(each, text, name) for each in found]
        raise DataError(f"{quote([text])} in column {name!r} begins like a JSON list and is none; correct it")
    parts = plain.replace(SEPARATOR * 2, _KEPT).split(SEPARATOR)
    return [part.strip().replace(_KEPT, SEPARATOR) for part in parts if part.strip()]


def _name(value: Any, within: Any, name: str) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str | int | float) and str(value).strip():
        return str(value)
    raise DataError(f"{quote([within])} in column {name!r} is no list of names: {quote([value])} is none")


# ----------------------------------------------------------------
# Known sets of some tasks: whole sets, or a word on single classes.

I1 = npt.NDArray[np.int8]
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
