"""Exports of several files: a zip archive or a folder, as named sources. What unpacks to far too much is refused."""

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
    """The files in it, sorted; hidden ones and what macOS adds are left out."""
    if isinstance(source, Path) and source.is_dir():
        names = []
        for folder, _, files in os.walk(source):  # what may not be looked into is passed over
            inside = Path(folder).relative_to(source)
            names += [(inside / name).as_posix() for name in files if os.path.isfile(os.path.join(folder, name))]
            if len(names) > MOST_FILES:
                raise DataError(f"{where} holds more than {MOST_FILES:,} files; name the export itself")
    else:
        with _open(source, where) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
        if len(names) > MOST_FILES:
            raise DataError(f"{where} holds {len(names):,} files; that is no export that we know")
        if len(set(names)) < len(names):
            raise DataError(f"{where} holds two files of one name; pack it again")
    return sorted(n for n in names if not any(part.startswith((".", "__MACOSX")) for part in n.split("/")))


def members(source: Source, where: str, endings: tuple[str, ...]) -> Iterator[tuple[str, Source]]:
    """(name, content) of the files whose name ends like this, one at a time; a zip within the zip is opened too."""
    for name in member_names(source, where):
        inner = name.lower().endswith(".zip") and ".zip" not in endings
        if not (inner or name.lower().endswith(endings)):
            continue
        content = _content(source, where, name)
        if not inner:
            yield name, content
            continue
        deeper = f"{where}: {printable(name)}"
        for each in member_names(content, deeper):
            if each.lower().endswith(endings):
                yield f"{name}/{each}", _content(content, deeper, each)


def _content(source: Source, where: str, name: str) -> Source:
    if isinstance(source, Path) and source.is_dir():
        return source / name
    with _open(source, where) as archive:
        info = archive.getinfo(name)
        size, packed = info.file_size, max(info.compress_size, 1)
        if size > MOST_BYTES or (size > FREE and size > MOST_TIMES * packed):
            raise DataError(
                f"{where}: {printable(name)} would unpack to {size:,} bytes, {size // packed:,} times its size; "
                "that is no export, it is not opened"
            )
        try:
            return archive.read(info)
        except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
            # ValueError: the directory says that the file begins before the archive does.
            why = "it is encrypted" if "password" in str(error) else first_line(error)
            raise DataError(f"{where}: {printable(name)} cannot be unpacked ({why}); export it again") from None


def _open(source: Source, where: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(source) if isinstance(source, bytes) else source)
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"{where} is no zip archive, or a damaged one ({first_line(error)}); export it again") from None
