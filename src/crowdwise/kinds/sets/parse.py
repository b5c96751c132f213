"""Sets of classes as people write them: JSON lists, `a|b`, lists and sets of Python, lists of a table."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.textcodes import code_text
from ...core.vocabulary import quote

I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
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
