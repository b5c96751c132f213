"""Sets of classes as answers: every row names none, one or several classes of a vocabulary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers
from ...core.vocabulary import Codes, widened
from ...core.votes import frozen
from ...maths.sets.words import masi, packed

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
