"""Parquet files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.vocabulary import quote
from .sources import FREE, MOST_TIMES, Source, Table

# Rows that are free, and rows a byte beyond them: rows that differ at all do not pack as well as that.
_FREE, _MOST = 1_000_000, 100
# The types that ids and classes have.
NAMES = (pl.String(), pl.Int64(), pl.Boolean())


def read_names(path: Path) -> pl.Series:
    """The vocabulary in a file of ours: text or whole numbers in the one column `value`, each once."""
    names = read_columns(path, {"value": NAMES})["value"]
    if names.null_count():
        raise DataError(f"{path.name} has names that are empty")
    # The bytes are summed before they are hashed: one long name can be said a million times in a few bytes.
    size = int(names.str.len_bytes().sum()) if names.dtype == pl.String else 0
    if size > FREE and size > MOST_TIMES * path.stat().st_size:
        raise DataError(f"{path.name} would unpack to {size:,} bytes")
    if names.n_unique() < len(names):
        raise DataError(f"{path.name} names something twice")
    return names


def read_columns(path: Path, kinds: Mapping[str, tuple[pl.DataType, ...]]) -> pl.DataFrame:
    """The columns of a file of ours, in one of the types given; those that are not there are left out."""
    table = open_parquet(path, path.name)
    for name, allowed in kinds.items():
        if name in table.header and table.schema[name] not in allowed:
            raise DataError(f"{path.name}: {name} holds {str(table.schema[name])[:60]} values")
    found = [name for name in kinds if name in table.header]
    if not found:
        raise DataError(f"{path.name} has no column {quote(kinds)}")
    return table.read(found)


def refuse_bomb(lazy: pl.LazyFrame, source: Source, where: str) -> None:
    """Raise where a few bytes claim to be a great many rows."""
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    rows = int(lazy.select(pl.len()).collect().item())
    if rows > _FREE + _MOST * size:
        raise DataError(f"{where} has {size:,} bytes and claims {rows:,} rows; that is no table, it is not opened")


def open_parquet(source: Source, where: str) -> Table:
    """Look at the schema; `read` gives the columns asked for, text as categories."""

    def scan() -> pl.LazyFrame:
        return pl.scan_parquet(io.BytesIO(source) if isinstance(source, bytes) else source, glob=False)

    try:
        schema = scan().collect_schema()
        refuse_bomb(scan(), source, where)
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

    return Table(where, "parquet", schema.names(), read, schema=schema)
