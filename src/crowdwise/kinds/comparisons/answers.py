"""Comparisons: which of two items wins, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.intake.column import Column
from ...core.vocabulary import Codes, as_series, lookup, quote, sorted_vocabulary, widened
from ...core.votes import frozen
from ...maths.comparisons.rows import LEFT, RIGHT, TIE
from .columns import plain_text

Mask = npt.NDArray[np.bool_]
OUTCOMES = ("left", "right", "tie")
# What tools write for an outcome; the name of the winning item will do as well.
WORDS = {
    LEFT: ("left", "a1", "a", "model_a", "first", "item_a", "option_a", "response_a", "answer_a"),
    RIGHT: ("right", "a2", "b", "model_b", "second", "item_b", "option_b", "response_b", "answer_b"),
    TIE: ("tie", "equal", "draw", "both", "neither", "tie (bothbad)", "tie (both bad)", "bothbad", "both_bad", "same"),
}
SELF = "an item compared with itself"
# Decided answers from which one side that always wins is where a file lists the winner.
LISTED = 10


@dataclass(frozen=True, eq=False)
class Comparisons(Answers):
    """left[row], right[row] as codes into `items`, outcome[row]: 0 left wins, 1 right wins, 2 a tie."""

    kind: ClassVar[str] = "comparisons"

    left: Codes
    right: Codes
    outcome: npt.NDArray[np.int8]
    items: pl.Series

    def __post_init__(self) -> None:
        for name in ("left", "right", "outcome"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def winner(self) -> Codes:
        """The item that wins each row, -1 of a tie."""
        return np.where(self.outcome == LEFT, self.left, np.where(self.outcome == RIGHT, self.right, -1)).astype(
            np.int32
        )

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.left[rows], self.right[rows], self.outcome[rows], self.items)

    def join(self, other: Self) -> Self:
        """Both, over the items of both."""
        items, mine, theirs = widened(self.items, other.items)
        sides = [
            np.concatenate([_moved(a, mine), _moved(b, theirs)])
            for a, b in ((self.left, other.left), (self.right, other.right))
        ]
        return type(self)(sides[0], sides[1], np.concatenate([self.outcome, other.outcome]), items)

    def columns(self) -> dict[str, pl.Series]:
        """left, right, and which side won."""
        said = pl.Series("winner", OUTCOMES, dtype=pl.String).gather(self.outcome.astype(np.int64))
        return {
            "left": self.items.gather(self.left).rename("left"),
            "right": self.items.gather(self.right).rename("right"),
            "winner": said,
        }

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items whichever side they stood on, and the one that won: sides do not make another answer."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.winner


def _moved(codes: Codes, table: Codes | None) -> Codes:
    return codes if table is None or not len(table) else table[codes]


class ComparisonCoder(Coder):
    """Columns left, right, winner (a side, a tie, or the winner's name), or chosen, rejected."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        columns.pop("prompt", None)
        columns.pop("topic", None)
        self.won: pl.Series | None = None
        if "chosen" in columns:
            sides = [columns.pop("chosen"), columns.pop("rejected", None)]
        else:
            missing = [name for name in ("left", "right", "winner") if name not in columns]
            if missing:
                raise DataError(f"comparisons need the columns left, right and winner; {missing[0]} is missing")
            sides = [columns.pop("left"), columns.pop("right")]
            self.won = plain_text(columns.pop("winner"), "winner")
        if sides[1] is None:
            raise DataError("comparisons by chosen need a column `rejected` beside it")
        one, two = (plain_text(side, name) for side, name in zip(sides, ("left", "right"), strict=True))
        if len(one) != len(two) or (self.won is not None and len(self.won) != len(one)):
            raise DataError("the columns of the comparisons are not equally long")
        if one.dtype != two.dtype:
            one, two = one.cast(pl.String), two.cast(pl.String)
        self.size = len(one)
        self.listed = False  # whether the winner is always written on one side
        self.both = Column.of(pl.concat([one, two.rename(one.name)]), "item")
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the winner is missing."""
        gone = np.zeros(self.size, dtype=bool)
        if self.both.null is not None:
            gone |= self.both.null[: self.size] | self.both.null[self.size :]
        if self.won is not None:
            text = self.won.cast(pl.String).str.strip_chars()
            gone |= (text.is_null() | (text == "")).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these values for no item and no winner."""
        seen = self.both.leave_out(names)
        if self.won is not None:
            text = self.won.cast(pl.String)
            hit = text.str.strip_chars().is_in(list(names)).fill_null(False)
            seen |= set(text.filter(hit).str.strip_chars().to_list())
            self.won = text.set(hit, None)
        return seen

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rows with two different items; a winner that is neither side is refused."""
        outcome = self._outcome(keep)
        decided = outcome[keep & (outcome != TIE)]
        self.listed = self.won is not None and len(decided) >= LISTED and len(np.unique(decided)) == 1
        alone = self.both.codes[: self.size] == self.both.codes[self.size :]
        dropped[SELF] = int((keep & alone).sum())
        return np.asarray(~alone)

    def finish(self) -> Comparisons:
        """The answers; without sides (chosen, rejected) which item stands left means nothing."""
        items, codes = self.both.vocabulary, self.both.codes.astype(np.int32)
        if self.given is not None:
            table, known = lookup(self.given, items)
            if not known.all():
                raise DataError(f"items {quote(items.filter(~pl.Series(known)))} are not among the given ones")
            items, codes = self.given, (table[codes] if len(table) else codes)
        left, right = codes[: self.size], codes[self.size :]
        outcome = self._outcome(np.zeros(self.size, dtype=bool))
        if self.won is None or self.listed:
            # No sides: each pair gets one that goes neither with the names of its items nor with who won.
            turned = (left > right) != ((left + right) % 2 == 1)
            outcome = np.where(turned, np.array([1, 0, 2])[outcome], outcome)
            left, right = np.where(turned, right, left), np.where(turned, left, right)
        return Comparisons(left, right, outcome.astype(np.int8), items.rename("item"))

    def notes(self, answers: Answers) -> tuple[str, ...]:  # noqa: ARG002
        """That sides were only a way of writing, where they were."""
        if not self.listed:
            return ()
        return ("one side wins every answer, so the file lists the winner there; sides are not taken for positions",)

    def _outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        left, right = self.both.codes[: self.size], self.both.codes[self.size :]
        if self.won is None:
            return np.full(self.size, LEFT, dtype=np.int8)
        text = self.won.cast(pl.String).str.strip_chars()
        names = self.both.vocabulary.cast(pl.String)
        distinct = text.drop_nulls().unique()
        words = {word: code for code, some in WORDS.items() for word in some}
        as_item, is_item = lookup(names, distinct) if len(names) else (np.zeros(len(distinct), np.int32),) * 2
        at, _ = lookup(distinct, text) if len(distinct) else (np.zeros(self.size, np.int32), None)
        by_word = np.array([words.get(str(w).lower(), -1) for w in distinct.to_list()] or [-1], dtype=np.int8)
        item = np.where(np.asarray(is_item, bool), as_item, -1)[at] if len(distinct) else np.full(self.size, -1)
        outcome = np.where(item == left, LEFT, np.where(item == right, RIGHT, by_word[at])).astype(np.int8)
        bad = keep & (outcome < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            more = f" (and {int(bad.sum()) - 1:,} rows more)" if bad.sum() > 1 else ""
            raise DataError(
                f"row {row + 1}: the winner is {quote([text[row]])}, neither left, right or tie nor one of the two "
                f"items{more}; correct it, name it with --missing, or read classes with --kind classes"
            )
        return np.maximum(outcome, 0).astype(np.int8)


def fits(columns: dict[str, pl.Series]) -> bool:
    """Whether what stands in the columns are comparisons: most winners are a side, a tie or one of the two items.

    A column that is called winner leaves no doubt."""
    if "winner" not in columns or columns["winner"].name.strip().lower() == "winner":
        return any(name in columns for name in ("winner", "chosen", "won_left"))
    frame = pl.DataFrame({name: as_text(columns[name]) for name in ("left", "right", "winner")}).drop_nulls().head(5000)
    if not len(frame):
        return False
    words = [word for some in WORDS.values() for word in some]
    own = frame["winner"].str.to_lowercase().is_in(words) | (frame["winner"] == frame["left"])
    return bool((own | (frame["winner"] == frame["right"])).mean() >= 0.8)  # type: ignore[operator]


def as_text(values: Any) -> pl.Series:
    """A column as stripped text."""
    series = plain_text(values, "column")
    return as_series(series, series.name).cast(pl.String).str.strip_chars()
