"""Tables of other libraries as polars tables, through the Arrow stream that they export."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ..errors import DataError


def to_polars(frame: Any) -> pl.DataFrame:
    """pandas, polars, pyarrow, duckdb, a mapping of columns, or whatever exports an Arrow stream."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, dict):
        return _from_columns(frame)
    if type(frame).__module__.partition(".")[0] == "pandas":
        return _from_pandas(frame)
    if hasattr(frame, "__arrow_c_stream__"):
        found = pl.from_arrow(frame)
        return found if isinstance(found, pl.DataFrame) else found.to_frame()
    raise DataError(
        f"a table was expected (pandas, polars, pyarrow, duckdb, dict of columns), got {type(frame).__name__}"
    )


def _from_columns(columns: dict[str, Any]) -> pl.DataFrame:
    from ..vocabulary import as_series

    return pl.DataFrame([as_series(values, str(name)) for name, values in columns.items()])


def _from_pandas(frame: Any) -> pl.DataFrame:
    # pandas exports its Arrow stream only with pyarrow installed; its columns come as numpy arrays without it.
    if not hasattr(frame, "columns"):
        raise DataError("a pandas DataFrame was expected, got a Series; pass a frame with task, worker, label")
    if len(set(map(str, frame.columns))) < len(frame.columns):
        raise DataError(f"the frame has two columns of one name: {list(frame.columns)}")
    out = []
    for name in frame.columns:
        column = frame[name]
        values = column.to_numpy()
        if values.dtype.kind == "M":
            out.append(pl.Series(str(name), values.astype("datetime64[us]")))
        elif values.dtype.kind in "biuf":
            out.append(pl.Series(str(name), values, nan_to_null=True))
        else:
            out.append(_objects(str(name), column, values))
    return pl.DataFrame(out)


def _objects(name: str, column: Any, values: Any) -> pl.Series:
    from ..vocabulary import as_series

    null = np.asarray(column.isna())
    cells = [None if gone else cell for cell, gone in zip(values.tolist(), null.tolist(), strict=True)]
    try:
        return as_series(cells, name)
    except DataError:
        # A column that is none of ours may hold anything; one that is ours is refused by name later on.
        return pl.Series(name, [None if c is None else str(c) for c in cells], dtype=pl.String)
