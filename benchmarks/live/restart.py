"""python -m benchmarks.live.restart [--events 1000000]: how soon a server is ready after kill -9 at a million events.

The log is filled through the desk in large batches, then a server is started, fed, killed in the middle of its work and
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

from crowdwise.server.acts import annotate, manage
from crowdwise.server.auth import issue
from crowdwise.server.config import Config
from crowdwise.server.project import Project, create, load_tasks

from .kept import keep, section
from .kills import free_port, ready, serve

TASKS, WORKERS, CLASSES = 100_000, 1_000, ("a", "b", "c", "d")
AFTER = (
    "100,000 tasks, 1,000 workers; held to 5 s at a million events. `killed` starts from the last snapshot and replays "
    "the events since; `first page` is the time until /healthz answers."
)


def filled(folder, n_events):
    """A project with so many events, most of them answers of workers who are right in 7 of 10."""
    create(folder, Config("Which?", classes=CLASSES, cap=50, target=1.0, explore=0.0))
    rng = np.random.default_rng(0)
    with Project(folder) as project:
        load_tasks(project, [{"id": f"t{i}", "payload": {"text": f"text {i}"}} for i in range(TASKS)])
        project.desk.do(lambda s: [manage.add_worker(s, f"w{i}") for i in range(WORKERS)])
        truth = rng.integers(4, size=TASKS)
        done = set()
        while project.desk.live.last < n_events:
            task, worker = rng.integers(TASKS, size=5_000), rng.integers(WORKERS, size=5_000)
            right = rng.random(5_000) < 0.7
            said = np.where(right, truth[task], rng.integers(4, size=5_000))
            rows = [r for r in zip(task.tolist(), worker.tolist(), said.tolist(), strict=True) if r[:2] not in done]
            done.update(r[:2] for r in rows)
            project.desk.do(lambda s, rows=rows: _all(s, rows), timeout=600)
        project.snapshot()
        return project.desk.do(lambda s: issue(s, "admin"))[1], project.desk.live.last


def _all(shift, rows):
    for task, worker, said in rows:
        key = f"{task} {worker}"
        annotate.label(shift, worker, annotate.Said(f"t{task}", CLASSES[said], key, "b", trusted=True))


def measure(n_events, tail):
    folder = Path(tempfile.mkdtemp()) / "p"
    try:
        _, at = filled(folder, n_events)
        out = {"events": at, "size": sum(each.stat().st_size for each in folder.rglob("*")) / 1e6}
        out["kept"] = _start(folder)
        rng = np.random.default_rng(1)
        with Project(folder) as project:  # closed without a snapshot: as if it had been killed so many events after one
            rows = [(int(rng.integers(TASKS)), i % WORKERS, int(rng.integers(4))) for i in range(tail)]
            project.desk.do(lambda s: _all(s, rows), timeout=600)
            out["tail"] = project.desk.live.last - at
        out["killed"] = _start(folder)
        return out
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)


def _start(folder):
    """The fastest of three starts, each ended by kill -9."""
    took = []
    for _ in range(3):
        port = free_port()
        began = time.perf_counter()
        pid = serve(folder, port)
        ready(port, 300)
        took.append(time.perf_counter() - began)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return min(took)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--tail", type=int, default=10_000)
    given = parser.parse_args()
    found = measure(given.events, given.tail)
    print(found)
    kept = keep("restart", f"{given.events}", found)
    rows = [
        [f"{f['events']:,}", f"{f['size']:.0f} MB", f"{f['kept']:.1f} s", f"{f['tail']:,}", f"{f['killed']:.1f} s"]
        for f in kept.values()
    ]
    header = ["events", "folder", "with a fresh snapshot", "events since the last one", "killed"]
    section("restart", "Starting again", "python -m benchmarks.live.restart", header, rows, AFTER)


if __name__ == "__main__":
    main()
