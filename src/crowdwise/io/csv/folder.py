"""Write several tables as files to one folder: CSV, or by their endings LaTeX, Markdown or HTML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from ...core.errors import unwritable
from .. import table_text
from ..atomic import refuse_to_overwrite
from .cells import to_csv


def write_tables(folder: str | Path, tables: Mapping[str, pl.DataFrame], *, force: bool = False) -> None:
    """Write each table under its file name; existing files are replaced only with `force`."""
    folder = Path(folder)
    refuse_to_overwrite(folder, tuple(tables), force)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            if name.endswith(".csv"):
                to_csv(table, folder / name)
            else:
                table_text.write(table, folder / name)
    except OSError as error:
        raise unwritable(folder, error) from error
