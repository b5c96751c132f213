"""python -m benchmarks.live.browse [--sizes 10000 1000000]: the table of tasks and the review queue by number of tasks.

The log is written directly: tasks with three answers each by 1,000 workers who are right four times in five, then one
fit. Requests go through the whole application in this process, one at a time, sizes in the same run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from starlette.testclient import TestClient

from crowdwise.server.api.app import make_app
from crowdwise.server.commands import manage
from crowdwise.server.config import Config
from crowdwise.server.offline import token_for
from crowdwise.server.project import Project, create
from crowdwise.server.refitter import Refitter
from crowdwise.server.store import quick
from crowdwise.server.store import tables as t
from crowdwise.server.store.engine import Database
from crowdwise.server.store.folder import Folder
from crowdwise.server.store.log import LogEvent

from .kept import section

CLASSES, WORKERS, ANSWERS, PART = ("a", "b", "c", "d"), 1_000, 3, 50_000
WORDS = ("river", "house", "garden", "window", "letter", "train", "bread", "music", "winter", "stone")
REQUESTS = {
    "first page": "/browse",
    "least confident first": "/browse?order=confidence",
    "by label and confidence": "/browse?label=b&below=0.8&order=disagreement",
    "by state": "/browse?state=capped",
    "search of a word": "/browse?q=task{n}",
    "by worker": "/browse?worker=w{w}",
    "waiting for review": "/browse?review=waiting&order=confidence",
    "next review": "/reviews/next",
}


def fill(folder: Path, n: int, rng: np.random.Generator) -> str:
    """A project with n tasks and their answers; the admin's token."""
    admin = create(folder, Config("Which?", classes=CLASSES, cap=ANSWERS, review_below=0.9))
    with Project(folder) as project:
        project.queue.do(lambda batch: [manage.add_worker(batch, f"w{w}") for w in range(WORKERS)], timeout=600)
        last = project.queue.live.last
    base = Database(Folder(folder).url)
    truth = rng.integers(len(CLASSES), size=n)
    for first in range(0, n, PART):
        tasks = range(first, min(first + PART, n))
        with base.writer.begin() as connection:
            rows = [
                {"project": "main", "code": i, "id": f"task{i}",
                 "payload": json.dumps({"text": f"The {WORDS[i % 10]} by the {WORDS[i // 10 % 10]}, page {i}."}),
                 "gold": None}
                for i in tasks
            ]  # fmt: skip
            connection.execute(sa.insert(t.task), rows)
            last += 1
            events = [LogEvent(last, "tasks", time.time(), payload={"names": [row["id"] for row in rows]})]
            for i in tasks:
                for worker in rng.choice(WORKERS, ANSWERS, replace=False).tolist():
                    last += 1
                    code = truth[i] if rng.random() < 0.8 else rng.integers(len(CLASSES))
                    payload = {"answer": CLASSES[code], "status": "counted", "stopped": ""}
                    events.append(LogEvent(last, "label", time.time(), i, worker, payload))
            quick.append(connection, "main", events)
    base.close()
    return admin


def measure(n: int, times: int) -> dict[str, np.ndarray]:
    """Milliseconds of every request, `times` of each."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        admin = fill(folder, n, rng)
        with Project(folder) as project:
            refitter = Refitter(project, start=False)
            assert refitter.once(now=True), refitter.failed
            reviewer = project.queue.do(lambda batch: token_for(batch, "Rita", "review", "human", None))
            client = TestClient(make_app(project, rate=1e9, burst=1e9))
            out = {}
            for what, path in REQUESTS.items():
                token = reviewer if "/reviews/" in path else admin
                took = []
                for _ in range(times):
                    filled = path.format(n=rng.integers(n), w=rng.integers(WORKERS))
                    began = time.perf_counter()
                    got = client.get(f"/projects/main{filled}", headers={"Authorization": f"Bearer {token}"})
                    took.append(1000 * (time.perf_counter() - began))
                    assert got.status_code == 200, got.text
                    assert got.json()["tasks"] or what == "by label and confidence", what
                out[what] = np.array(took)
            return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--times", type=int, default=100)
    given = parser.parse_args()
    measured = {n: measure(n, given.times) for n in given.sizes}
    rows = []
    for what in REQUESTS:
        ends = [np.percentile(measured[n][what], [50, 95]) for n in given.sizes]
        rows.append([what, *(f"{p50:.1f} / {p95:.1f}" for p50, p95 in ends), f"{ends[-1][1] / ends[0][1]:.1f}"])
        print(rows[-1], flush=True)
    header = ["request", *(f"{n:,} tasks, ms p50 / p95" for n in given.sizes), "p95, last / first"]
    after = (f"Three answers a task by {WORKERS:,} workers, one fit; {given.times} requests each, one at a time, "
             "through the whole application without a network.")  # fmt: skip
    section(
        "browse", "The table of tasks and the review queue", "python -m benchmarks.live.browse", header, rows, after
    )


if __name__ == "__main__":
    main()
