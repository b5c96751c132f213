"""Inputs shared by the commands that run labelling: texts, names, columns of tables, and optional packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import DataError, MissingDependencyError

if TYPE_CHECKING:
    import polars as pl


def read_text(path: Path | None) -> str:
    """Return the content of a text file; empty without a file."""
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise DataError(f"{path}: cannot be read ({reason})") from None


def split_names(text: str | None) -> tuple[str, ...]:
    """Return comma-separated names."""
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def read_columns(path: str | Path, columns: Sequence[str]) -> pl.DataFrame:
    """Read these columns of a table."""
    from ...io.tables import open_table

    table = open_table(path)
    for name in columns:
        if name not in table.header:
            raise DataError(f"{path}: there is no column {name}; it has {', '.join(table.header)}")
    return table.read(list(columns))


@contextmanager
def needs_packages(what: str, extras: str = "serve") -> Iterator[None]:
    """Turn a failed import into an error that names the extras to install; `what` is a subject with its verb."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(f"{what} more packages ({error}): pip install 'crowdwise[{extras}]'") from error
