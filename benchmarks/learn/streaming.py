"""Features four times as large as the memory that they may take: peak memory of training from a folder.

    python -m benchmarks.learn.streaming [--quick]

Each measurement is a process of its own: training on a folder read a piece at a time, on a tenth of it, on the same
features as one array in memory, and the libraries alone. Writes docs/benchmarks/streaming.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .. import ROOT
from ..markdown import figures

PAGE = ROOT / "docs" / "benchmarks" / "streaming.md"
WIDTH, CLASSES, WORKERS, EACH, FILES = 256, 4, 200, 3, 16


def write(folder: Path, gigabytes: float, seed: int = 0) -> int:
    """Features around the centre of their class, as FILES files; the number of tasks."""
    folder.mkdir(parents=True)
    n = int(gigabytes * 2**30 / WIDTH / 4 / FILES)
    centre = np.random.default_rng(seed).normal(size=(CLASSES, WIDTH)).astype(np.float32) / 8
    for number in range(FILES):
        rng = np.random.default_rng([seed, number])
        truth = rng.integers(CLASSES, size=n)
        np.save(folder / f"x{number:02d}.npy", rng.standard_normal((n, WIDTH), dtype=np.float32) + centre[truth])
        np.save(folder.with_name(folder.name + f"-truth{number:02d}.npy"), truth)
    return n * FILES


def fit(folder: Path, how: str, memory: int) -> dict:
    """Two epochs; accuracy against the planted truth, and peak memory."""
    import crowdwise as cw
    from crowdwise.learn import CrowdClassifier, FeatureFolder

    if how == "libraries":
        return {"peak": _peak()}
    truth = np.concatenate([np.load(path) for path in sorted(folder.parent.glob(f"{folder.name}-truth*.npy"))])
    rng = np.random.default_rng(1)
    task = np.repeat(np.arange(len(truth)), EACH)
    right = rng.random(len(task)) < 0.7
    label = np.where(right, truth[task], rng.integers(CLASSES, size=len(task)))
    votes = cw.Annotations.from_arrays(task, rng.integers(WORKERS, size=len(task)), label, duplicates="keep")
    x = FeatureFolder(folder, memory=memory)
    if how == "in memory":
        x = np.concatenate([np.load(path) for path in sorted(folder.glob("*.npy"))])
    found = CrowdClassifier("linear", "agg_net", epochs=2, batch_size=1024, validation=0.05).fit(x, votes)
    right = float((found.result_.posterior.argmax(axis=1) == truth).mean())
    return {"peak": _peak(), "accuracy": right, "tasks": len(truth)}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def job(folder: Path, how: str, memory: int) -> dict:
    """One measurement in a process of its own."""
    told = json.dumps([str(folder), how, memory])
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.learn.streaming", "--job", told]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--quick", action="store_true", help="a twentieth of the features, and no page")
    options.add_argument("--gb", type=float, default=1.0, help="how large the features are")
    options.add_argument("--job")
    given = options.parse_args()
    if given.job:
        folder, how, memory = json.loads(given.job)
        print(json.dumps(fit(Path(folder), how, memory)))
        return
    size = given.gb / (20 if given.quick else 1)
    memory = int(size * 2**30 / 4)
    with tempfile.TemporaryDirectory() as place:
        large, small = Path(place) / "large", Path(place) / "small"
        write(large, size)
        write(small, size / 4)
        found = {
            "the libraries alone": job(large, "libraries", memory),
            "folder, a quarter of the features": job(small, "folder", memory),
            "folder": job(large, "folder", memory),
            "one array in memory": job(large, "in memory", memory),
        }
    text = page(found, size, memory)
    print(text)
    if not given.quick:
        PAGE.write_text(text, encoding="utf-8")


def page(found: dict, size: float, memory: int) -> str:
    """What is written."""
    rows = [
        [
            name,
            f"{one.get('tasks', 0):,}",
            f"{one['peak']:.2f}",
            f"{one.get('accuracy', 0):.3f}",
        ]
        for name, one in found.items()
    ]
    heads = ["features", "tasks", "peak memory (GB)", "accuracy of the labels"]
    more = found["folder"]["peak"] - found["the libraries alone"]["peak"]
    return f"""# Training on more features than memory
`python -m benchmarks.learn.streaming --gb {size:g}` writes this page: {size:g} GB of features ({WIDTH} singles a task,
{FILES} .npy files, seed 0), {EACH} labels a task, `agg_net` with a linear net, two epochs, one thread. At
most {memory / 2**20:.0f} MB of the features may be in memory: they are {size * 2**30 / memory:.0f} times as large.

{figures(heads, rows)}

Training from the folder takes {more:.2f} GB beyond what Python and torch take alone; votes, what is believed of the
tasks, and the net are part of that.
"""


if __name__ == "__main__":
    main()
