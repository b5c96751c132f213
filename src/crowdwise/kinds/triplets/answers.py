"""Answers that are triplets: which of two items, left or right, is more similar to a third, head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.intake.columns import by_plain_name
from ...core.item_answers import EVERYONE, ItemAnswers, ItemCoder, item_votes
from ...core.vocabulary import Codes, lookup, quote
from ...core.votes import Votes
from ..similarities.answers import repeats, series_of

COLUMNS = {
    "head": "head anchor reference ref query target",
    "left": "left item_a option_a first",
    "right": "right item_b option_b second",
}
CLOSER = "closer more_similar winner label answer response choice"
SIDES = tuple(COLUMNS)
WORDS = {"left": 0, "a": 0, "first": 0, "right": 1, "b": 1, "second": 1}


@dataclass(frozen=True, eq=False)
class Triplets(ItemAnswers):
    """Answers with one triplet each.

    Args:
        head: Reference item of each row, as a code into `items`.
        left: First item to compare with it.
        right: Second item to compare with it.
        side: 0 where left is closer to head, 1 where right is.
        items: Names of the items.
    """

    kind: ClassVar[str] = "triplets"
    SIDES: ClassVar[tuple[str, ...]] = SIDES
    OUTCOME: ClassVar[str] = "side"

    head: Codes
    left: Codes
    right: Codes
    side: npt.NDArray[np.int8]
    items: pl.Series

    @property
    def near(self) -> Codes:
        """The closer item of each row."""
        return np.asarray(np.where(self.side == 0, self.left, self.right))

    @property
    def far(self) -> Codes:
        """The other item of each row."""
        return np.asarray(np.where(self.side == 0, self.right, self.left))

    def columns(self) -> dict[str, pl.Series]:
        """Return the columns head, left, right and closer (left or right)."""
        closer = pl.Series("closer", ["left", "right"]).gather(self.side.astype(np.int64))
        return {**self.item_columns(), "closer": closer}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return head, closer and other item as sort keys; swapping left and right gives the same answer."""
        return np.asarray(self.head), self.near, self.far


class TripletCoder(ItemCoder):
    """Read columns head, left, right and closer (left, right, or the name of the closer item).

    Args:
        columns: Columns by name; the four are taken out of it.
        items: All items; others are refused.
    """

    REPEATED: ClassVar[str] = "two of the three items are the same"

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        missing = [name for name in (*SIDES, "closer") if name not in columns]
        if missing:
            raise DataError(f"triplets need the columns head, left, right and closer; {missing[0]} is missing")
        sides = [series_of(columns.pop(name), name) for name in SIDES]
        closer = series_of(columns.pop("closer"), "closer")
        if len({len(series) for series in (*sides, closer)}) > 1:
            raise DataError("the columns head, left, right and closer differ in length")
        super().__init__(sides, closer, items)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Admit rows with three different items; an answer that names neither side raises DataError."""
        is_admitted = self.different_items(keep, dropped)
        self.read_outcome(keep & is_admitted)
        return is_admitted

    def finish(self) -> Triplets:
        """Return the coded triplets."""
        items, (head, left, right) = self.coded_items()
        return Triplets(head, left, right, self.read_outcome(np.zeros(self.size, dtype=bool)), items)

    def read_outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        """Return 0 where left is closer and 1 where right is; raise where one of the rows in `keep` names neither."""
        text = self.outcome_text
        names = self.items.vocabulary.cast(pl.String).to_list()
        code = {name: i for i, name in enumerate(names)}
        distinct = text.drop_nulls().unique().sort()
        item = np.array([code.get(word, -1) for word in distinct.to_list()] or [-1])
        word = np.array([WORDS.get(word_.lower(), -1) for word_ in distinct.to_list()] or [-1])
        at = lookup(distinct, text.fill_null(""))[0] if len(distinct) else np.zeros(self.size, dtype=np.int64)
        _, left, right = self.by_side(self.items.codes)
        side = np.where(item[at] == left, 0, np.where(item[at] == right, 1, word[at]))
        bad = keep & (side < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(
                f"row {row + 1}: {quote([text[row]])} in column 'closer' is neither left nor right nor one of the two "
                "items; correct it, or name it with --missing"
            )
        return np.maximum(side, 0).astype(np.int8)


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find the columns head, left, right and closer; None unless all are there."""
    plain = by_plain_name(header)
    columns = {
        role: next((plain[name] for name in names.split() if name in plain), None)
        for role, names in {**COLUMNS, "closer": CLOSER}.items()
    }
    return {role: str(name) for role, name in columns.items()} if all(columns.values()) else None


def fill_columns(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Add missing columns: tasks named after the triplets, and the worker "everyone"."""
    notes: tuple[str, ...] = ()
    if "task" not in columns:
        sides = {name: series_of(columns[name], name).cast(pl.String).str.strip_chars() for name in SIDES}
        pair = pl.min_horizontal("left", "right") + pl.lit(" | ") + pl.max_horizontal("left", "right")
        named = pl.DataFrame(sides).select((pl.col("head") + pl.lit(": ") + pair).alias("task"))
        columns["task"] = named.to_series()
    if "worker" in columns:
        notes = repeats(columns, "triplet")
        return notes, None, bool(notes)
    columns["worker"] = pl.Series("worker", [EVERYONE] * len(columns["task"]), dtype=pl.String)
    return (f"there is no worker column: all answers are attributed to {EVERYONE!r}",), None, True


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
    """Build votes from columns of equal length.

    Args:
        head: Reference item of each answer.
        left: First item to compare with it.
        right: Second item to compare with it.
        closer: "left", "right", or the name of the item that is more similar to head.
        worker: Worker of each answer; by default all answers are attributed to "everyone".
        task: Task of each answer; by default each triplet is a task.
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, where some may have no answer.
        workers: All workers, where some may have no answer.
        items: All items; others are refused.
        missing: Values that mean "no answer".
        **numbers: Further columns per answer, such as `weight` or `time`.

    >>> triplet_votes(["a", "b"], ["b", "c"], ["c", "a"], ["left", "c"], worker=["ann", "bob"])
    Votes(2 triplets, 2 tasks, 2 workers)
    """
    columns, optional = {"head": head, "left": left, "right": right, "closer": closer}, {"task": task, "worker": worker}
    return item_votes(
        columns, optional, fill_columns, TripletCoder, items=items, numbers=numbers, duplicates=duplicates,
        tasks=tasks, workers=workers, missing=missing,
    )  # fmt: skip


# ----------------------------------------------------------------
# Distance between two answers.


def distance(answers: Triplets, i: I8, j: I8) -> F8:
    """0 where two answers agree, else 1: on the closer item for the same triplet, otherwise on the side."""
    same_triplet = (answers.head[i] == answers.head[j]) & (
        np.minimum(answers.left, answers.right)[i] == np.minimum(answers.left, answers.right)[j]
    ) & (np.maximum(answers.left, answers.right)[i] == np.maximum(answers.left, answers.right)[j])  # fmt: skip
    different = np.where(same_triplet, answers.near[i] != answers.near[j], answers.side[i] != answers.side[j])
    return np.asarray(different, dtype=np.float64)
