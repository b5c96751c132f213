"""Folders written whole: beside the place where they belong, then renamed. One sees the old folder or the new one."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import DataError, unwritable


def refuse_to_overwrite(folder: Path, names: Sequence[str], force: bool) -> None:
    """Raise when one of the files is there already, unless told to go ahead."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise DataError(f"{folder} holds {there[0]} already; choose another folder or say --force (force=True)")


@contextmanager
def written_beside(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder to fill, which takes the place of `folder` when all is well and vanishes when something fails.

    `names` are the files that the caller owns: old ones are gone afterwards, whether written again or not. What else
    lies in the folder stays.
    """
    real = folder.resolve()  # a link stays a link
    new = real.with_name(f".{real.name}.{secrets.token_hex(4)}.new")
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        yield new
        for path in new.iterdir():
            _settled(path)
        _settled(new)
        _take_place(real, new, set(names))
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(new)


def _take_place(real: Path, new: Path, names: set[str]) -> None:
    if not real.exists():
        os.rename(new, real)
        return
    kept = [path for path in real.iterdir() if path.name not in names and not (new / path.name).exists()]
    old = real.with_name(f".{real.name}.{secrets.token_hex(4)}.old")
    os.rename(real, old)
    try:
        os.rename(new, real)
    except OSError:
        os.rename(old, real)
        raise
    for path in kept:
        os.rename(old / path.name, real / path.name)
    shutil.rmtree(old, ignore_errors=True)


def _settled(path: Path) -> None:
    """On the disk, not only on its way there: a name must not come before what it names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system that cannot promise it
            os.fsync(handle)
    finally:
        os.close(handle)
