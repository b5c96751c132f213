"""Atomic writing of folders: into a temporary folder, which is then renamed, so that readers see the old or the new."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..core.errors import DataError, unwritable


def refuse_to_overwrite(folder: Path, names: Sequence[str], force: bool) -> None:
    """Raise if one of the files exists already, unless `force` is set."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; name a folder")
    existing = [name for name in names if (folder / name).exists()]
    if existing and not force:
        raise DataError(f"{folder} holds {existing[0]} already; choose another folder or use --force (force=True)")


@contextmanager
def atomic_folder(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield a folder to fill, which replaces `folder` on success and is removed on failure.

    `names` are the files that the caller owns: old ones are removed, whether they are written again or not. Other files
    in the folder are kept.
    """
    target = folder.resolve()  # a symbolic link is kept
    new = target.with_name(f".{target.name}.{secrets.token_hex(4)}.new")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        yield new
        for path in new.iterdir():
            _settled(path)
        _settled(new)
        _take_place(target, new, set(names))
    except OSError as error:
        raise unwritable(folder, error) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(new)


def _take_place(target: Path, new: Path, names: set[str]) -> None:
    if not target.exists():
        os.rename(new, target)
        return
    unrelated = [path for path in target.iterdir() if path.name not in names and not (new / path.name).exists()]
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    os.rename(target, old)
    try:
        os.rename(new, target)
    except OSError:
        os.rename(old, target)
        raise
    for path in unrelated:
        os.rename(old / path.name, target / path.name)
    shutil.rmtree(old, ignore_errors=True)


def _settled(path: Path) -> None:
    """Flush to disk before the rename: a name must not become visible before its content."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # not supported by every file system
            os.fsync(handle)
    finally:
        os.close(handle)
