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

from crowdwise.out_of_core.mapped import CELL, OFFSETS, TASKS, OnDisk, part_folder
from crowdwise.out_of_core.planning import n_parts

from .. import ROOT
from ..markdown import figures

WORKERS, CLASSES, EACH = 20_000, 5, 10
# Passes that warm everything up, that are timed in each of so many rounds, and in ten of which workers are killed.
WARM, TIMED, ROUNDS, HARMED = 2, 9, 3, 12
PAGE = ROOT / "docs" / "benchmarks" / "cluster.md"


def source_in(folder: Path, labels: int) -> OnDisk:
    """So many labels in as many parts as a plan would make, each with as many tasks."""
    parts = n_parts(labels, WORKERS * CLASSES**2)
    n = labels // EACH // parts
    return OnDisk(str(folder), n * parts * EACH, (n,) * parts, WORKERS, tuple(range(CLASSES)))


def write(folder: Path, labels: int, seed: int = 0) -> None:
    """A planted one-coin crowd in parts on disk: ten labels a task, skills from .5 to .95."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    skill = rng.uniform(0.5, 0.95, WORKERS)
    for number, n in enumerate(source_in(folder, labels).tasks):
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


def passes(source: OnDisk, how: str, harm: str = "") -> dict:
    """A fit of a few passes; wall seconds of the passes themselves, and a digest of its last bits."""
    import hashlib

    import crowdwise as cw
    from crowdwise.em.cluster import dask_executor
    from crowdwise.em.drivers import Threads
    from crowdwise.kinds.classes.methods.base import SolveOptions
    from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes

    times, harmed, luck = [], [], random.Random(1)

    def fit(passes, executor, client=None):
        times.clear()

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

        data = PartitionedVotes.from_source(source, executor, single_label=False, has_gold=False)
        found = cw.DawidSkene(max_iter=passes, tol=0.0).learn(data, SolveOptions(callback=watch))
        return hashlib.blake2b(found.confusion.tobytes() + found.trace.tobytes(), digest_size=8).hexdigest()

    children = 0
    # A fit that is not timed pays for processes, imports and compiled kernels; the harmed one is not timed at all.
    warm, n = (0, HARMED) if harm else (WARM, TIMED)
    if how == "threads":
        digest, cpu = spent(warm, n, partial(fit, executor=partial(Threads, threads=2)), time.process_time)
    else:
        with dask_executor(how) as executor:
            client = executor.keywords["client"]

            def all_cpu():
                return time.process_time() + sum(client.run(time.process_time).values())

            digest, cpu = spent(warm, n, partial(fit, executor=executor, client=client), all_cpu)
            children = sum(client.run(_peak).values())
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = {"passes": np.diff(times).round(4).tolist(), "cpu": cpu, "digest": digest, "harmed": len(harmed)}
    return {**each, "own_gb": own / 2**20, "workers_gb": children / 2**20}


def spent(warm: int, n: int, fit, cpu) -> tuple[str, float]:
    """What a fit gives after one that is not counted, and processor seconds a pass of everybody in it."""
    if warm:
        fit(warm)
    begin = cpu()
    digest = fit(n)
    return digest, (cpu() - begin) / n


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
        print(json.dumps(passes(source_in(Path(folder), labels), how, harm)))
        return
    labels = given.labels // (100 if given.quick else 1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(given.folder or place) / "parts"
        write(folder, labels)
        timed = {"threads": [], "local:2": []}
        for _ in range(ROUNDS):  # in turn: whatever else goes on meets both
            for how, rounds in timed.items():
                rounds.append(job(str(folder), labels, how) | {"load": os.getloadavg()[0]})
        few, place = labels // 20, Path(given.folder or place) / "few"
        write(place, few)
        hows = {"one": ("local:1", "same"), "three": ("local:3", "same"), "alone": ("threads", "same")}
        hows |= {"killed": ("local:2", "kill"), "paused": ("local:2", "pause")}
        others = {name: job(str(place), few, *how) for name, how in hows.items()}
    text = page(labels, few, {how: pooled(rounds) for how, rounds in timed.items()}, others)
    print(text)
    if not given.quick:
        PAGE.write_text(text, encoding="utf-8")


def pooled(rounds: list[dict]) -> dict:
    """All rounds of one way as one."""
    last = max(rounds, key=lambda one: one["own_gb"] + one["workers_gb"])
    digests = sorted({one["digest"] for one in rounds})
    cpu, load = min(one["cpu"] for one in rounds), float(np.mean([one["load"] for one in rounds]))
    return {
        **last,
        "load": load,
        "cpu": cpu,
        "passes": [each for one in rounds for each in one["passes"]],
        "digest": " ".join(digests),
    }


NAMES = {
    "threads": "one process, two threads",
    "local:2": "Dask, two workers",
    "alone": "one process, two threads",
    "one": "Dask, one worker",
    "three": "Dask, three workers",
    "killed": "Dask, two workers, one of them killed in ten passes",
    "paused": "Dask, two workers, one stopped for 20 s",
}


def page(labels: int, few: int, timed: dict, others: dict) -> str:
    """What is written."""
    ways = {"least": np.min, "median": np.median, "mean": np.mean}
    took = {how: {name: float(of(one["passes"])) for name, of in ways.items()} for how, one in timed.items()}
    ratio = {name: took["local:2"][name] / took["threads"][name] for name in ways}
    same = all(len({one["digest"] for one in of.values()}) == 1 for of in (timed, others))
    told = "All fits" if same else "NOT all fits"
    times = [
        [NAMES[how], *(f"{took[how][name]:.2f}" for name in ratio), f"{one['cpu']:.2f}", f"{one['own_gb']:.2f}",
         f"{one['workers_gb']:.2f}" if one["workers_gb"] else ""]
        for how, one in timed.items()
    ]  # fmt: skip
    cpu = timed["local:2"]["cpu"] / timed["threads"]["cpu"]
    times.append(["ratio (bar: 1.3)", *(f"{each:.2f}×" for each in ratio.values()), f"{cpu:.2f}×", "", ""])
    bits = [[NAMES[how], f"{labels:,}", "0", one["digest"]] for how, one in timed.items()]
    bits += [[NAMES[name], f"{few:,}", str(one["harmed"]), one["digest"]] for name, one in others.items()]
    heads = [
        "who",
        "least (s)",
        "median (s)",
        "mean (s)",
        "CPU (s)",
        "driver's peak (GB)",
        "workers' peaks together (GB)",
    ]
    n = len(timed["threads"]["passes"])
    load = np.mean([one["load"] for one in timed.values()])
    verdict = {name: "met" if each <= 1.3 else "missed" for name, each in ratio.items()}
    return f"""# Parts on a Dask cluster
`python -m benchmarks.scale.cluster` writes this page: a planted crowd ({EACH} labels a task, {CLASSES} classes,
{WORKERS:,} workers, seed 0) in parts on disk, as many as a plan makes, passes of `dawid_skene` on two cores.

## Speed
Wall seconds of a pass over {labels:,} labels: {n} passes of each way in {ROUNDS} rounds, the two ways in turn, each
warmed up by a fit of {WARM} passes. Other work on the machine shows in median and mean more than in the least: a pass
on Dask is a dozen messages one after the other, and each waits for its turn on a busy processor. CPU is that of all
processes, a pass, in the best round. About {load:.0f} processes wanted the two cores all the while, ours
included. The bar is {verdict["least"]} by the least and {verdict["mean"]} by the mean.

{figures(heads, times)}

Jobs are dealt out to the workers in turn, and sums come from them directly. Left to its own scheduling, Dask gives all
jobs of a later pass to the worker that has the parameters, since it takes the tables for small: then one works and the
other waits. Its own setting of malloc has every table's memory cleared by the system again for each part. With both
corrected, what is left is the way of the tables between processes, and that a pass waits for the later of two workers.

## The same bits
A digest of all confusion matrices and the trace. {told} of the same labels have the same bits: with one, two and three
workers, with a worker killed (kill -9) in the middle of each of ten passes, and with one stopped (SIGSTOP) for 20 s.

{figures(["who", "labels", "workers harmed", "bits"], bits)}
"""


if __name__ == "__main__":
    main()
