"""Numbers as answers: a rating, a price, a measurement, or several of them in one answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.intake.coding import encode
from ...core.intake.frames import to_polars
from ...core.kind import Kind
from ...core.vocabulary import quote
from ...core.votes import Votes, frozen
from ..hooks import CommonHooks

if TYPE_CHECKING:
    from pathlib import Path

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.method import Method
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.guarantee.verdicts import Verdicts
    from ...evaluation.scores import Table
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Beyond this a square is no number any more; nobody measures such things.
LARGEST = 1e150
# Names of a column of numbers, best first; `value_x`, `value_y`... are parts of one answer.
NAMES = "value score rating number amount estimate measurement"
PART = "value_"


@dataclass(frozen=True, eq=False)
class Numbers(Answers):
    """value[row, part]; `parts` names the columns of an answer that has several ("" for the only one)."""

    kind: ClassVar[str] = "numbers"

    value: F8
    parts: tuple[str, ...] = ("",)

    def __post_init__(self) -> None:
        value = self.value[:, None] if self.value.ndim == 1 else self.value
        if value.shape[1] != len(self.parts):
            raise DataError(f"numbers of shape {self.value.shape} do not have the {len(self.parts)} parts named")
        object.__setattr__(self, "value", frozen(value))

    def __len__(self) -> int:
        return len(self.value)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names in files: value, or value_<part>."""
        return tuple(f"{PART}{part}" if part else "value" for part in self.parts)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.value[rows], self.parts)

    def join(self, other: Self) -> Self:
        """Both; they must have the same parts."""
        if self.parts != other.parts:
            raise DataError(f"answers of {quote(self.names)} and of {quote(other.names)} cannot be put together")
        return type(self)(np.concatenate([self.value, other.value]), self.parts)

    def columns(self) -> dict[str, pl.Series]:
        """The numbers, a column for each part."""
        return {name: pl.Series(name, self.value[:, j]) for j, name in enumerate(self.names)}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The numbers of each part."""
        return tuple(self.value.T)


class NumberCoder(Coder):
    """Columns of numbers; an empty cell or NaN is no answer, text that is no number is refused with its row."""

    def __init__(self, columns: dict[str, Any], *, low: float | None = None, high: float | None = None) -> None:
        names = [name for name in columns if name == "value" or name.startswith(PART)]
        if not names:
            raise DataError("numbers need a column `value`, or several named value_<part>")
        self.parts = tuple(name.removeprefix(PART) if name != "value" else "" for name in names)
        self.range = (low, high)
        self.texts = [_series(columns.pop(name), name) for name in names]
        sizes = {len(text) for text in self.texts}
        if len(sizes) > 1:
            raise DataError(f"the columns {quote(names)} are not equally long")
        self.values: list[pl.Series] | None = None

    def __len__(self) -> int:
        return len(self.texts[0])

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows without a number in some part."""
        values = self._numbers()
        gone = np.logical_or.reduce([v.is_null().to_numpy() for v in values])
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these texts for no number."""
        seen: set[str] = set()
        for i, text in enumerate(self.texts):
            if text.dtype == pl.String:
                hit = text.str.strip_chars().is_in(names).fill_null(False)
                seen |= set(text.filter(hit).str.strip_chars().unique().to_list())
                self.texts[i] = text.set(hit, None)
        self.values = None
        return seen

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:  # noqa: ARG002
        """All rows; numbers that are none, or outside the given range, are refused."""
        low, high = self.range
        for text, value in zip(self.texts, self._numbers(), strict=True):
            outside = value.is_infinite() | (value.abs() > LARGEST)
            _refuse(text, outside, f"is no number that can be used (at most {LARGEST:g})")
            if low is not None:
                _refuse(text, value < low, f"is below the lowest value {low:g}")
            if high is not None:
                _refuse(text, value > high, f"is above the highest value {high:g}")
        return None

    def finish(self) -> Numbers:
        """The numbers."""
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
    found = plain.cast(pl.Float64, strict=False)
    _refuse(text, found.is_null() & (plain != "").fill_null(False), "is no number")
    return found.fill_nan(None)


def _refuse(text: pl.Series, bad: pl.Series, why: str) -> None:
    hit = bad.fill_null(False).arg_true()
    if len(hit):
        row = int(hit[0])
        more = f" (and {len(hit) - 1:,} rows more)" if len(hit) > 1 else ""
        raise DataError(
            f"row {row + 1}: {quote([text[row]])} in column {text.name!r} {why}{more}; correct it, name it with "
            "--missing, or read classes with --kind classes"
        )


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """The columns of numbers in a header: value_<part>..., or one that is called value, score, rating or the like."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    parts = {name: plain[name] for name in plain if name.startswith(PART) and name != PART}
    if parts and "value" not in plain:
        return parts
    for name in NAMES.split():
        if name in plain:
            return {"value": plain[name]}
    return None


def fits(column: pl.Series) -> bool:
    """Whether a column holds numbers, with at most a few other texts."""
    if column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    plain = column.str.strip_chars().str.replace(",", ".", literal=True)
    full = (plain != "").fill_null(False)
    read = plain.cast(pl.Float64, strict=False).is_not_null() & full
    return bool(full.any()) and int(read.sum()) >= 0.8 * int(full.sum())


def claims(answers: pl.Series) -> str:
    """Why answers are numbers: all of them read so, and some have fractions."""
    plain = answers.drop_nulls().cast(pl.String).str.strip_chars()
    found = plain.filter(plain != "").cast(pl.Float64, strict=False)
    if not len(found) or found.null_count() or not bool(found.is_finite().all()):
        return ""
    broken = found.filter(found != found.round())
    return f"numbers with fractions, such as {broken[0]:g}" if len(broken) else ""


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
    """Votes from equally long columns: `value` is a column of numbers, or a matrix with a column for each of `parts`.

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


class NumberHooks(CommonHooks):
    """What the other packages do for numbers."""

    display_name = "numbers"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import NumberEstimate, NumberWorkers

        return NumberEstimate, NumberWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe_numbers

        return describe_numbers(votes)

    def result_html(self, result: Result) -> str:
        from ...plots.numbers import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots.numbers import NumberPlots

        return NumberPlots(result)

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .fitting import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:
        from .scoring import compare

        return self.call(compare, votes, methods, **options)

    def statement(self, result: Result, error: float) -> Statement:
        from .scoring import trust

        return trust(result, error)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from ..classes.scoring.shown import number_sentences

        return number_sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import number_rows

        return number_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from ..classes.scoring.shown import show_numbers

        return show_numbers(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from ..classes.scoring.shown import inspect_numbers

        return inspect_numbers(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_numbers

        return self.call(study_numbers, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_numbers

        return flag_numbers(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import number_page

        return self.call(number_page, votes, result, **options)

    def verdicts(self, result: Result) -> Verdicts:
        from ...evaluation.guarantee.verdicts import number_verdicts

        return number_verdicts(result)

    def one_worker(self) -> Method:
        from .methods import Mean

        return Mean()

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:
        from ...io.read import read_number_truth

        return read_number_truth(path, missing=missing)


KIND = Kind(
    name="numbers",
    hooks=NumberHooks(),
    columns={"value": NAMES},
    coder=NumberCoder,
    default="combined",
    answers_word="numbers",
    told_by=told_by,
    more_roles=(f"{PART}*",),
    fits=fits,
    claims=claims,
    dtypes=(pl.Float64(), pl.Int64()),
)
