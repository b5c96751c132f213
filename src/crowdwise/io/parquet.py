"""Parquet files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.vocabulary import quote
from .sources import FREE, MOST_TIMES, FileTable, Source

# Rows that are always allowed, and the maximum per byte beyond them: distinct rows do not compress that well.
_FREE, _MOST = 1_000_000, 100
# Allowed types of ids and classes.
NAMES = (pl.String(), pl.Int64(), pl.Boolean())


def read_names(path: Path) -> pl.Series:
    """Read a vocabulary that crowdwise wrote: distinct values in the column `value`."""
    names = read_columns(path, {"value": NAMES})["value"]
    if names.null_count():
        raise DataError(f"{path.name} has names that are empty")
    # Checked before hashing: a long name repeated a million times takes only a few bytes in the file.
    size = int(names.str.len_bytes().sum()) if names.dtype == pl.String else 0
    if size > FREE and size > MOST_TIMES * path.stat().st_size:
        raise DataError(f"{path.name} would unpack to {size:,} bytes")
    if names.n_unique() < len(names):
        raise DataError(f"{path.name} names something twice")
    return names


def read_columns(path: Path, kinds: Mapping[str, tuple[pl.DataType, ...]]) -> pl.DataFrame:
    """Read columns of a file that crowdwise wrote, checking their types; columns that do not exist are left out."""
    table = open_parquet(path, path.name)
    for name, allowed in kinds.items():
        if name in table.header and table.schema[name] not in allowed:
            raise DataError(f"{path.name}: {name} holds {str(table.schema[name])[:60]} values")
    present = [name for name in kinds if name in table.header]
    if not present:
        raise DataError(f"{path.name} has no column {quote(kinds)}")
    return table.read(present)


def refuse_bomb(lazy: pl.LazyFrame, source: Source, where: str) -> None:
    """Raise if a small file claims to have very many rows."""
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    rows = int(lazy.select(pl.len()).collect().item())
    if rows > _FREE + _MOST * size:
        raise DataError(f"{where} has {size:,} bytes and claims {rows:,} rows; this is not a table and is not opened")


def open_parquet(source: Source, where: str) -> FileTable:
    """Open a Parquet file; its schema is read at once, columns on demand."""

    def scan() -> pl.LazyFrame:
        return pl.scan_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)

    try:
        schema = scan().collect_schema()
        refuse_bomb(scan(), source, where)
    except FAULTS as error:
        raise DataError(
            f"{where} is not a Parquet file or is damaged ({first_line(error)}); write it again, or use --format"
        ) from None

    def read(columns: Sequence[str]) -> pl.DataFrame:
        try:
            return scan().select(columns).collect()
        except FAULTS as error:
            raise DataError(f"{where}: the Parquet file is damaged ({first_line(error)}); write it again") from None

    return FileTable(where, "parquet", schema.names(), read, schema=schema)
