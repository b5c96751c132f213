"""Convert tables of other libraries to polars, through the Arrow stream that they export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from ..errors import DataError
from ..faults import FAULTS, first_line


def to_polars(frame: Any) -> pl.DataFrame:
    """Convert a table to polars: pandas, pyarrow, duckdb, a mapping of columns, or any export of an Arrow stream."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        if isinstance(frame, pl.LazyFrame):
            return frame.collect()
        if isinstance(frame, Mapping):
            return pl.DataFrame([_column(str(name), values) for name, values in frame.items()])
        if type(frame).__module__.partition(".")[0] == "pandas":
            return _from_pandas(frame)
        if hasattr(frame, "__arrow_c_stream__"):
            return pl.DataFrame(frame)
    except (*FAULTS, TypeError, ValueError) as error:
        raise DataError(f"the frame cannot be read as a table ({first_line(error)})") from error
    raise DataError(
        f"a table was expected (pandas, polars, pyarrow, duckdb, dict of columns), got {type(frame).__name__}"
    )


def _column(name: str, values: Any) -> pl.Series:
    if isinstance(values, pl.Series):
        return values.rename(name)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError(f"column {name!r} must have one dimension, got shape {values.shape}")
        if values.dtype.kind in "biufM":
            return pl.Series(name, values.astype("datetime64[us]") if values.dtype.kind == "M" else values)
        values = values.tolist()
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in values]
    try:
        return pl.Series(name, cells, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        # A column that is not used may hold anything; one that is used is refused by its name later.
        return pl.Series(name, cells, dtype=pl.Object)


def _from_pandas(frame: Any) -> pl.DataFrame:
    # pandas exports its Arrow stream only with pyarrow installed; column by column works with and without it.
    if not hasattr(frame, "columns"):
        raise DataError("a pandas DataFrame was expected, got a Series; pass a frame with task, worker, label")
    if len(set(map(str, frame.columns))) < len(frame.columns):
        raise DataError(f"the frame has two columns with the same name: {list(frame.columns)}; rename one of them")
    return pl.DataFrame([_pandas_column(str(name), frame[name]) for name in frame.columns])


def _pandas_column(name: str, column: Any) -> pl.Series:
    if str(column.dtype) == "category":
        codes = pl.Series(column.cat.codes.to_numpy().astype(np.int64))
        categories = _pandas_column(name, column.cat.categories.to_series())
        return categories.gather(codes.set(codes < 0, None))
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    if getattr(column.dtype, "storage", "") == "pyarrow":  # strings: no detour through Python objects
        return pl.Series(name, column.array.__arrow_array__())
    values = column.to_numpy()
    if values.dtype.kind in "biuf":
        return pl.Series(name, values, nan_to_null=True)
    if values.dtype.kind in "OU":
        null = np.asarray(column.isna())
        values = [None if is_null else cell for cell, is_null in zip(values.tolist(), null.tolist(), strict=True)]
    return _column(name, values)
