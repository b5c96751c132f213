"""Answers that are numbers: a rating, a price, a measurement, or several of them in one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.arrays import F8, Mask
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.columns import by_plain_name
from ...core.intake.frames import to_polars
from ...core.vocabulary import quote
from ...core.votes import Votes, frozen

# Larger values are refused: their squares overflow a double.
LARGEST = 1e150
# Accepted names of the value column, preferred names first; `value_x`, `value_y`... are parts of one answer.
NAMES = "value score rating number amount estimate measurement"
PART = "value_"


@dataclass(frozen=True, eq=False)
class Numbers(Answers):
    """Answers with one or more numbers each.

    Args:
        value: value[row, part], or value[row] where answers have one part.
        parts: Names of the parts; "" where there is only one.
    """

    kind: ClassVar[str] = "numbers"

    value: F8
    parts: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        value = self.value[:, None] if self.value.ndim == 1 else self.value
        if value.shape[1] != len(self.parts):
            raise DataError(f"numbers of shape {self.value.shape} do not match the {len(self.parts)} named parts")
        object.__setattr__(self, "value", frozen(value))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in files: value, or value_<part>."""
        return tuple(f"{PART}{part}" if part else "value" for part in self.parts)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """Return the answers of some rows."""
        return type(self)(self.value[rows], self.parts)

    def join(self, other: Self) -> Self:
        """Concatenate two sets of answers with the same parts."""
        if self.parts != other.parts:
            raise DataError(f"answers with {quote(self.names)} and with {quote(other.names)} cannot be joined")
        return type(self)(np.concatenate([self.value, other.value]), self.parts)

    def columns(self) -> dict[str, pl.Series]:
        """Return one column per part."""
        return {name: pl.Series(name, self.value[:, j]) for j, name in enumerate(self.names)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the numbers of each part as sort keys."""
        return tuple(self.value.T)


class NumberCoder(Coder):
    """Read columns of numbers. Empty cells and NaN are missing answers; other text is refused, naming its row.

    Args:
        columns: Columns by name; `value` or `value_<part>` columns are taken out of it.
        low: Lowest allowed value.
        high: Highest allowed value.
    """

    def __init__(self, columns: dict[str, Any], *, low: float | None = None, high: float | None = None) -> None:
        names = [name for name in columns if name == "value" or name.startswith(PART)]
        if not names:
            raise DataError("numbers need a column `value`, or columns named value_<part>")
        self.parts = tuple(name.removeprefix(PART) if name != "value" else "" for name in names)
        self.range = (low, high)
        self.texts = [_series(columns.pop(name), name) for name in names]
        sizes = {len(text) for text in self.texts}
        if len(sizes) > 1:
            raise DataError(f"the columns {quote(names)} differ in length")
        self.values: list[pl.Series] | None = None

    def __len__(self) -> int:
        return len(self.texts[0])

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows that lack a number in some part."""
        values = self._numbers()
        is_missing = np.logical_or.reduce([v.is_null().to_numpy() for v in values])
        return is_missing if is_missing.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Treat these texts as missing and return those that occurred."""
        replaced: set[str] = set()
        for i, text in enumerate(self.texts):
            if text.dtype == pl.String:
                hit = text.str.strip_chars().is_in(names).fill_null(False)
                replaced |= set(text.filter(hit).str.strip_chars().unique().to_list())
                self.texts[i] = text.set(hit, None)
        self.values = None
        return replaced

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:  # noqa: ARG002
        """Admit all rows; infinite numbers and numbers outside the allowed range raise DataError."""
        low, high = self.range
        for text, value in zip(self.texts, self._numbers(), strict=True):
            outside = value.is_infinite() | (value.abs() > LARGEST)
            _refuse(text, outside, f"is not a usable number (at most {LARGEST:g})")
            if low is not None:
                _refuse(text, value < low, f"is below the lowest value {low:g}")
            if high is not None:
                _refuse(text, value > high, f"is above the highest value {high:g}")
        return None

    def finish(self) -> Numbers:
        """Return the coded numbers."""
        return Numbers(np.stack([v.fill_null(0.0).to_numpy() for v in self._numbers()], axis=1), self.parts)

    def _numbers(self) -> list[pl.Series]:
        if self.values is None:
            self.values = [_numbers(text) for text in self.texts]
        return self.values


def _series(values: Any, name: str) -> pl.Series:
    if isinstance(values, pl.Series):
        return values.rename(name)
    if isinstance(values, list | tuple) and all(v is None or type(v) in (int, float) for v in values):
        return pl.Series(name, [None if v is None else float(v) for v in values], dtype=pl.Float64)  # 1 beside 2.5
    return to_polars({name: values})[name]


def _numbers(text: pl.Series) -> pl.Series:
    if text.dtype.is_numeric() or text.dtype == pl.Null:
        return text.cast(pl.Float64).fill_nan(None)
    if text.dtype != pl.String:
        raise DataError(f"column {text.name!r} holds {text.dtype} values, not numbers")
    plain = text.str.strip_chars()
    values = plain.cast(pl.Float64, strict=False)
    _refuse(text, values.is_null() & (plain != "").fill_null(False), "is not a number")
    return values.fill_nan(None)


def _refuse(text: pl.Series, bad: pl.Series, why: str) -> None:
    hit = bad.fill_null(False).arg_true()
    if len(hit):
        row = int(hit[0])
        more = f" (and {len(hit) - 1:,} more rows)" if len(hit) > 1 else ""
        raise DataError(
            f"row {row + 1}: {quote([text[row]])} in column {text.name!r} {why}{more}; correct it, name it with "
            "--missing, or read classes with --kind classes"
        )


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find the columns of numbers in a header: value_<part>..., or one named value, score, rating or similar."""
    plain = by_plain_name(header)
    parts = {name: plain[name] for name in plain if name.startswith(PART) and name != PART}
    if parts and "value" not in plain:
        return parts
    for name in NAMES.split():
        if name in plain:
            return {"value": plain[name]}
    return None


def accepts(column: pl.Series) -> bool:
    """Return whether a column holds numbers, apart from a few other texts."""
    if column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    plain = column.str.strip_chars().str.replace(",", ".", literal=True)
    has_text = (plain != "").fill_null(False)
    is_number = plain.cast(pl.Float64, strict=False).is_not_null() & has_text
    return bool(has_text.any()) and int(is_number.sum()) >= 0.8 * int(has_text.sum())


def explain_detection(answers: pl.Series) -> str:
    """Explain why answers are taken for numbers: all of them are numeric and some have fractions."""
    plain = answers.drop_nulls().cast(pl.String).str.strip_chars()
    numbers = plain.filter(plain != "").cast(pl.Float64, strict=False)
    if not len(numbers) or numbers.null_count() or not bool(numbers.is_finite().all()):
        return ""
    fractional = numbers.filter(numbers != numbers.round())
    return f"numbers with fractions, such as {fractional[0]:g}" if len(fractional) else ""


def number_votes(
    task: Any,
    worker: Any,
    value: Any,
    *,
    parts: Sequence[str] | None = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    low: float | None = None,
    high: float | None = None,
    **numbers: Any,
) -> Votes[Numbers]:
    """Build votes from columns of equal length.

    Args:
        task: Task of each answer.
        worker: Worker of each answer.
        value: Number of each answer, or a matrix with one column per part.
        parts: Names of the columns of a matrix; by default "0", "1", ...
        duplicates: What to do when a worker answers a task twice: "error", "first", "last" or "keep".
        tasks: All tasks, where some may have no answer.
        workers: All workers, where some may have no answer.
        missing: Values that mean "no answer".
        low: Lowest allowed value; a lower one raises DataError.
        high: Highest allowed value; a higher one raises DataError.
        **numbers: Further columns per answer, such as `weight` or `time`.

    >>> number_votes([1, 1, 2], ["ann", "bob", "ann"], [3.5, 4, 1])
    Votes(3 numbers, 2 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, **numbers}
    if isinstance(value, np.ndarray) and value.ndim == 2:
        named = [str(j) for j in range(value.shape[1])] if parts is None else list(parts)
        columns |= {f"{PART}{part}": value[:, j] for j, part in enumerate(named)}
    else:
        columns["value"] = value
    coder = partial(NumberCoder, low=low, high=high)
    coded = encode(columns, coder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    return Votes._of(coded)
