"""A PostgreSQL of our own on a free port, in a folder of its own, never as root."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import socket
import subprocess
import tempfile
import uuid

BIN = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)), None) or (
    os.path.dirname(shutil.which("initdb") or "") or None
)


class Postgres:
    """Started when it is made; `fresh()` gives the address of a new database. Without `fsync` a power cut may lose what
    was committed; without `commit` a crash of the server may too."""

    def __init__(self, fsync=True, commit=None):
        self.fsync, self.commit = fsync, fsync if commit is None else commit
        if BIN is None:
            raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
        self.folder = tempfile.mkdtemp(prefix="cwpg")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        data = f"{self.folder}/data"
        self._run("initdb", "-D", data, "-U", "crowdwise", "-A", "trust", "-N", "-E", "UTF8", "--locale=C")
        self.start()

    def _run(self, name, *rest):
        who = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        subprocess.run([*who, f"{BIN}/{name}", *rest], check=True, capture_output=True, cwd=self.folder)

    def start(self):
        settings = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c max_connections=60"
        settings += "" if self.fsync else " -c fsync=off -c full_page_writes=off"
        settings += "" if self.commit else " -c synchronous_commit=off"
        self._run("pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w", "-o", settings, "start")

    def stop(self, how="fast"):
        """`immediate` is what a crash is."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._run("pg_ctl", "-D", f"{self.folder}/data", "-m", how, "-w", "stop")

    def fresh(self):
        name = f"p{uuid.uuid4().hex[:12]}"
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "crowdwise", name)
        return f"postgresql://crowdwise@127.0.0.1:{self.port}/{name}"

    def close(self):
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
