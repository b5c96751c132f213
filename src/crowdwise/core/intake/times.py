"""Times as seconds: numbers, dates, and the ISO ways to write them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError


def seconds(series: pl.Series, where: str) -> npt.NDArray[np.float64]:
    """Numbers or ISO dates as seconds; a missing time becomes NaN."""
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if isinstance(series.dtype, pl.Categorical | pl.Enum | pl.Null):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = series.str.strip_chars()
        series = series.set((series == "").fill_null(False), None)
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.null_count() == series.null_count():
            return numbers.fill_null(float("nan")).to_numpy()
        dates = _dates(series)
        if dates.null_count() > series.null_count():
            wrong = dates.is_null() & series.is_not_null()
            neither = wrong & numbers.is_null()
            row = int((neither if neither.any() else wrong).arg_true()[0])
            raise DataError(
                f"{where}, row {row + 1}: {series[row]!r} in column {series.name!r} is no date like "
                "2024-12-31T23:59:59Z, and not all are numbers; correct it or name another column"
            )
        series = dates
    if series.dtype in (pl.Date, pl.Datetime):
        micro = (series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series).dt.timestamp("us")
        return (micro.cast(pl.Float64) / 1e6).fill_null(float("nan")).to_numpy()
    raise DataError(f"{where}: column {series.name!r} of type {series.dtype} is no time; name another column")


def _dates(series: pl.Series) -> pl.Series:
    plain = series.str.replace(r"\s*(Z|[+-]\d\d:?\d\d)$", "").str.replace("T", " ", literal=True)
    full = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    for shape in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        if full.null_count() > series.null_count():
            full = full.fill_null(plain.str.to_datetime(shape, strict=False, time_unit="us"))
    offset = series.str.extract(r"\d:\d\d(?::\d\d)?(?:\.\d+)?\s*([+-]\d\d:?\d\d)$")
    offset = offset.str.replace(":", "", literal=True).cast(pl.Int64, strict=False)
    minutes = (offset.abs() // 100 * 60 + offset.abs() % 100) * offset.sign()
    return full - (minutes.fill_null(0) * 60_000_000).cast(pl.Duration("us"))
