"""python -m benchmarks.speed.before CHECKOUT: this tree beside an earlier one, job by job, in CPU seconds.

Both run in turns in processes of their own, on one thread, with the same data: only ratios mean anything.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .. import ROOT

SETUP = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
def least(job, times):
    job()
    out = []
    for _ in range(times):
        began = time.process_time(); job(); out.append(time.process_time() - began)
    return min(out)
"""
CROWD = """
import numpy as np, crowdwise as cw
rng = np.random.default_rng(0)
n = 500_000
task, worker = rng.integers(0, 100_000, n), rng.integers(0, 2_000, n)
pair = np.unique(task.astype(np.int64) * 2_000 + worker)
task, worker = pair // 2_000, pair % 2_000
votes = cw.Annotations.from_arrays(task, worker, rng.integers(0, 5, len(task)))
"""
TRAINING = """
import numpy as np, crowdwise as cw, torch
from crowdwise.learn import CrowdClassifier
torch.set_num_threads(1)
rng = np.random.default_rng(0)
truth = rng.integers(0, 4, 4000)
x = (rng.normal(size=(4000, 32)) + 3 * np.eye(4, 32)[truth]).astype("float32")
task = np.repeat(np.arange(4000), 5)
worker = ((rng.integers(0, 200, (4000, 1)) + 7 * np.arange(5)) % 200).ravel()
label = np.where(rng.random(20000) < 0.7, truth[task], rng.integers(0, 4, 20000))
votes = cw.Annotations.from_arrays(task, worker, label)
print(json.dumps(least(lambda: CrowdClassifier(method="crowd_layer", epochs=3).fit(x, votes), 2)))
"""
JOBS = {
    "start-up": SETUP + "began = time.process_time(); import crowdwise; crowdwise.Annotations; crowdwise.DawidSkene\n"
    "print(json.dumps(time.process_time() - began))",
    "read 500,000 votes from CSV": SETUP + "import crowdwise as cw\n"
    "print(json.dumps(least(lambda: cw.read(sys.argv[1]), 3)))",
    "dawid_skene, 10 passes": SETUP + CROWD
    + "print(json.dumps(least(lambda: cw.DawidSkene(max_iter=10, tol=0).fit(votes), 3)))",
    "hierarchical, 10 passes": SETUP + CROWD
    + "print(json.dumps(least(lambda: cw.method('hierarchical', max_iter=10, tol=0).fit(votes), 3)))",
    "infer 500,000 votes": SETUP + CROWD
    + "result = cw.DawidSkene(max_iter=3).fit(votes)\nprint(json.dumps(least(lambda: result.infer(votes), 3)))",
    "append one vote to 500,000": SETUP + CROWD
    + "one = cw.Annotations.from_arrays([100_001], [5], [3])\n"
    "print(json.dumps(least(lambda: votes.append(one), 3)))",
    "`crowdwise --version`": SETUP + "import subprocess, resource\n"
    "for _ in range(10): subprocess.run([sys.executable, '-m', 'crowdwise', '--version'], stdout=subprocess.DEVNULL)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\nprint(json.dumps((used.ru_utime + used.ru_stime) / 10))",
    "crowd_layer, 3 epochs": SETUP + TRAINING,
}  # fmt: skip
E_STEP = (
    SETUP
    + CROWD
    + """
from crowdwise.em.kernels import Workspace, accumulate
result = cw.DawidSkene(max_iter=3).fit(votes)
theta = np.ascontiguousarray(result.confusion.transpose(0, 2, 1))
space = Workspace.of(votes)
print(json.dumps(least(lambda: accumulate(space, theta, result.class_prior), 5)))
"""
)


def run(code: str, tree: Path, csv: Path) -> float:
    """CPU seconds that a job of a tree says it took."""
    env = {**os.environ, "PYTHONPATH": str(tree / "src"), "CROWDWISE_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code, str(csv)], env=env, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of the commit to compare with")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "votes.csv"
        code = CROWD + "votes.to_frame().write_csv(__import__('sys').argv[1])"
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run([sys.executable, "-c", code, str(csv)], env=env, check=True)
        print("| job | before, CPU s | now, CPU s | now / before |\n|---|---|---|---|")
        for name, job in JOBS.items():
            before, now = [], []
            for _ in range(options.turns):
                before.append(run(job, options.checkout.resolve(), csv))
                now.append(run(job, ROOT, csv))
            print(f"| {name} | {min(before):.4f} | {min(now):.4f} | {min(now) / min(before):.2f} |", flush=True)
        step = min(run(E_STEP, ROOT, csv) for _ in range(options.turns))
        print(f"\none E-step over the same votes: {step:.4f} CPU s")


if __name__ == "__main__":
    main()
