"""python -m benchmarks.live.restart [--events 1000000]: how soon a server is ready after kill -9 at a million events.

A server is started on a log of a million events, killed, fed and
started again; what is measured is the time from the call to the first answer of /healthz, libraries loaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from crowdwise.server.commands import annotate, manage
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks
from crowdwise.server.refitter import SNAPSHOT
from crowdwise.server.store import tables as t
from crowdwise.server.store.log import LogEvent

from .kept import keep, section
from .kills import free_port, ready, serve

TASKS, WORKERS, CLASSES = 100_000, 1_000, ("a", "b", "c", "d")
AT = 4_000_000_000.0  # after everything else: the log's time never runs backwards
AFTER = (
    "100,000 tasks, 1,000 workers; held to 5 s at a million events. `killed` starts from the last snapshot and replays "
    "the events since. Seconds are those until /healthz answers, on a machine that others use; CPU is the server's own."
)


def truth_of(seed=0):
    """The true class of each task."""
    return np.random.default_rng([seed, 1]).integers(4, size=TASKS)


def said_by(rng, task, worker, seed=0):
    """What workers say of tasks: 85 of 100 know the class with a chance from Beta(6, 3) and guess otherwise, the others
    always guess."""
    of = np.random.default_rng([seed, 2])
    knows = np.where(of.random(WORKERS) < 0.85, of.beta(6, 3, WORKERS), 0.0)
    return np.where(rng.random(len(task)) < knows[worker], truth_of(seed)[task], rng.integers(4, size=len(task)))


def filled(folder, n_events, seed=0):
    """A project with so many events, almost all of them answers. The log is written as the desk would
    write it, in one transaction, and the state is put together from the same rows: both in a minute, not in an hour."""
    create(folder, Config("Which?", classes=CLASSES, cap=50, target=1.0, explore=0.0))
    rng = np.random.default_rng(seed)
    with Project(folder) as project:
        load_tasks(project, [{"id": f"t{i}", "payload": {"text": f"text {i}"}} for i in range(TASKS)])
        project.queue.do(lambda s: [manage.add_worker(s, f"w{i}") for i in range(WORKERS)], timeout=600)
        live, first = project.queue.live, project.queue.live.last + 1
        n = n_events - live.last
        pair = rng.choice(TASKS * WORKERS, size=n, replace=False)
        task, worker = pair // WORKERS, pair % WORKERS
        said = said_by(rng, task, worker, seed)
        # The desk takes over what it finds in the log: it must have it before, and in its own thread.
        project.queue.do(lambda _: _known(live, task, worker, said, n_events), write=False, timeout=600)
        with project.database.writer.begin() as connection:
            for at in range(0, n, 50_000):
                part = slice(at, at + 50_000)
                rows = zip(task[part].tolist(), worker[part].tolist(), said[part].tolist(), strict=True)
                connection.execute(sa.insert(t.event), [_row(first + at + i, *row) for i, row in enumerate(rows)])
        project.snapshot()
    return n_events


def _known(live, task, worker, said, n_events):
    for row in zip(task.tolist(), worker.tolist(), said.tolist(), strict=True):
        live.session.model.update(*row)
        live.crowd.workers[row[1]].answers += 1
    live.session.spent, live.last, live.at = float(len(task)), n_events, AT
    live.session.task_index.renew()


def _row(number, task, worker, said):
    answer = {"answer": CLASSES[said], "status": "counted", "stopped": ""}
    return LogEvent(number, "label", AT, task, worker, answer, 900, None, f"{task} {worker}", "b").row("main")


def _all(batch, rows):
    for task, worker, said in rows:
        key = f"again {task} {worker}"
        annotate.label(batch, worker, annotate.Submission(f"t{task}", CLASSES[said], key, "b", trusted=True))


def measure(n_events, tail):
    folder = Path(tempfile.mkdtemp()) / "p"
    try:
        at = filled(folder, n_events)
        out = {"events": at, "size": sum(each.stat().st_size for each in folder.rglob("*")) / 1e6}
        out["kept"] = _start(folder)
        rng = np.random.default_rng(1)
        with Project(folder) as project:  # closed without a snapshot: as if it had been killed so many events after one
            rows = [(int(rng.integers(TASKS)), i % WORKERS, int(rng.integers(4))) for i in range(tail)]
            project.queue.do(lambda s: _all(s, rows), timeout=600)
            out["tail"] = project.queue.live.last - at
        out["killed"] = _start(folder)
        return out
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _start(folder):
    """Seconds of the fastest of three starts, each ended by kill -9, and the least CPU that one took."""
    took, worked = [], []
    for _ in range(3):
        port = free_port()
        began = time.perf_counter()
        pid = serve(folder, port)
        ready(port, 300)
        took.append(time.perf_counter() - began)
        os.kill(pid, signal.SIGKILL)
        used = os.wait4(pid, 0)[2]
        worked.append(used.ru_utime + used.ru_stime)
    return min(took), min(worked)


def _both(found):
    return f"{found[0]:.1f} s ({found[1]:.1f} s of CPU)"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--tail", type=int, default=SNAPSHOT)
    given = parser.parse_args()
    found = measure(given.events, given.tail)
    print(found)
    kept = keep("restart", f"{given.events}", found)
    rows = [
        [f"{f['events']:,}", f"{f['size']:.0f} MB", _both(f["kept"]), f"{f['tail']:,}", _both(f["killed"])]
        for f in kept.values()
    ]
    header = ["events", "folder", "with a fresh snapshot", "events since the last one", "killed"]
    section("restart", "Starting again", "python -m benchmarks.live.restart", header, rows, AFTER)


if __name__ == "__main__":
    main()
