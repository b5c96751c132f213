"""Exports of several files, as a zip archive or a folder. Archives that would unpack to far too much are refused."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..core.errors import DataError
from ..core.faults import first_line
from .sources import FREE, MOST_TIMES, Source, printable

MOST_FILES = 20_000
MOST_BYTES = 1 << 32


def member_names(source: Source, where: str) -> list[str]:
    """Return the sorted names of the files, without hidden files and those that macOS adds."""
    if isinstance(source, Path) and source.is_dir():
        names = []
        for folder, _, files in os.walk(source):  # unreadable folders are skipped
            relative = Path(folder).relative_to(source)
            names += [(relative / name).as_posix() for name in files if os.path.isfile(os.path.join(folder, name))]
            if len(names) > MOST_FILES:
                raise DataError(f"{where} holds more than {MOST_FILES:,} files; name the export itself")
    else:
        with _open(source, where) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if len(names) > MOST_FILES:
            raise DataError(f"{where} holds {len(names):,} files; this is not an export of a known format")
        if len(set(names)) < len(names):
            raise DataError(f"{where} holds two files with the same name; pack it again")
    return sorted(n for n in names if not any(part.startswith((".", "__MACOSX")) for part in n.split("/")))


def members(source: Source, where: str, endings: tuple[str, ...]) -> Iterator[tuple[str, Source]]:
    """Yield (name, content) of the files with these endings; a zip inside the archive is opened too."""
    for name in member_names(source, where):
        is_zip = name.lower().endswith(".zip") and ".zip" not in endings
        if not (is_zip or name.lower().endswith(endings)):
            continue
        content = _content(source, where, name)
        if not is_zip:
            yield name, content
            continue
        inner_where = f"{where}: {printable(name)}"
        for inner_name in member_names(content, inner_where):
            if inner_name.lower().endswith(endings):
                yield f"{name}/{inner_name}", _content(content, inner_where, inner_name)


def _content(source: Source, where: str, name: str) -> Source:
    if isinstance(source, Path) and source.is_dir():
        return source / name
    with _open(source, where) as archive:
        info = archive.getinfo(name)
        size, packed = info.file_size, max(info.compress_size, 1)
        if size > MOST_BYTES or (size > FREE and size > MOST_TIMES * packed):
            raise DataError(
                f"{where}: {printable(name)} would unpack to {size:,} bytes, {size // packed:,} times its size; "
                "this is not an export and is not opened"
            )
        try:
            return archive.read(info)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
            # ValueError: the central directory states an offset before the start of the archive.
            why = "it is encrypted" if "password" in str(error) else first_line(error)
            raise DataError(f"{where}: {printable(name)} cannot be unpacked ({why}); export it again") from None


def _open(source: Source, where: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{where} is not a zip archive or is damaged ({first_line(error)}); export it again") from None
