"""Which files are meant: paths, patterns, folders, lists of them, and addresses of object stores.

Objects are listed and read by polars, which takes credentials from the environment; of an object nothing but its name
and its number of rows is known without reading it, so these are what a change is told by.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.vocabulary import quote
from ..io.sources import printable
from ..io.tables import COMPRESSED, FORMATS, format_of

# What polars' object store understands.
REMOTE = ("s3://", "s3a://", "gs://", "gcs://", "az://", "azure://", "abfs://", "abfss://", "adl://", "hf://")
TABLES = ("csv", "tsv", "jsonl", "parquet")
_PATH = "__file"


@dataclass(frozen=True)
class File:
    """A file of votes, and what tells whether it is still the same; of an object `size` is its number of rows."""

    name: str
    format: str
    size: int
    changed: int = 0

    @property
    def remote(self) -> bool:
        """Whether it is an object in a store."""
        return self.name.startswith(REMOTE)

    @property
    def where(self) -> str:
        """What to call it in messages."""
        return printable(self.name if self.remote else Path(self.name).name)

    def check(self) -> None:
        """Raise where it is not what it was when it was listed."""
        now = look(self.name, self.format)
        if now != self:
            raise DataError(f"{self.where} has changed since it was listed; run it again when nobody writes to it")


def is_many(votes: str | Path | Sequence[Any]) -> bool:
    """Whether these are several files, or objects in a store, and not one file that is opened as it is."""
    if not isinstance(votes, str | Path):
        return True
    text = str(votes)
    if text.startswith(REMOTE):
        return True
    return not Path(text).exists() and any(c in text for c in "*?[")


def expand(votes: str | Path | Sequence[Any], format: str | None = None) -> list[File]:
    """All files that are meant, in the order of their names; those of a list in its own order."""
    if not isinstance(votes, str | Path):
        found = [file for each in votes for file in expand(each, format)]
    elif str(votes).startswith(REMOTE):
        found = _objects(str(votes), format)
    else:
        found = [look(name, format) for name in _local(str(votes))]
    if not found:
        raise DataError(f"{printable(str(votes))}: there are no tables here (.csv, .tsv, .jsonl, .parquet)")
    twice = {file.name for file in found if [f.name for f in found].count(file.name) > 1} if len(found) < 5000 else set()
    if twice:
        raise DataError(f"{quote(sorted(twice))} is named twice; its votes would count double")
    return found


def look(name: str, format: str | None) -> File:
    """A file as it is now."""
    if name.startswith(REMOTE):
        return _objects(name, format)[0]
    try:
        state = os.stat(name)
    except OSError as error:
        raise DataError(f"{printable(name)}: {_why(error)}; it was there when the votes were listed") from None
    return File(os.path.abspath(name), format or _format(name), state.st_size, state.st_mtime_ns)


def _why(error: OSError) -> str:
    return "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)


def _format(name: str) -> str:
    found = format_of(Path(name))
    if found not in TABLES:
        raise DataError(f"{printable(Path(name).name)}: votes in parts are read from {', '.join(TABLES)}, not {found}")
    return found


def _local(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        names = [entry.path for entry in os.scandir(pattern) if entry.is_file() and _is_table(entry.name)]
        return sorted(names)
    if os.path.exists(pattern) or not any(c in pattern for c in "*?["):
        if not os.path.exists(pattern):
            raise DataError(f"{printable(pattern)}: there is no such file")
        return [pattern]
    found = [name for name in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(name)]
    if not found:
        raise DataError(f"{printable(pattern)}: no file has a name like this")
    return found


def _is_table(name: str) -> bool:
    """Whether a file of a folder is one of its tables; markers and hidden files are not."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = FORMATS.get(suffixes[-1]) if suffixes else None
    return kind in TABLES and not name.startswith((".", "_"))


def _objects(address: str, format: str | None) -> list[File]:
    kind = format or _format(address.rstrip("*")) if not address.endswith(("/", "*")) else format or "parquet"
    try:
        if kind == "parquet":
            rows = pl.scan_parquet(address, include_file_paths=_PATH)
        else:
            rows = pl.scan_lines(address, include_file_paths=_PATH)
        table = rows.group_by(_PATH).len("n").sort(_PATH).collect()
    except FAULTS as error:
        raise DataError(f"{printable(address)} cannot be read ({first_line(error)})") from None
    return [File(name, kind, int(n)) for name, n in table.iter_rows()]
