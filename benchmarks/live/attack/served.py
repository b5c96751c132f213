"""A project and `crowdwise serve` in a process of its own, with what clients need to reach it."""

from __future__ import annotations

import collections
import contextlib
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from crowdwise.server.auth import issue
from crowdwise.server.commands import manage
from crowdwise.server.config import NEED_CLASSES, Config
from crowdwise.server.project import Project, create, load_tasks

from ... import ROOT
from ..kills import free_port, ready

TASKS = 2_000
CLASSES = ("a", "b", "c")
SIDES = {"left": "left", "right": "right"}
# What a task of each kind shows, and answers to it; of other kinds a text, and one of the classes.
SHOWN = {"comparisons": SIDES, "same": SIDES, "ranking": {"items": ["x", "y", "z"]}}
ANSWERS = {
    "sets": [["a"], ["a", "c"], []],
    "numbers": [1.0, 2.5, -3.0],
    "comparisons": ["left", "right", "tie"],
    "same": ["same", "different"],
    "ranking": [["x", "y", "z"], ["z", "x", "y"]],
    "spans": [[{"start": 0, "end": 4, "label": "a"}], []],
}


def project_in(folder, workers=8, database=None, kind="classes", tasks=TASKS):
    """A new project; the tokens of its workers."""
    classes = CLASSES if kind in NEED_CLASSES else ()
    config = Config("Which?", kind=kind, classes=classes, cap=7, target=1.0, explore=0.0)
    create(folder, config, database=database)
    with Project(folder) as project:
        shown = SHOWN.get(kind, {"text": "a text"})
        load_tasks(project, [{"id": f"t{i}", "payload": shown} for i in range(tasks)])
        return [
            project.queue.do(lambda s, i=i: issue(s, "annotate", manage.add_worker(s, f"w{i}"))[1])
            for i in range(workers)
        ]


@contextlib.contextmanager
def folder():
    """A folder for a project, removed at the end."""
    made = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        yield made / "p"
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextlib.contextmanager
def served(path, *options, file_size=None):
    """(port, process) of a server until the block ends; `file_size`: bytes that its files may have at most."""
    port = free_port()
    env = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "crowdwise.cli", "serve", str(path), "--port", str(port), "--rate", "1000000"]
    limit = None if file_size is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    process = subprocess.Popen(
        [*command, *options], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit
    )
    try:
        ready(port)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def health(*ports):
    """Statuses of /healthz as a Counter, asked on new connections until the block ends; "none": there was no answer."""
    counts, over = collections.Counter(), threading.Event()

    def ask(port):
        while not over.wait(0.02):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            try:
                connection.request("GET", "/healthz")
                counts[connection.getresponse().status] += 1
            except (OSError, http.client.HTTPException):
                counts["none"] += 1
            finally:
                connection.close()

    threads = [threading.Thread(target=ask, args=(port,)) for port in ports]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        over.set()
        for thread in threads:
            thread.join()


def memory(process):
    """Resident memory in MB."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Client:
    """One worker on one connection, which is opened again where the server closed it."""

    def __init__(self, port, token):
        self.port, self.token = port, token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def call(self, method, path, body=None, key=None):
        """(status, JSON)."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self.connection.request(method, f"/projects/main{path}", data, headers)
            got = self.connection.getresponse()
            text = got.read()
        except (OSError, http.client.HTTPException):
            self.connection.close()
            raise
        return got.status, json.loads(text)

    def close(self):
        self.connection.close()
