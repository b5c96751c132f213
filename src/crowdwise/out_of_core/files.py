"""Expand paths, patterns, folders, lists of them, and addresses of object stores to files.

Objects are listed and read by polars, which takes credentials from the environment. Only the name and the number of
rows of an object are known without reading it, so a change is detected by these.
"""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.vocabulary import quote
from ..io.sources import printable
from ..io.tables import COMPRESSED, FORMATS, format_of

# Schemes of the addresses that polars reads.
REMOTE = ("s3://", "s3a://", "gs://", "gcs://", "az://", "azure://", "abfs://", "abfss://", "adl://", "hf://")
TABLES = ("csv", "tsv", "jsonl", "parquet")
_PATH = "__file"


@dataclass(frozen=True)
class File:
    """A file of votes, with its size and time of change; the size of an object is its number of rows."""

    name: str
    format: str
    size: int
    changed: int = 0

    @property
    def remote(self) -> bool:
        """Whether this is an object in a store."""
        return self.name.startswith(REMOTE)

    @property
    def where(self) -> str:
        """The name for messages."""
        return printable(self.name if self.remote else Path(self.name).name)

    def check(self) -> None:
        """Raise if the file has changed since it was listed."""
        if look(self.name, self.format) != self:
            raise DataError(f"{self.where} has changed since it was listed; run it again when nobody writes to it")


def is_many(votes: str | Path | Sequence[Any]) -> bool:
    """Whether these are several files, or objects in a store."""
    if not isinstance(votes, str | Path):
        return True
    text = str(votes)
    if text.startswith(REMOTE):
        return True
    return any(c in text for c in "*?[") and not os.path.exists(text)


def is_table(path: Path) -> bool:
    """Whether this is a file of a format that can be read in parts."""
    return os.path.isfile(path) and _is_table(path.name)


def expand(votes: str | Path | Sequence[Any], format: str | None = None) -> list[File]:
    """Return all files, sorted by name; those of a list in its order."""
    if not isinstance(votes, str | Path):
        files = [file for path in votes for file in expand(path, format)]
    elif str(votes).startswith(REMOTE):
        files = _objects(str(votes), format)
    else:
        files = [look(name, format) for name in _local(str(votes))]
    if not files:
        raise DataError(f"{printable(str(votes))}: there are no tables here (.csv, .tsv, .jsonl, .parquet)")
    repeated = [name for name, n in Counter(file.name for file in files).items() if n > 1]
    if repeated:
        raise DataError(f"{quote(repeated)} is named twice; its votes would count double")
    return files


def look(name: str, format: str | None) -> File:
    """Return the current state of a file."""
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
    format = format_of(name)
    if format not in TABLES:
        raise DataError(f"{printable(Path(name).name)}: votes in parts are read from {', '.join(TABLES)}, not {format}")
    return format


def _local(pattern: str) -> list[str]:
    if os.path.isdir(pattern):
        names = [entry.path for entry in os.scandir(pattern) if entry.is_file() and _is_table(entry.name)]
        return sorted(name for name in names if not os.path.basename(name).startswith((".", "_")))
    if os.path.exists(pattern) or not any(c in pattern for c in "*?["):
        if not os.path.exists(pattern):
            raise DataError(f"{printable(pattern)}: there is no such file")
        return [pattern]
    matches = [name for name in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(name)]
    if not matches:
        raise DataError(f"{printable(pattern)}: no file has a name like this")
    return matches


def _is_table(name: str) -> bool:
    """Whether a file name is that of a table."""
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = FORMATS.get(suffixes[-1]) if suffixes else None
    return kind in TABLES


def _objects(address: str, format: str | None) -> list[File]:
    kind = format or ("parquet" if address.endswith(("/", "*")) else _format(address))
    try:
        return _counted(address, kind)
    except FAULTS as error:
        culprit = printable(address)
        if kind == "parquet" and "*" in address:  # fetch the objects to name the damaged one
            with suppress(*FAULTS):
                culprit = next((file.where for file in _counted(address, "lines") if not _opens(file.name)), culprit)
        raise DataError(f"{culprit} cannot be read ({first_line(error)})") from None


def _counted(address: str, kind: str) -> list[File]:
    """Return the objects of an address, with their numbers of rows (lines for text)."""
    scan = pl.scan_parquet if kind == "parquet" else pl.scan_lines
    rows = scan(address, include_file_paths=_PATH).group_by(_PATH).len("n").sort(_PATH).collect()
    return [File(name, kind, int(n)) for name, n in rows.iter_rows()]


def _opens(name: str) -> bool:
    try:
        pl.scan_parquet(name, glob=False).collect_schema()
    except FAULTS:
        return False
    return True
