"""A project as it was when it was made, again and again: made once, copied for each sequence of `interleavings`.

SQLite: the folder's file is copied back. PostgreSQL: the tables are emptied and filled from copies beside them.
Engines are kept from sequence to sequence, so that statements are compiled once; their connections are new every time.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from crowdwise.server.project import Project
from crowdwise.server.store import tables as t
from crowdwise.server.store.engine import Database
from crowdwise.server.store.folder import DATABASE, Folder

# Where writing costs nothing; what is on the disk when is not the question here.
SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
TABLES = [table.name for table in t.metadata.sorted_tables]


class Ground:
    """`make(folder)` makes the project, once."""

    def __init__(self, make, desks=2):
        self.folder = Path(tempfile.mkdtemp(dir=SHM)) / "p"
        make(self.folder)
        found = Folder(self.folder)
        self.bases = [Database(found.url, found.name) for _ in range(desks)]
        self.file = self.folder / DATABASE
        self.kept = self.folder.parent / "kept.db"
        if self.bases[0].sqlite:
            shutil.copyfile(self.file, self.kept)  # whoever closed it last has left no log beside it
        else:
            with self.bases[0].writer.begin() as connection:
                for name in TABLES:
                    connection.exec_driver_sql(f"CREATE UNLOGGED TABLE kept_{name} AS TABLE {name}")

    def open(self, desk, clock):
        """The project at one of the desks, read from what is stored."""
        return Project(self.folder, clock=clock, database=self.bases[desk])

    def renew(self):
        """As it was; nobody may have it open."""
        if self.bases[0].sqlite:
            for old in self.folder.glob(f"{DATABASE}*"):
                old.unlink()
            shutil.copyfile(self.kept, self.file)
            return
        with self.bases[0].writer.begin() as connection:
            for name in TABLES:
                connection.exec_driver_sql(f"DELETE FROM {name}")
                connection.exec_driver_sql(f"INSERT INTO {name} TABLE kept_{name}")

    def close(self):
        for each in self.bases:
            each.close()
        shutil.rmtree(self.folder.parent, ignore_errors=True)
