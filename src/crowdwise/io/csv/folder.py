"""Several tables as CSV in one folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from ...core.errors import unwritable
from ..beside import refuse_to_overwrite
from .cells import to_csv


def write_tables(folder: str | Path, tables: Mapping[str, pl.DataFrame], *, force: bool = False) -> None:
    """Each table under its file's name; never over existing files without `force`."""
    folder = Path(folder)
    refuse_to_overwrite(folder, tuple(tables), force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            to_csv(table, folder / name)
    except OSError as error:
        raise unwritable(folder, error) from error
