"""What is measured, each in a process of its own: `python -m benchmarks.scale.jobs NAME '{"argument": ...}'`.

The answer and the peak of resident memory are printed as one line of JSON.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from .. import ROOT

MARK = "@@ "


def run(name: str, threads: int = 2, limit_gb: float | None = None, timeout: float | None = None, **given: Any) -> Any:
    """The answer of a job in a fresh process; `limit_gb` bounds its address space."""
    env = {**os.environ, "CROWDWISE_THREADS": str(threads), "POLARS_MAX_THREADS": str(threads), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.scale.jobs", name, json.dumps(given)]
    if limit_gb is not None:
        command = ["prlimit", f"--as={int(limit_gb * 1e9)}", *command]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=timeout)
    found = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not found:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise RuntimeError(f"{name}: {last[0]}")
    return json.loads(found[0].removeprefix(MARK))


def planned(pattern: str, work: str) -> dict[str, Any]:
    """Planning alone."""
    from crowdwise.out_of_core.planning import plan

    shutil.rmtree(work, ignore_errors=True)
    begin, spent = time.perf_counter(), time.process_time()
    found = plan(pattern, work)
    wall, cpu = time.perf_counter() - begin, time.process_time() - spent
    return {"wall": wall, "cpu": cpu, "rows": found.n_rows, "parts": len(found.parts), "bytes": size_of(work)}


def sorted_by_polars(pattern: str, out: str) -> dict[str, Any]:
    """polars' own scan, sort by task and worker, and write."""
    import polars as pl

    begin, spent = time.perf_counter(), time.process_time()
    pl.scan_parquet(pattern).sort("task", "worker").sink_parquet(out)
    wall, cpu = time.perf_counter() - begin, time.process_time() - spent
    os.unlink(out)
    return {"wall": wall, "cpu": cpu}


def whole(pattern: str, work: str, out: str, max_iter: int) -> dict[str, Any]:
    """Plan, fit and write, as the command does; how long each took."""
    from crowdwise.core.method_registry import method
    from crowdwise.out_of_core.fitting import fit_plan
    from crowdwise.out_of_core.planning import plan

    stages = {}
    begin, spent = time.perf_counter(), time.process_time()
    found = plan(pattern, work)
    stages |= {"plan": time.perf_counter() - begin, "plan_cpu": time.process_time() - spent}
    shutil.rmtree(Path(work) / "fit", ignore_errors=True)
    begin, spent = time.perf_counter(), time.process_time()
    facts = fit_plan(found, method("dawid_skene", max_iter=max_iter, tol=0.0), Path(out), force=True)
    stages |= {"fit": time.perf_counter() - begin, "fit_cpu": time.process_time() - spent}
    return {**stages, "rows": found.n_rows, **facts, "accuracy": accuracy(out)}


def accuracy(out: str) -> float:
    """Share of right labels in one part in ten of the output."""
    import numpy as np
    import polars as pl

    from .crowd import truth_of

    right = n = 0
    for path in sorted(Path(out, "labels").glob("part-*0.parquet")):
        table = pl.read_parquet(path, columns=["task", "label"])
        truth = truth_of(table["task"].str.slice(1).cast(pl.Int64).to_numpy())
        right += int((pl.Series(list("abcde")).gather(truth) == table["label"]).sum())
        n += table.height
    return float(np.round(right / n, 4))


def passes(work: str, few: int, many: int, where: str) -> dict[str, Any]:
    """CPU seconds a pass: the difference of two run lengths, in parts on disk or in memory, the best of three."""
    from crowdwise.core.method_registry import method
    from crowdwise.kinds.classes.methods.base import SolveOptions
    from crowdwise.out_of_core.gather import in_memory
    from crowdwise.out_of_core.plan import PartitionPlan

    found = PartitionPlan.load(Path(work))
    if where == "memory":
        votes = in_memory(found)

        def fit(n: int) -> None:
            method("dawid_skene", max_iter=n, tol=0.0).solve(votes, None, SolveOptions())
    else:
        fit = partial(_learn, found)
    fit(few)
    times: dict[int, list[float]] = {few: [], many: []}
    for _ in range(3):
        for n in (few, many):
            begin = time.process_time()
            fit(n)
            times[n].append(time.process_time() - begin)
    return {"pass": (min(times[many]) - min(times[few])) / (many - few), "rows": found.n_rows}


def _learn(found: Any, n: int) -> None:
    """The loop alone: no skills, no writing."""
    from crowdwise.core.method_registry import method
    from crowdwise.em.drivers import Threads
    from crowdwise.em.kernels import n_threads
    from crowdwise.kinds.classes.methods.base import SolveOptions
    from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes

    data = PartitionedVotes.from_source(
        found.source, partial(Threads, threads=n_threads()), single_label=False, has_gold=False
    )
    method("dawid_skene", max_iter=n, tol=0.0).learn(data, SolveOptions())


def same(pattern: str, work: str) -> dict[str, Any]:
    """Whether any number of jobs gives the same bits, and the distance to the fit in memory."""
    import numpy as np
    import polars as pl

    from crowdwise.core.method_registry import method
    from crowdwise.em.drivers import InProcess, Threads
    from crowdwise.out_of_core.fitting import in_parts
    from crowdwise.out_of_core.gather import in_memory
    from crowdwise.out_of_core.planning import plan

    found, chosen = plan(pattern, work), method("dawid_skene", tol=1e-6)
    votes = in_memory(found)
    whole = chosen.fit(votes)
    digests, gap, other = set(), 0.0, 0
    for executor in (InProcess, *(partial(Threads, threads=2, jobs=n) for n in (1, 2, 7, 64))):
        fit = in_parts(found, chosen, executor=executor)
        table = pl.concat([part.to_table() for part in fit.parts()])
        digests.add(
            (table.hash_rows().sum(), fit.worker_summary.skill.tobytes(), fit.worker_summary.confusion.tobytes())
        )
        if gap == 0.0:
            table = table.sort("task")
            own = table.select(f"p_{name}" for name in votes.classes).to_numpy()
            gap = float(np.abs(own - whole.posterior).max())
            other = int((table["label"] != whole.to_table()["label"]).sum())
    return {"rows": found.n_rows, "passes": whole.n_iter, "digests": len(digests), "gap": gap, "labels_differ": other}


def constants(pattern: str, work: str) -> dict[str, Any]:
    """c1: seconds a label and class in a pass; c2: a cell of a table added; c3: a label planned; latency of a job."""
    import numpy as np

    from crowdwise.core.method_registry import method
    from crowdwise.em.drivers import InProcess
    from crowdwise.em.kernels import Stats
    from crowdwise.kinds.classes.methods.base import SolveOptions
    from crowdwise.kinds.classes.methods.partitioned import PartitionedVotes

    shutil.rmtree(work, ignore_errors=True)
    spent = planned(pattern, work)
    from crowdwise.out_of_core.plan import PartitionPlan

    found = PartitionPlan.load(Path(work))
    m, k, n = len(found.workers), len(found.classes), found.n_rows
    cells = 100_000  # workers: larger than any cache
    a, b = (Stats(np.random.default_rng(i).random((cells, k, k)), np.ones(k)) for i in range(2))
    adds = []
    for _ in range(5):
        begin = time.perf_counter()
        a = a + b
        adds.append(time.perf_counter() - begin)
    data = PartitionedVotes.from_source(found.source, InProcess, single_label=False, has_gold=False)

    def learn(passes: int) -> float:
        begin = time.process_time()
        method("dawid_skene", max_iter=passes, tol=0.0).learn(data, SolveOptions())
        return time.process_time() - begin

    learn(1)
    each = (min(learn(5) for _ in range(2)) - min(learn(1) for _ in range(2))) / 4
    begin = time.perf_counter()
    for number in range(len(found.parts)):
        found.source.part(number)
    latency = (time.perf_counter() - begin) / len(found.parts)
    adding = min(adds) * m / cells * (len(found.parts) - 1)
    return {
        "rows": n,
        "c1": max(each - adding, 0.0) / (n * k),
        "c2": min(adds) / (cells * k * k),
        "c3": spent["cpu"] / n,
        "latency": latency,
        "bytes_a_label": spent["bytes"] / n,
        "pass": each,
    }


def cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0))


def size_of(folder: str) -> int:
    """Bytes on disk."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


JOBS = {job.__name__: job for job in (planned, sorted_by_polars, whole, passes, same, constants)}


def main() -> None:
    """Run a job and print what it found."""
    answer = JOBS[sys.argv[1]](**json.loads(sys.argv[2]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(MARK + json.dumps({**answer, "peak_gb": peak}))


if __name__ == "__main__":
    main()
