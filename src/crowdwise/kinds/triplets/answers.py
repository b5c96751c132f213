"""Triplets: which of left and right is more like head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.vocabulary import Codes, lookup, quote, sorted_vocabulary, union
from ...core.votes import Votes, frozen
from ..similarities.answers import both_sides, in_given, moved, repeats, series_of

SIDES = {
    "head": "head anchor reference ref query target",
    "left": "left item_a option_a first",
    "right": "right item_b option_b second",
}
CLOSER = "closer more_similar winner label answer response choice"
ALIKE = "two of the three items are the same"
NOBODY = "everyone"
WORDS = {"left": 0, "a": 0, "first": 0, "right": 1, "b": 1, "second": 1}


@dataclass(frozen=True, eq=False)
class Triplets(Answers):
    """head, left and right as codes into `items`; side[row] is 0 where left is closer to head, 1 where right is."""

    kind: ClassVar[str] = "triplets"

    head: Codes
    left: Codes
    right: Codes
    side: npt.NDArray[np.int8]
    items: pl.Series

    def __post_init__(self) -> None:
        for name in ("head", "left", "right", "side"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.head)

    @property
    def near(self) -> Codes:
        """The item that was said to be closer."""
        return np.asarray(np.where(self.side == 0, self.left, self.right))

    @property
    def far(self) -> Codes:
        """The other one."""
        return np.asarray(np.where(self.side == 0, self.right, self.left))

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.head[rows], self.left[rows], self.right[rows], self.side[rows], self.items)

    def join(self, other: Self) -> Self:
        """Both, over the items of both."""
        items = union(self.items, other.items)
        mine, theirs = (lookup(items, each.items.cast(items.dtype))[0] for each in (self, other))
        head, left, right = (
            np.concatenate([moved(getattr(self, name), mine), moved(getattr(other, name), theirs)]) for name in SIDES
        )
        return type(self)(head, left, right, np.concatenate([self.side, other.side]), items)

    def columns(self) -> dict[str, pl.Series]:
        """head, left, right, and which side is closer."""
        said = pl.Series("closer", ["left", "right"]).gather(self.side.astype(np.int64))
        return {**{name: self.items.gather(getattr(self, name)).rename(name) for name in SIDES}, "closer": said}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Head, the closer item and the other: sides do not make another answer."""
        return np.asarray(self.head), self.near, self.far


class TripletCoder(Coder):
    """Columns head, left, right and closer: left, right, or the closer item's name."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        missing = [name for name in (*SIDES, "closer") if name not in columns]
        if missing:
            raise DataError(f"triplets need the columns head, left, right and closer; {missing[0]} is missing")
        three = [series_of(columns.pop(name), name) for name in SIDES]
        self.said = series_of(columns.pop("closer"), "closer")
        if len({len(each) for each in (*three, self.said)}) > 1:
            raise DataError("the columns head, left, right and closer are not equally long")
        self.size, self.all = len(self.said), both_sides(*three)
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    def _three(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        n = self.size
        return [values[i * n : (i + 1) * n] for i in range(3)]

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the answer is missing."""
        text = self.said.cast(pl.String).str.strip_chars()
        gone = (text.is_null() | (text == "")).to_numpy()
        if self.all.null is not None:
            gone = np.logical_or.reduce([gone, *self._three(self.all.null)])
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these values for no item and no answer."""
        text = self.said.cast(pl.String)
        hit = text.str.strip_chars().is_in(list(names)).fill_null(False)
        seen = set(text.filter(hit).str.strip_chars().to_list())
        self.said = text.set(hit, None)
        return seen | self.all.leave_out(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rows with three different items; an answer that is neither side is refused."""
        head, left, right = self._three(self.all.codes)
        alike = (head == left) | (head == right) | (left == right)
        dropped[ALIKE] = int((keep & alike).sum())
        self._side(keep & ~alike)
        return np.asarray(~alike)

    def finish(self) -> Triplets:
        """The answers."""
        items, codes = in_given(self.all, self.given)
        head, left, right = self._three(codes)
        return Triplets(head, left, right, self._side(np.zeros(self.size, dtype=bool)), items.rename("item"))

    def _side(self, keep: Mask) -> npt.NDArray[np.int8]:
        text = self.said.cast(pl.String).str.strip_chars()
        names = self.all.vocabulary.cast(pl.String).to_list()
        code = {name: i for i, name in enumerate(names)}
        distinct = text.drop_nulls().unique().sort()
        item = np.array([code.get(word, -1) for word in distinct.to_list()] or [-1])
        word = np.array([WORDS.get(each.lower(), -1) for each in distinct.to_list()] or [-1])
        at = lookup(distinct, text.fill_null(""))[0] if len(distinct) else np.zeros(self.size, dtype=np.int64)
        _, left, right = self._three(self.all.codes)
        side = np.where(item[at] == left, 0, np.where(item[at] == right, 1, word[at]))
        bad = keep & (side < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"row {row + 1}: {quote([text[row]])} in column 'closer' is neither left nor right nor one of the two "
                "items; correct it, or name it with --missing"
            )
        return np.maximum(side, 0).astype(np.int8)


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """head, left, right and which is closer."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = {
        role: next((plain[name] for name in names.split() if name in plain), None)
        for role, names in {**SIDES, "closer": CLOSER}.items()
    }
    return {role: str(name) for role, name in found.items()} if all(found.values()) else None


def complete(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Tasks that nobody named are the triplets, and nameless answers are everyone's."""
    notes: tuple[str, ...] = ()
    if "task" not in columns:
        three = {name: series_of(columns[name], name).cast(pl.String).str.strip_chars() for name in SIDES}
        pair = pl.min_horizontal("left", "right") + pl.lit(" | ") + pl.max_horizontal("left", "right")
        named = pl.DataFrame(three).select((pl.col("head") + pl.lit(": ") + pair).alias("task"))
        columns["task"] = named.to_series()
    if "worker" in columns:
        notes = repeats(columns, "triplet")
        return notes, None, bool(notes)
    columns["worker"] = pl.Series("worker", [NOBODY] * len(columns["task"]), dtype=pl.String)
    return (f"nobody says who answered: all answers are those of {NOBODY!r}",), None, True


def triplet_votes(
    head: Any,
    left: Any,
    right: Any,
    closer: Any,
    *,
    worker: Any = None,
    task: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Triplets]:
    """Votes from equally long columns: `closer` is left, right or the name of the item that is more like head.

    >>> triplet_votes(["a", "b"], ["b", "c"], ["c", "a"], ["left", "c"], worker=["ann", "bob"])
    Votes(2 triplets, 2 tasks, 2 workers)
    """
    named = {"task": task, "worker": worker}
    columns = {"head": head, "left": left, "right": right, "closer": closer}
    columns |= {name: values for name, values in named.items() if values is not None}
    notes, _, again = complete(columns)
    how: dict[str, Any] = {"duplicates": "keep" if again and duplicates == "error" else duplicates, "notes": notes}
    coder = partial(TripletCoder, items=items)
    return Votes._of(encode({**columns, **numbers}, coder, tasks=tasks, workers=workers, missing=missing, **how))


# ---------------------------------------------------------------- How far two answers about a triplet are apart

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


def distance(answers: Triplets, i: I8, j: I8) -> F8:
    """Of one triplet 0 where the same item was named, else 1; of different triplets, whether the same side was."""
    here = (answers.head[i] == answers.head[j]) & (
        np.minimum(answers.left, answers.right)[i] == np.minimum(answers.left, answers.right)[j]
    ) & (np.maximum(answers.left, answers.right)[i] == np.maximum(answers.left, answers.right)[j])  # fmt: skip
    apart = np.where(here, answers.near[i] != answers.near[j], answers.side[i] != answers.side[j])
    return np.asarray(apart, dtype=np.float64)
