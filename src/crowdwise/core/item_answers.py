"""Base classes of answers about items: which of two wins, whether two are the same, which of two is closer to a third.

Such an answer has one item on each side of the question, and an outcome.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from .answers import Answers, Coder, Rows
from .arrays import Mask
from .errors import DataError
from .intake.coding import encode
from .intake.column import Column
from .vocabulary import Codes, lookup, quote, sorted_vocabulary, widened
from .votes import Votes, frozen

# Worker of the rows of a file without a column of workers.
EVERYONE = "everyone"


class ItemAnswers(Answers):
    """Answers about items.

    Attributes:
        SIDES: Names of the fields with the item of each row, as a code into `items`.
        OUTCOME: Name of the field with the outcome of each row.
        items: Names of the items.
    """

    SIDES: ClassVar[tuple[str, ...]]
    OUTCOME: ClassVar[str]

    items: pl.Series

    def __post_init__(self) -> None:
        for name in (*self.SIDES, self.OUTCOME):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(getattr(self, self.OUTCOME))

    def take(self, rows: Rows) -> Self:
        """Return the answers of these rows."""
        return type(self)(*(getattr(self, name)[rows] for name in (*self.SIDES, self.OUTCOME)), self.items)  # type: ignore[call-arg]

    def join(self, other: Self) -> Self:
        """Concatenate two sets of answers, over the items of both."""
        items, own_codes, other_codes = widened(self.items, other.items)
        sides = [
            np.concatenate([_recoded(getattr(self, name), own_codes), _recoded(getattr(other, name), other_codes)])
            for name in self.SIDES
        ]
        outcome = np.concatenate([getattr(self, self.OUTCOME), getattr(other, self.OUTCOME)])
        return type(self)(*sides, outcome, items)  # type: ignore[call-arg]

    def item_columns(self) -> dict[str, pl.Series]:
        """Return the names of the items, a column for each side."""
        return {name: self.items.gather(getattr(self, name)).rename(name) for name in self.SIDES}


def _recoded(codes: Codes, table: Codes | None) -> Codes:
    return codes if table is None or not len(table) else table[codes]


class ItemCoder(Coder):
    """Read a column of items for each side, and a column of outcomes.

    Attributes:
        REPEATED: Why rows are dropped in which an item occurs twice.

    Args:
        sides: The items on each side.
        outcome: The outcomes; None where the sides tell them.
        items: All items, where some have no rows; others are refused.
    """

    REPEATED: ClassVar[str] = "an item compared with itself"

    def __init__(self, sides: Sequence[pl.Series], outcome: pl.Series | None, items: Any) -> None:
        self.size, self.n_sides = len(sides[0]), len(sides)
        has_one_type = all(side.dtype == sides[0].dtype for side in sides)
        stacked = pl.concat([(side if has_one_type else side.cast(pl.String)).rename("item") for side in sides])
        self.items, self.outcome = Column.of(stacked, "item"), outcome
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    def by_side(self, values: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Split values of all items into those of each side."""
        return list(values.reshape(self.n_sides, self.size))

    @property
    def outcome_text(self) -> pl.Series:
        """The outcomes as stripped text."""
        assert self.outcome is not None
        return self.outcome.cast(pl.String).str.strip_chars()

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the outcome is missing."""
        missing = [] if self.items.null is None else self.by_side(self.items.null)
        if self.outcome is not None:
            text = self.outcome_text
            missing.append((text.is_null() | (text == "")).to_numpy())
        is_missing = np.logical_or.reduce(missing) if missing else np.zeros(self.size, dtype=bool)
        return is_missing if is_missing.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these values as missing items and outcomes; return those that occurred."""
        replaced = self.items.leave_out(names)
        if self.outcome is not None:
            text = self.outcome_text
            hit = text.is_in(list(names)).fill_null(False)
            replaced |= set(text.filter(hit).to_list())
            self.outcome = self.outcome.cast(pl.String).set(hit, None)
        return replaced

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Mark rows with different items; raise where an outcome cannot be read."""
        self.read_outcome(keep)
        return self.different_items(keep, dropped)

    def different_items(self, keep: Mask, dropped: dict[str, int]) -> Mask:
        """Mark rows with different items, and count the others."""
        sides = self.by_side(self.items.codes)
        is_repeated = np.logical_or.reduce([one == two for one, two in combinations(sides, 2)])
        dropped[self.REPEATED] = int((keep & is_repeated).sum())
        return np.asarray(~is_repeated)

    @abstractmethod
    def read_outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        """Return the outcome of each row; raise where one of the rows in `keep` cannot be read."""

    def coded_items(self) -> tuple[pl.Series, list[Codes]]:
        """Return the items and the codes of each side, over the given items if there are any."""
        items, codes = self.items.vocabulary, self.items.codes.astype(np.int32)
        if self.given is not None:
            table, is_given = lookup(self.given, items)
            if not is_given.all():
                raise DataError(f"items {quote(items.filter(~pl.Series(is_given)))} are not among the given ones")
            items, codes = self.given, (table[codes] if len(table) else codes)
        return items.rename("item"), self.by_side(codes)


def item_votes(
    columns: dict[str, Any],
    optional: Mapping[str, Any],
    fill_columns: Callable[[dict[str, Any]], tuple[tuple[str, ...], pl.DataFrame | None, bool]],
    coder: Callable[..., ItemCoder],
    *,
    items: Any,
    numbers: Mapping[str, Any],
    duplicates: Any,
    **options: Any,
) -> Votes[Any]:
    """Build votes from columns; a missing task is named after the items, a missing worker is `EVERYONE`."""
    columns |= {name: values for name, values in optional.items() if values is not None}
    notes, about, has_repeats = fill_columns(columns)
    columns |= numbers
    duplicates = "keep" if has_repeats and duplicates == "error" else duplicates
    votes: Votes[Any] = Votes._of(
        encode(columns, partial(coder, items=items), duplicates=duplicates, notes=notes, **options)
    )
    return votes if about is None else votes.about(tasks=about)
