"""python -m benchmarks.live.freshness: how long an answer takes until the posterior knows of it, at 100,000 tasks.

Beside it, in the same run: a bare transaction that commits one row to SQLite in the same folder. And how far the live
model is from a fit of all answers.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from crowdwise.active import Session
from crowdwise.server.acts import annotate
from crowdwise.server.live.fits import fit_arrays, rows_of
from crowdwise.server.project import Project

from .kept import keep, section
from .restart import CLASSES, TASKS, WORKERS, filled

EVENTS, N = 500_000, 400


def _bare(folder, n):
    """Milliseconds of commits of one row each."""
    took = []
    with sqlite3.connect(folder / "bare.db", isolation_level=None) as connection:
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("CREATE TABLE answer (task TEXT, worker TEXT, label TEXT)")
        for i in range(n):
            began = time.perf_counter()
            connection.execute("INSERT INTO answer VALUES (?, ?, ?)", (f"t{i}", f"w{i}", "a"))
            took.append(time.perf_counter() - began)
    return np.array(took) * 1e3


def _fresh(project, n, rng):
    """Milliseconds from an answer that comes to the desk to its posterior, stored and read back."""
    took, changed = [], 0
    for i in range(n):
        task, worker = int(rng.integers(TASKS)), int(rng.integers(WORKERS))
        said = annotate.Said(f"t{task}", CLASSES[int(rng.integers(4))], f"fresh {i}", "b", trusted=True)
        before = project.desk.live.session.board.believed[task].copy()
        began = time.perf_counter()
        project.desk.do(lambda s, w=worker, said=said: annotate.label(s, w, said))
        after = project.desk.do(lambda s, t=task: s.live.session.board.believed[t].copy(), write=False)
        took.append(time.perf_counter() - began)
        changed += bool((before != after).any())
    return np.array(took) * 1e3, changed


def _against_refit(live: Session):
    """Share of equal labels, and the largest difference of a posterior, between the live model and settled sweeps."""
    model = live.session.model
    before = model.posterior.copy()
    model.settle(max_rounds=live.config.settings.rounds)
    after = model.posterior
    return float((before.argmax(axis=1) == after.argmax(axis=1)).mean()), float(np.abs(before - after).max())


def main():
    folder = Path(tempfile.mkdtemp()) / "p"
    try:
        filled(folder, EVENTS)
        rng = np.random.default_rng(1)
        with Project(folder) as project:
            bare = _bare(folder, N)
            fresh, changed = _fresh(project, N, rng)
            began = time.process_time()
            settled = fit_arrays(rows_of(project.desk.live))["posterior"]
            fitted = time.process_time() - began
            live = project.desk.live.session.model.posterior
            known = ~np.isnan(settled).any(axis=1)
            method = float((live[known].argmax(axis=1) == settled[known].argmax(axis=1)).mean())
            equal, most = _against_refit(project.desk.live)
    finally:
        shutil.rmtree(folder.parent, ignore_errors=True)
    p95 = [float(np.percentile(each, 95)) for each in (bare, fresh)]
    found = {"bare": p95[0], "fresh": p95[1], "ratio": p95[1] / p95[0], "equal": equal, "most": most, "method": method,
             "changed": changed, "fitted": fitted}  # fmt: skip
    print(found)
    keep("freshness", "all", found)
    rows = [
        ["an answer until its posterior is there, p95 (times a bare commit)", f"{found['ratio']:.1f}", "10"],
        ["labels of the live model equal to a sweep's of all answers", f"{equal:.2%}", "99.5 %"],
        ["largest difference of a posterior between the two", f"{most:.3f}", "reported"],
        ["labels of the live model equal to the default method's", f"{method:.2%}", "reported"],
    ]
    header = ["at 100,000 tasks, 1,000 workers, 500,000 answers", "found", "held to"]
    section("freshness", "How fresh it is", "python -m benchmarks.live.freshness", header, rows)


if __name__ == "__main__":
    main()
