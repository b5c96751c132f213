"""Backup of a project while it is served: a folder that can be served, or a dump of PostgreSQL."""

from __future__ import annotations

import glob
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

from ...core.errors import DataError, unwritable
from .folder import DATABASE, MEDIA, SETTINGS, Folder

DUMP = "project.dump"


def backup(folder: Folder, to: Path) -> Path:
    """Copy database, pictures and settings into a new folder, consistent with one event of the log."""
    if to.exists():
        raise DataError(f"{to} exists already; choose another name")
    try:
        to.mkdir(parents=True)
        for name in (MEDIA, "snapshots"):
            (to / name).mkdir()
        if folder.settings["database"]:
            copy = _dump(folder.url, to / DUMP)
        else:
            copy = _copy(folder.path / DATABASE, to / DATABASE)
        for path in (folder.path / MEDIA).iterdir() if (folder.path / MEDIA).is_dir() else ():
            shutil.copyfile(path, to / MEDIA / path.name)
        shutil.copyfile(folder.path / SETTINGS, to / SETTINGS)
        os.chmod(to / SETTINGS, 0o600)
    except OSError as error:
        raise unwritable(to, error) from error
    return copy


def _copy(source: Path, to: Path) -> Path:
    """Copy by VACUUM INTO, which is consistent and does not block writers; then check the copy."""
    try:
        with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as connection:
            connection.execute("VACUUM INTO ?", (str(to),))
        connection.close()
        with sqlite3.connect(to) as copy:
            verdict = copy.execute("PRAGMA integrity_check").fetchone()[0]
        copy.close()
    except sqlite3.Error as error:
        raise DataError(f"the database cannot be copied ({error})") from error
    if verdict != "ok":
        raise DataError(f"the copy in {to} is damaged ({verdict})")
    return to


def _dump(url: str, to: Path) -> Path:
    """A dump by pg_dump in its custom format, for pg_restore."""
    tool = shutil.which("pg_dump") or next(
        iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_dump"), reverse=True)), None
    )
    if tool is None:
        raise DataError(
            "pg_dump is not installed; it comes with PostgreSQL's client (apt-get install postgresql-client)"
        )
    done = subprocess.run([tool, "--format=custom", f"--file={to}", url], capture_output=True, text=True, check=False)
    if done.returncode:
        raise DataError(f"pg_dump failed: {' '.join(done.stderr.split())[:200]}")
    return to
