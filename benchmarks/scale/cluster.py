"""Parts on Dask: two workers against two threads of one process, ten workers killed in mid-EM, one paused for 20 s.

    python -m benchmarks.scale.cluster [--labels 20000000] [--quick]

Parts are written as a plan writes them, so only passes are measured. Writes docs/benchmarks/cluster.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from crowdwise.engine.mapped import CELL, OFFSETS, TASKS, OnDisk, part_folder

from .. import ROOT
from ..markdown import table

PARTS, WORKERS, CLASSES, EACH = 64, 20_000, 5, 10
# Passes that are timed; workers are killed in ten of twelve.
TIMED, HARMED = 4, 12
PAGE = ROOT / "docs" / "benchmarks" / "cluster.md"


def write(folder: Path, labels: int, seed: int = 0) -> OnDisk:
    """A planted one-coin crowd in parts on disk: ten labels a task, skills from .5 to .95."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    skill, n = rng.uniform(0.5, 0.95, WORKERS), labels // EACH // PARTS
    for number in range(PARTS):
        home = part_folder(folder, number)
        home.mkdir(exist_ok=True)
        truth = np.repeat(rng.integers(CLASSES, size=n), EACH)
        worker = np.sort((rng.integers(WORKERS, size=(n, 1)) + 7919 * np.arange(EACH)) % WORKERS, axis=1).ravel()
        right = rng.random(len(worker)) < skill[worker]
        label = np.where(right, truth, (truth + rng.integers(1, CLASSES, size=len(worker))) % CLASSES)
        np.save(home / OFFSETS, np.arange(0, len(worker) + 1, EACH))
        np.save(home / CELL, (worker * CLASSES + label).astype(np.int32))
        pl.DataFrame({"task": np.arange(number * n, (number + 1) * n)}).write_ipc(home / TASKS)
    pl.DataFrame({"value": np.arange(WORKERS)}).write_parquet(folder / "workers.parquet")
    return OnDisk(str(folder), n * PARTS * EACH, (n,) * PARTS, WORKERS, tuple(range(CLASSES)))


def passes(source: OnDisk, how: str, harm: str = "") -> dict:
    """A fit of a few passes; wall seconds of the passes themselves, and a digest of its last bits."""
    import hashlib

    import crowdwise as cw
    from crowdwise.aggregate.base import Run
    from crowdwise.aggregate.spread import Spread
    from crowdwise.engine.cluster import hired
    from crowdwise.engine.drivers import Threads

    passes = HARMED if harm else TIMED
    method, times, harmed, luck = cw.DawidSkene(max_iter=passes, tol=0.0), [], [], random.Random(1)

    def fit(hire, client=None):
        def watch(iteration, _):
            times.append(time.perf_counter())
            if (harm == "kill" and iteration <= 10) or (harm == "pause" and iteration == 3):
                pid = luck.choice(list(client.run(os.getpid).values()))
                harmed.append(pid)
                if harm == "kill":
                    threading.Timer(luck.random(), _kill, (pid,)).start()
                else:
                    os.kill(pid, signal.SIGSTOP)
                    threading.Timer(20, os.kill, (pid, signal.SIGCONT)).start()

        data = Spread.over(source, hire, single_label=False, told=False)
        found = method.learn(data, Run(callback=watch))
        return hashlib.blake2b(found.confusion.tobytes() + found.trace.tobytes(), digest_size=8).hexdigest()

    children = 0
    if how == "threads":
        digest = fit(partial(Threads, threads=2))
    else:
        with hired(how) as hire:
            client = hire.keywords["client"]
            digest = fit(hire, client)
            children = sum(client.run(_peak).values())
    steps = np.diff(times)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = {"pass": float(np.min(steps)), "mean": float(np.mean(steps)), "digest": digest, "harmed": len(harmed)}
    return {**each, "own_gb": own / 2**20, "workers_gb": children / 2**20}


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def job(folder: str, labels: int, how: str, harm: str = "") -> dict:
    """One measurement in a process of its own."""
    env = {**os.environ, "OMP_NUM_THREADS": "1", "CROWDWISE_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.scale.cluster", "--job", json.dumps([folder, labels, how, harm])]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    print(how, harm, f"{labels:,}", found, file=sys.stderr, flush=True)
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--labels", type=int, default=20_000_000)
    options.add_argument("--quick", action="store_true", help="a hundredth of the labels, and no page")
    options.add_argument("--job")
    options.add_argument("--folder")
    given = options.parse_args()
    warnings.simplefilter("ignore")
    if given.job:
        folder, labels, how, harm = json.loads(given.job)
        n = labels // EACH // PARTS
        source = OnDisk(folder, n * PARTS * EACH, (n,) * PARTS, WORKERS, tuple(range(CLASSES)))
        print(json.dumps(passes(source, how, harm)))
        return
    labels = given.labels // (100 if given.quick else 1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(given.folder or place) / "parts"
        write(folder, labels)
        runs = [(turn, how) for turn in range(2) for how in ("threads", "local:2")]
        found = [(how, job(str(folder), labels, how)) for _, how in runs]
        best = {how: min((one for h, one in found if h == how), key=lambda one: one["pass"]) for how in dict(found)}
        few, place = labels // 20, Path(given.folder or place) / "few"
        write(place, few)
        hows = {"one": ("local:1", "same"), "three": ("local:3", "same"), "alone": ("threads", "same")}
        hows |= {"killed": ("local:2", "kill"), "paused": ("local:2", "pause")}
        others = {name: job(str(place), few, *how) for name, how in hows.items()}
    text = page(labels, few, best, others)
    print(text)
    if not given.quick:
        PAGE.write_text(text, encoding="utf-8")


def page(labels: int, few: int, best: dict, others: dict) -> str:
    """What is written."""
    ratio = best["local:2"]["pass"] / best["threads"]["pass"]
    same = all(len({one["digest"] for one in of.values()}) == 1 for of in (best, others))
    told = "All fits" if same else "NOT all fits"
    names = {
        "threads": "one process, two threads",
        "local:2": "Dask, two workers",
        "alone": "one process, two threads",
        "one": "Dask, one worker",
        "three": "Dask, three workers",
        "killed": "Dask, two workers, killed ten times",
        "paused": "Dask, two workers, one stopped for 20 s",
    }
    rows = [
        [
            names[name],
            f"{labels if name in best else few:,}",
            f"{one['pass']:.2f}",
            f"{one['own_gb']:.2f}",
            f"{one['workers_gb']:.2f}" if one["workers_gb"] else "",
            str(one["harmed"]),
            one["digest"],
        ]
        for name, one in {**best, **others}.items()
    ]
    heads = ["who", "labels", "best pass (s)", "driver's peak (GB)", "workers' peaks together (GB)", "harmed", "bits"]
    return f"""# Parts on a Dask cluster
`python -m benchmarks.scale.cluster` writes this page: a planted crowd ({EACH} labels a task, {CLASSES} classes,
{WORKERS:,} workers, seed 0) in {PARTS} parts on disk, passes of `dawid_skene` on two cores. Times are wall
seconds of a pass; the first two rows are the better of two runs. Bits are a digest of all
confusion matrices and the trace.

{table(heads, rows)}

Two workers take {ratio:.2f} times as long as two threads of one process (bar: 1.3). {told}
of the same labels have the same bits: with one, two and three workers, with workers killed (kill -9) in the middle
of ten passes, and with one stopped (SIGSTOP) for 20 s.
"""


if __name__ == "__main__":
    main()
