"""Parquet files."""

from __future__ import annotations

import io
from collections.abc import Sequence

import polars as pl

from ..errors import DataError
from .sources import FAULTS, Source, Table, first_line


def open_parquet(source: Source, where: str) -> Table:
    """Look at the schema; `read` gives the columns asked for, text as categories."""

    def scan() -> pl.LazyFrame:
        return pl.scan_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)

    try:
        schema = scan().collect_schema()
    except FAULTS as error:
        raise DataError(
            f"{where} is not a Parquet file, or a damaged one ({first_line(error)}); write it again, or say its "
            "--format"
        ) from None

    def read(columns: Sequence[str]) -> pl.DataFrame:
        try:
            return scan().select(columns).collect()
        except FAULTS as error:
            raise DataError(f"{where}: the Parquet file is damaged ({first_line(error)}); write it again") from None

    return Table(where, "parquet", schema.names(), read)
