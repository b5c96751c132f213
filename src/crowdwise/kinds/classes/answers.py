"""Classes as answers: every row names one class of a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.arrays import Mask
from ...core.errors import DataError, ParameterError
from ...core.intake.column import Column, Respell, UnknownClasses, missing_value_notes, refuse_texts_among_numbers
from ...core.vocabulary import NUMERAL, Codes, as_series, lookup, quote, sorted_vocabulary, spelt_like, union, widened
from ...core.votes import frozen

# More different whole numbers than this, close together, are rarely classes.
MANY = 12
# Value of `order` for classes that are numbers.
NUMBERS = "numbers"


@dataclass(frozen=True, eq=False)
class Classes(Answers):
    """label[row] is a code into `classes`, which may include unused classes.

    `order` holds the codes of the classes from the lowest to the highest, if they have an order.
    """

    kind: ClassVar[str] = "classes"

    label: Codes
    classes: pl.Series
    order: Codes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", frozen(self.label))

    def __len__(self) -> int:
        return len(self.label)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the answers of these rows."""
        return type(self)(self.label[rows], self.classes, self.order)

    def join(self, other: Self) -> Self:
        """Return the answers of both, over the union of the classes; the order is kept if the classes are the same."""
        classes, old, new = widened(self.classes, other.classes)
        label = self.label if old is None or not len(old) else old[self.label]
        more = other.label if new is None or not len(new) else new[other.label]
        return type(self)(np.concatenate([label, more]), classes, self.order if old is None else None)

    def columns(self) -> dict[str, pl.Series]:
        """Return the names of the classes."""
        return {"label": self.classes.gather(self.label)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the codes."""
        return (self.label,)

    def words(self, rows: npt.NDArray[Any]) -> list[Any]:
        """Return the classes of these rows."""
        return self.classes.gather(np.unique(self.label[rows])).to_list()


class ClassCoder(Coder):
    """Codes a column of labels as classes.

    Args:
        columns: The columns, with the labels under "label".
        classes: The permitted classes; by default those of the column.
        unknown_classes: Whether rows with other classes are an error or are dropped.
        respell: Changes the spelling of the distinct labels.
        order: Classes from the lowest to the highest.
        asked: Whether the kind was requested. Otherwise fractions are refused, because they may be numbers.
    """

    def __init__(
        self,
        columns: dict[str, Any],
        *,
        classes: Any = None,
        unknown_classes: UnknownClasses = "error",
        respell: Respell | None = None,
        order: Sequence[Any] | None = None,
        asked: bool = True,
    ) -> None:
        if unknown_classes not in ("error", "drop"):
            raise ParameterError(f"unknown_classes must be error or drop, got {unknown_classes!r}")
        self.column = Column.of(columns.pop("label"), "label")
        self.classes, self.policy, self.respell, self.order = classes, unknown_classes, respell, order
        self.asked = asked or classes is not None or order is not None
        self.messages: tuple[str, ...] = ()

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a label."""
        return self.column.null

    def __len__(self) -> int:
        return len(self.column)

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these labels as missing."""
        return self.column.leave_out(names)

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Return the mask of the rows with a permitted class."""
        if self.respell is not None:
            self.messages += self.column.respelt(self.respell)
        if not self.asked:
            rows = self.column.codes if self.null is None else self.column.codes[~self.null]
            counts = np.bincount(rows, minlength=len(self.column.vocabulary))
            refuse_texts_among_numbers(self.column.vocabulary, counts)
            self.messages += check_not_numbers(self.column.vocabulary)
        if self.classes is None:
            self._widen()
            return None
        return self.column.recode(sorted_vocabulary(self.classes, "label"), keep, dropped, self.policy)

    def _widen(self) -> None:
        """Add the classes that occur in the order only."""
        if self.order is None or by_number(self.order, self.column.vocabulary):
            return
        names = spelt_like(as_series(self.order, "order"), self.column.vocabulary)
        wider = union(self.column.vocabulary, names.unique())
        if len(wider) > len(self.column.vocabulary):
            self.column.recode(wider, np.ones(len(self.column), dtype=bool), {})

    def finish(self) -> Classes:
        """Return the labels as codes."""
        label = np.ascontiguousarray(self.column.codes, dtype=np.int32)
        vocabulary = self.column.vocabulary
        return Classes(label, vocabulary, None if self.order is None else in_order(self.order, vocabulary))

    def notes(self, answers: Answers) -> tuple[str, ...]:
        """Return notes on changed spellings, classes that look like missing values, and lost characters."""
        assert isinstance(answers, Classes)
        counts = np.bincount(answers.label, minlength=len(answers.classes))
        return self.messages + missing_value_notes(answers.classes, counts) + self.column.lost()


def check_not_numbers(labels: pl.Series) -> tuple[str, ...]:
    """Return a note if the labels may be numbers; raise if some of them are fractions."""
    if labels.dtype == pl.String:
        texts = labels.str.strip_chars()
        if not len(labels) or not bool(texts.str.contains(NUMERAL).all()):
            return ()
        numbers = texts.cast(pl.Float64, strict=False)  # decimal commas have been replaced already
    else:
        numbers = labels.cast(pl.Float64)
    if not len(numbers) or numbers.null_count():
        return ()
    broken = numbers.filter(numbers != numbers.round())
    if len(broken):
        raise DataError(
            f"the labels are numbers with fractions, such as {broken[0]:g}; say --kind numbers to read numbers, or "
            "--kind classes to read each as a class (in Python: kind=)"
        )
    low, high = float(numbers.min()), float(numbers.max())  # type: ignore[arg-type]
    if len(numbers) <= MANY or high - low >= 2 * len(numbers):
        return ()
    return (
        f"{len(numbers)} different whole numbers from {low:g} to {high:g} are read as classes; if they are numbers, "
        "say --kind numbers (in Python: kind='numbers')",
    )


def by_number(order: Sequence[Any], classes: pl.Series) -> bool:
    """Whether the order is "numbers", that of the classes' values, and no class has this name."""
    numeric_order = order == NUMBERS if isinstance(order, str) else [str(name) for name in order] == [NUMBERS]
    return numeric_order and not bool((classes.cast(pl.String) == NUMBERS).any())


def in_order(order: Sequence[Any], classes: pl.Series) -> Codes:
    """Return the codes of the classes from the lowest to the highest.

    Args:
        order: The classes, each exactly once, or "numbers" for classes that are numbers.
        classes: The classes.
    """
    if by_number(order, classes):
        values = classes.cast(pl.String).str.strip_chars().str.replace(",", ".", literal=True)
        numbers = values.cast(pl.Float64, strict=False)
        if numbers.null_count():
            raise ParameterError(
                f"the classes {quote(classes.filter(numbers.is_null()))} are no numbers; name the order, or leave "
                "them out with --missing (in Python missing=)"
            )
        return np.argsort(numbers.to_numpy(), kind="stable").astype(np.int32)
    if isinstance(order, str):
        raise ParameterError(f"order must be a list of classes, or 'numbers', got {order!r}")
    names = spelt_like(as_series(order, "order"), classes)
    codes, is_class = lookup(classes, names)
    if not is_class.all():
        raise ParameterError(f"the order names {quote(names.filter(~pl.Series(is_class)))}, which is no class here")
    twice = names.filter(names.is_duplicated())
    if len(twice):
        raise ParameterError(f"the order names {quote(twice[:1])} twice")
    left = np.setdiff1d(np.arange(len(classes)), codes)
    if len(left):
        raise ParameterError(f"the order leaves out {quote(classes.gather(left))}; name every class")
    return codes
