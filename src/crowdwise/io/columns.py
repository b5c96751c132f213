"""Which column is which: exact names first, then well-known other names, never a guess between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError, ParameterError
from ..vocabulary import quote

KNOWN_AS = {
    "task": "task task_id item item_id question question_id example example_id instance instance_id unit unit_id "
    "doc_id document document_id",
    "worker": "worker worker_id workerid annotator annotator_id performer rater rater_id coder judge user user_id "
    "labeler labeller",
    "label": "label response answer annotation vote judgment judgement category verdict choice",
}
TIME_NAMES = ("time", "timestamp", "created_at", "submitted_at")
ROLES = ("task", "worker", "label", "time", "weight")


def parse_columns(text: str | None) -> dict[str, str]:
    """`task=item,worker=rater` as a mapping from our names to the file's."""
    mapping: dict[str, str] = {}
    for part in (text or "").split(","):
        if not part:
            continue
        role, equals, column = part.partition("=")
        if not equals or role.strip() not in ROLES:
            raise ParameterError(f"--columns wants name=column pairs with names among {', '.join(ROLES)}, got {part!r}")
        mapping[role.strip()] = column.strip()
    return mapping


def choose(
    header: Sequence[str],
    mapping: dict[str, str] | None,
    where: str,
    wanted: Sequence[str] = ("task", "worker", "label"),
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The column of each role, and a note for each that does not bear our own name."""
    mapping = mapping or {}
    for role, column in mapping.items():
        if role not in ROLES:
            raise ParameterError(f"columns knows the names {', '.join(ROLES)}, got {role!r}")
        if column not in header:
            raise DataError(f"{where} has no column {column!r}; it has {quote(header, 12)}")
    chosen: dict[str, str] = {}
    for role in wanted:
        chosen[role] = mapping[role] if role in mapping else _known(role, header, where)
    taken = {column for role, column in mapping.items()} | set(chosen.values())
    if len(set(chosen.values())) < len(chosen):
        raise ParameterError(f"two names point at one column: {chosen}")
    if "time" in mapping:
        chosen["time"] = mapping["time"]
    elif "worker" in wanted:
        found = [c for c in header if c.strip().lower() in TIME_NAMES and c not in taken]
        if len(found) == 1:
            chosen["time"] = found[0]
    if "weight" in mapping:
        chosen["weight"] = mapping["weight"]
    notes = tuple(f"{role} is read from column {column!r}" for role, column in chosen.items() if role != column)
    return chosen, notes


def _known(role: str, header: Sequence[str], where: str) -> str:
    if role in header:
        return role
    names = KNOWN_AS[role].split()
    found = [c for c in header if c.strip().lower() in names]
    exact = [c for c in found if c.strip().lower() == role]
    found = exact or found
    if len(found) == 1:
        return found[0]
    if found:
        raise DataError(
            f"columns {quote(found)} of {where} could each be the {role}; say which with --columns {role}=NAME"
        )
    raise DataError(
        f"{where} has no column for the {role} (columns: {quote(header, 8)}); name it with --columns "
        f"{role}=NAME, or use --format wide for a table with one column per worker"
    )


def pick(
    frame: pl.DataFrame, mapping: dict[str, str] | None, where: str, given: tuple[str, ...] = ()
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns of a frame under our names, time and weight as numbers, and the notes."""
    chosen, notes = choose(frame.columns, mapping, where)
    columns: dict[str, Any] = {role: frame[column] for role, column in chosen.items()}
    if "time" in columns:
        try:
            columns["time"] = seconds(columns["time"], where)
        except DataError:
            if mapping and "time" in mapping:
                raise
            del columns["time"]
            notes += (f"column {chosen['time']!r} is no time that we can read and is left aside",)
    if "weight" in columns:
        columns["weight"] = _weights(columns["weight"], where)
    return columns, given + notes


def seconds(series: pl.Series, where: str) -> npt.NDArray[np.float64]:
    """Numbers or ISO dates as seconds; a missing time becomes NaN."""
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        empty = series.str.strip_chars() == ""
        series = series.set(empty.fill_null(False), None)
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.null_count() == series.null_count():
            return numbers.fill_null(float("nan")).to_numpy()
        dates = _dates(series)
        if dates.null_count() > series.null_count():
            bad = series.filter(dates.is_null() & series.is_not_null())[0]
            raise DataError(f"{where}: {bad!r} in column {series.name!r} is neither a number nor an ISO date")
        series = dates
    if series.dtype in (pl.Date, pl.Datetime):
        micro = series.cast(pl.Datetime("us")).dt.timestamp("us").cast(pl.Float64)
        return (micro / 1e6).fill_null(float("nan")).to_numpy()
    raise DataError(f"{where}: column {series.name!r} of type {series.dtype} is no time")


def _dates(series: pl.Series) -> pl.Series:
    plain = series.str.replace(r"(Z|[+-]\d\d:?\d\d)$", "").str.replace("T", " ", literal=True)
    full = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    for shape in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        days = plain.str.to_datetime(shape, strict=False, time_unit="us")
        full = full.fill_null(days) if full.null_count() else full
    offset = series.str.extract(r"([+-]\d\d:?\d\d)$").str.replace(":", "", literal=True).cast(pl.Int64, strict=False)
    minutes = (offset.abs() // 100 * 60 + offset.abs() % 100) * offset.sign()
    return full - pl.Series((minutes.fill_null(0) * 60_000_000).cast(pl.Duration("us")))


def _weights(series: pl.Series, where: str) -> npt.NDArray[np.float64]:
    text = series.cast(pl.String) if not series.dtype.is_numeric() else series
    numbers = text.cast(pl.Float64, strict=False)
    if numbers.null_count():
        row = int(numbers.is_null().arg_true()[0])
        raise DataError(f"{where}: weight of row {row + 1} is {series[row]!r}, not a number")
    return numbers.to_numpy()
