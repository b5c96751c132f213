"""The folder of a project: the URL of its database, and a lock for a single server."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

from ...core.errors import DataError, unwritable

SETTINGS, DATABASE, LOCK, MEDIA, SNAPSHOTS = "project.json", "project.db", "server.lock", "media", "snapshots"


class Folder:
    """`project.json` has the name of the project and, unless it is the SQLite file of the folder, the database."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._locked: int | None = None

    @classmethod
    def create(cls, path: str | Path, project: str, database: str | None) -> Folder:
        """Create a folder, which must not exist or be empty."""
        folder = cls(path)
        if folder.path.exists() and (not folder.path.is_dir() or any(folder.path.iterdir())):
            raise DataError(f"{folder.path} exists already and is not empty; choose another name")
        try:
            (folder.path / MEDIA).mkdir(parents=True, exist_ok=True)
            (folder.path / SNAPSHOTS).mkdir(exist_ok=True)
            own = folder.path / SETTINGS
            own.touch(mode=0o600)
            own.write_text(json.dumps({"project": project, "database": database}, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise unwritable(folder.path, error) from error
        return folder

    @property
    def settings(self) -> dict[str, Any]:
        """The contents of project.json."""
        try:
            settings = json.loads((self.path / SETTINGS).read_text(encoding="utf-8"))
            return {"project": str(settings["project"]), "database": settings["database"]}
        except FileNotFoundError:
            raise DataError(f"{self.path} is no project; make one with: crowdwise project create {self.path}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{self.path / SETTINGS} cannot be read ({error})") from error

    @property
    def url(self) -> str:
        """The URL of the database."""
        given = self.settings["database"]
        return str(given) if given else f"sqlite:///{(self.path / DATABASE).absolute()}"

    @property
    def name(self) -> str:
        """The project's id."""
        return str(self.settings["project"])

    # ---------------------------------------------------------------- the lock
    def lock(self) -> None:
        """Lock the folder for this server until `unlock` or the end of the process."""
        import fcntl

        path = self.path / LOCK
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            who = os.read(handle, 500).decode("utf-8", "replace").strip() or "another process"
            os.close(handle)
            raise DataError(f"{self.path} is being served already by {who}; stop that server first") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        self._locked = handle

    def unlock(self) -> None:
        """Release the lock."""
        if self._locked is not None:
            os.ftruncate(self._locked, 0)  # not deleted: another process that has opened it would lock a deleted file
            os.close(self._locked)
            self._locked = None
