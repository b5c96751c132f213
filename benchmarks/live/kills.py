"""python -m benchmarks.live.kills [--kills 300]: kill -9 at random moments under load; what was acknowledged is there.

A server is started, four clients take tasks and answer without pause, the server is killed, and what they were told is
held against the log. Requests whose answer was cut off are sent again with the same key to the next server. Every
tenth kill on PostgreSQL takes the database down with it, without warning.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import sqlalchemy as sa

from crowdwise.server.auth import issue
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks
from crowdwise.server.run import run
from crowdwise.server.store import tables as t
from crowdwise.server.store.engine import Database
from crowdwise.server.store.folder import Folder

from .kept import keep, section

CLIENTS, TASKS, WORKERS = 4, 3_000, 8
AFTER = (
    "`kill -9` at random moments while four clients answer without pause; held to 300 kills, none lost or doubled. "
    "Answers that were cut off are sent again with the same key. Every tenth kill on PostgreSQL takes the database "
    "down with it. Starts are from the call to the first answer of `/healthz`, libraries loaded."
)


class Crowd:
    """Clients that never stop asking, and what they were told."""

    def __init__(self, tokens, seed):
        self.tokens, self.rng = tokens, random.Random(seed)
        self.told, self.unsure, self.refused = {}, {}, []
        self.over = threading.Event()
        self.first = threading.Event()

    def _call(self, connection, token, method, path, body=None, key=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        connection.request(method, f"/projects/main{path}", body and json.dumps(body), headers)
        got = connection.getresponse()
        return got.status, json.loads(got.read())

    def work(self, port, mine):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        todo = []
        try:
            while not self.over.is_set():
                token = self.tokens[self.rng.choice(mine)]
                if not todo:
                    todo = [
                        (token, each["id"])
                        for each in self._call(connection, token, "GET", "/next?n=3")[1].get("tasks", ())
                    ]
                for who, task in todo:
                    key, body = uuid.uuid4().hex, {"task": task, "answer": self.rng.choice("abc")}
                    self.unsure[key] = (who, body)
                    self._answer(connection, who, key, body)
                todo = []
        except (OSError, http.client.HTTPException, ValueError):
            return  # the server is gone
        finally:
            connection.close()

    def _answer(self, connection, who, key, body):
        status, receipt = self._call(connection, who, "POST", "/labels", body, key)
        if status in (200, 201):
            self.told[key] = (receipt["event"], body["answer"], receipt["status"])
            self.unsure.pop(key, None)
            self.first.set()
        elif status != 503:
            self.refused.append((status, receipt))
            self.unsure.pop(key, None)

    def again(self, port):
        """Send again what was cut off."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for key, (who, body) in list(self.unsure.items()):
            self._answer(connection, who, key, body)
        connection.close()


def serve(folder, port):
    """A server in a process of its own, forked before any thread runs."""
    pid = os.fork()
    if pid == 0:
        try:
            sys.stderr = open(os.devnull, "w")  # noqa: SIM115
            run(folder, "127.0.0.1", port, rate=1e6)
        finally:
            os._exit(0)
    return pid


def ready(port, seconds=60):
    """Seconds until the server answers."""
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return time.perf_counter() - began
        except (OSError, http.client.HTTPException):
            time.sleep(0.01)
    raise SystemExit("the server does not come back")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def held(folder, told, checked):
    """(lost, doubled, integrity) of what was acknowledged against the log."""
    base = Database(Folder(folder).url)
    with base.reader.connect() as connection:
        mine = sa.select(t.event.c.idempotency_key, t.event.c.id, t.event.c.payload).where(
            t.event.c.kind == "label", t.event.c.id > checked
        )
        rows = connection.execute(mine).all()
        n = connection.execute(sa.select(sa.func.count(), sa.func.max(t.event.c.id)).select_from(t.event)).one()
        sound = n[0] == n[1]
        if base.sqlite:
            sound &= connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        pairs = "SELECT count(*), count(DISTINCT task * 1000 + worker) FROM current_answer"
        all_, distinct = connection.exec_driver_sql(pairs).one()
    base.close()
    found = {}
    for row in rows:
        found.setdefault(row.idempotency_key, []).append((row.id, json.loads(row.payload)))
    lost = sum(
        1
        for key, (event, answer, status) in told.items()
        if event > checked
        and [(i, p["answer"], p["status"]) for i, p in found.get(key, [])] != [(event, answer, status)]
    )
    doubled = sum(len(each) > 1 for each in found.values()) + (all_ - distinct)
    return lost, doubled, sound


def round_(folder, tokens, kills, seed, postgres=None):
    """So many kills of one project: what was told, lost, doubled, and the longest start."""
    rng = random.Random(seed)
    crowd = Crowd(tokens, seed)
    lost = doubled = 0
    sound, starts = True, []
    for kill in range(kills):
        port = free_port()
        pid = serve(folder, port)
        starts.append(ready(port))
        crowd.again(port)
        crowd.over.clear()
        crowd.first.clear()
        shares = [list(range(i, len(tokens), CLIENTS)) for i in range(CLIENTS)]
        threads = [threading.Thread(target=crowd.work, args=(port, mine)) for mine in shares]
        for each in threads:
            each.start()
        crowd.first.wait(20)
        time.sleep(rng.expovariate(3))
        crash = postgres is not None and kill % 10 == 9
        if crash:
            postgres.stop("immediate")
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        crowd.over.set()
        for each in threads:
            each.join()
        if crash:
            postgres.start()
        got = held(folder, crowd.told, 0 if kill % 25 == 24 or kill == kills - 1 else max(_last(crowd) - 5_000, 0))
        lost, doubled, sound = lost + got[0], doubled + got[1], sound and got[2]
    return {"kills": kills, "told": len(crowd.told), "lost": lost, "doubled": doubled, "sound": sound,
            "refused": len(crowd.refused), "start": max(starts)}  # fmt: skip


def _last(crowd):
    return max((event for event, _, _ in list(crowd.told.values())), default=0)


def prepared(folder, database=None):
    create(folder, Config("Which?", classes=("a", "b", "c"), cap=7, target=1.0, lease=5), database=database)
    with Project(folder) as project:
        load_tasks(project, [{"id": f"t{i}", "payload": {"text": f"text {i}"}} for i in range(TASKS)])
        return [
            project.queue.do(lambda s, i=i: issue(s, "annotate", manage.add_worker(s, f"w{i}"))[1])
            for i in range(WORKERS)
        ]


def measure(kills, seed=0, databases=("sqlite", "postgresql")):
    out = {}
    for name in databases:
        postgres = None
        if name == "postgresql":
            from tests.server.postgres import Postgres

            postgres = Postgres()
        folder = Path(tempfile.mkdtemp()) / "p"
        try:
            tokens = prepared(folder, postgres and postgres.fresh())
            out[name] = round_(folder, tokens, kills // len(databases), seed, postgres)
            print(name, out[name], flush=True)
        finally:
            shutil.rmtree(folder.parent, ignore_errors=True)
            if postgres is not None:
                postgres.close()
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    names = (given.only,) if given.only else ("sqlite", "postgresql")
    for name, found in measure(given.kills, given.seed, names).items():
        kept = keep("kills", f"{name} {given.seed}", found)
    rows = []
    for name in ("sqlite", "postgresql"):
        f = [each for key, each in kept.items() if key.startswith(name)]
        if f:
            n = {what: sum(each[what] for each in f) for what in ("kills", "told", "lost", "doubled")}
            sound, start = all(each["sound"] for each in f), max(each["start"] for each in f)
            counts = [f"{n['kills']}", f"{n['told']:,}", str(n["lost"]), str(n["doubled"])]
            rows.append([name, *counts, "ok" if sound else "BROKEN", f"{start:.1f} s"])
    header = ["database", "kills", "acknowledged", "lost", "doubled", "integrity", "slowest start"]
    section("kills", "Killed at any moment", "python -m benchmarks.live.kills --seed N", header, rows, AFTER)


if __name__ == "__main__":
    main()
