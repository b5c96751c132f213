"""The same as ppi-python 0.2.3: 1,000 random inputs, two-sided with its own lambda, one-sided with a given one."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

from crowdwise.evaluation.guarantee.estimators import ppi_plus_plus

from ..environments import Environment

RUNS = 1000
PPI = Environment("ppi", packages=("ppi-python==0.2.3",), module="ppi_py")
Z, ONE_SIDED = 1.959963984540054, 1.6448536269514722


def inputs(i: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Labels, predictions, predictions without labels, lambda: classes and numbers in turn."""
    rng = np.random.default_rng([31, i])
    n, more = int(rng.integers(12, 300)), int(rng.integers(20, 3000))
    if i % 2:
        y = rng.random(n + more) < rng.uniform(0.1, 0.9)
        y[:2] = True, False
        f = np.where(rng.random(n + more) < rng.uniform(0.5, 1), y, ~y).astype(float)
    else:
        f = rng.normal(size=n + more)
        y = rng.normal() * f + rng.uniform(0.1, 2) * rng.normal(size=n + more)
    return y[:n].astype(float), f[:n], f[n:], float(rng.random())


def ours(y: np.ndarray, f: np.ndarray, more: np.ndarray, lam: float) -> list[float]:
    value, error, _ = ppi_plus_plus(y, f, more)
    given, error_given, _ = ppi_plus_plus(y, f, more, lam=lam)
    return [value, value - Z * error, value + Z * error, given - ONE_SIDED * error_given]


def peer_rows(runs: int = RUNS) -> list[list[str]]:
    if not PPI.ready():
        return [["ppi-python could not be installed", "–"]]
    drawn = [inputs(i) for i in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        stored = {f"{name}{i}": part for i, each in enumerate(drawn)
                  for name, part in zip(("y", "f", "more", "lam"), each, strict=True)}  # fmt: skip
        np.savez(Path(folder) / "in.npz", runs=runs, **stored)
        job = Path(__file__).parent / "jobs" / "ppi.py"
        subprocess.run([str(PPI.python), str(job), f"{folder}/in.npz", f"{folder}/out.npy"], check=True)
        theirs = np.load(Path(folder) / "out.npy")
    off = np.abs(theirs - np.array([ours(*each) for each in drawn])).max(axis=0)
    names = ("value", "lower end", "upper end", "one-sided lower end, lambda given")
    rows = [[name, f"{x:.1e}"] for name, x in zip(names, off, strict=True)]
    print(*rows, flush=True)
    return rows
