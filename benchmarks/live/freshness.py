"""python -m benchmarks.live.freshness: how long an answer takes until the posterior knows of it, at 100,000 tasks.

Both over HTTP, one request after the other: an answer sent to our server and the task's posterior read back, beside
one label posted to the bare route of the load (FastAPI, one commit per request) in the same run. And how far the live
model is from a fit of all answers, at the moment when it is furthest away: the next fit of the background is due.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from crowdwise.server.auth import issue
from crowdwise.server.commands import annotate
from crowdwise.server.live.fits import fit_arrays, rows_of
from crowdwise.server.live.state import GROWTH
from crowdwise.server.project import Project
from crowdwise.server.refitter import Refitter

from .kept import keep, section
from .restart import CLASSES, TASKS, WORKERS, filled, said_by
from .targets import Bare, Crowdwise

EVENTS, N, WARM, ROUNDS = 500_000, 400, 20, 100
# A label that leads by less is a near tie.
NEAR = 0.05
AFTER = (
    "Held to ten times the bare route's latency, and to equal labels on 99.5 % of the tasks. One client sends one "
    "request after the other; ours is two of them, the answer and `GET /tasks/ID`, which shows the new posterior. "
    "Of the workers 15 in 100 guess, the others' skills are drawn from Beta(6, 3), as in the planted crowds of saving. "
    "The live model is compared after it was rebased on a fit and has then taken a twentieth more answers one by one: "
    "that is when the server fits again."
)


class Ours(Crowdwise):
    """Our server on a folder that is there already."""

    def start(self):
        python, project = sys.executable, str(self.folder / "project")
        self.run(python, "-m", "crowdwise.cli", "serve", project, "--port", str(self.port), "--rate", "100000")
        self.wait("/healthz")


async def _fresh(target, token, rng):
    """Milliseconds from sending an answer to having its task's new posterior; how many posteriors changed."""
    wire, took, changed = target.wire(Authorization=f"Bearer {token}"), [], 0
    for i in range(WARM + N):
        task = int(rng.integers(TASKS))
        answer = CLASSES[int(rng.integers(4))]
        body = {"task": f"t{task}", "answer": answer, "worker": f"w{rng.integers(WORKERS)}"}
        before = (await wire.send("GET", f"/projects/main/tasks/t{task}")).json()["live"]["posterior"]
        began = time.perf_counter()
        got = await wire.post("/projects/main/labels", body, idempotency_key=f"fresh-{i}")
        after = (await wire.send("GET", f"/projects/main/tasks/t{task}")).json()["live"]["posterior"]
        took.append(time.perf_counter() - began)
        if got.status != 201:
            raise SystemExit(f"{got.status} {got.body[:200]!r}")
        changed += before != after
    await wire.close()
    return np.array(took[WARM:]) * 1e3, changed


async def _bare(target):
    """Milliseconds of the bare route for one label."""
    wire, took = target.wire(), []
    for i in range(WARM + N):
        began = time.perf_counter()
        got = await wire.post("/labels", {"task": f"t{i}", "worker": "w", "answer": "a", "key": f"{i}"})
        took.append(time.perf_counter() - began)
        if got.status != 201:
            raise SystemExit(f"{got.status} {got.body[:200]!r}")
    await wire.close()
    return np.array(took[WARM:]) * 1e3


def timed(folder, token, rng):
    """(ours, bare, changed), both servers up at the same time, ours first."""
    ours, bare = Ours(folder, 1), Bare(folder, 1)
    try:
        ours.start()
        bare.start()
        fresh, changed = asyncio.run(_fresh(ours, token, rng))
        return fresh, asyncio.run(_bare(bare)), changed
    finally:
        for each in (ours, bare):
            each.stop()


def _more(batch, rows):
    for task, worker, said in rows:
        key = f"more {task} {worker}"
        annotate.label(batch, worker, annotate.Submission(f"t{task}", CLASSES[said], key, "b", trusted=True))


def prepared(folder, rng):
    """A project that was rebased on a fit and has grown by a twentieth since; an admin's token."""
    filled(folder, round(EVENTS / (1 + GROWTH)))
    with Project(folder) as project:
        Refitter(project, start=False).once(now=True)
        live = project.queue.live
        while live.last < EVENTS:
            n = min(1_000, EVENTS - live.last)
            task, worker = rng.integers(TASKS, size=n), rng.integers(WORKERS, size=n)
            said = said_by(rng, task, worker)
            rows = list(zip(task.tolist(), worker.tolist(), said.tolist(), strict=True))
            project.queue.do(lambda s, rows=rows: _more(s, rows))
        project.snapshot()
        return project.queue.do(lambda s: issue(s, "admin")[1])


def distances(folder):
    """How far the live model is from the method's fit of all answers, and from a fit of its own."""
    with Project(folder) as project:
        live = project.queue.live
        online = live.session.model.posterior
        touched = np.isin(np.arange(len(online)), sorted(live.touched))
        baseline = fit_arrays(rows_of(live))["posterior"]
        live.session.model.settle(max_rounds=ROUNDS)
        own = live.session.model.posterior
    known = ~np.isnan(baseline).any(axis=1)
    out = {}
    for name, other in (("refit", baseline), ("own", own)):
        same = online.argmax(axis=1) == other.argmax(axis=1)
        out[name] = float(same[known].mean())
        out[f"{name}_most"] = float(np.abs(online - other)[known].max())
        out[f"{name}_untouched"] = float(same[known & ~touched].mean())
        top = np.sort(other[known & ~same], axis=1)
        out[f"{name}_lead"] = float(np.median(top[:, -1] - top[:, -2])) if len(top) else 0.0
    return out


def verdict(far):
    """Whether the labels are equal enough, and if not, which ones are not."""
    if far["refit"] >= 0.995:
        return ""
    near = "They are near ties: half" if far["refit_lead"] < NEAR else "Half"
    return (
        f" The labels miss their bar by {0.995 - far['refit']:.2%}. {near} of those that differ lead by less than "
        f"{far['refit_lead']:.3f} in the refit. A twentieth more answers moves the method's own fit as well: it "
        f"changes {1 - far['refit_untouched']:.2%} of the labels of tasks that had no new answer."
    )


def main():
    folder = Path(tempfile.mkdtemp())
    rng = np.random.default_rng(1)
    try:
        token = prepared(folder / "project", rng)
        far = distances(folder / "project")
        fresh, bare, changed = timed(folder, token, rng)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    (b50, b95), (f50, f95) = (np.percentile(each, (50, 95)) for each in (bare, fresh))
    found = {"bare": [b50, b95], "fresh": [f50, f95], "ratio": f95 / b95, "changed": changed} | far
    print(found)
    keep("freshness", "all", found)
    rows = [
        ["answer to new posterior, p50 / p95 ms", f"{f50:.1f} / {f95:.1f}", ""],
        ["bare route, p50 / p95 ms", f"{b50:.1f} / {b95:.1f}", ""],
        ["times the bare route, p95", f"{f95 / b95:.1f}", "below 10"],
        ["labels equal to a refit by the project's method", f"{far['refit']:.2%}", "99.5 %"],
        ["the same, of tasks without an answer since the last fit", f"{far['refit_untouched']:.2%}", "reported"],
        ["where they differ: lead of the refit's label, median", f"{far['refit_lead']:.3f}", "reported"],
        ["largest difference of a posterior to the refit", f"{far['refit_most']:.3f}", "reported"],
        ["labels equal to the live model's own fit of all answers", f"{far['own']:.2%}", "reported"],
        ["largest difference of a posterior to that", f"{far['own_most']:.3f}", "reported"],
    ]
    header = [f"{TASKS:,} tasks, {WORKERS:,} workers, {EVENTS:,} events", "found", "held to"]
    section("freshness", "How fresh it is", "python -m benchmarks.live.freshness", header, rows, AFTER + verdict(far))


if __name__ == "__main__":
    main()
