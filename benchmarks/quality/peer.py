"""crowd-kit's cells: one process in its own environment does them all, smallest sets first."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import numpy as np

from .. import ROOT
from ..speed import peers
from . import cells, sets
from .score import hits, score

METHODS = ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene", "GLAD", "MACE", "KOS", "MMSR")
# CPU seconds after which a fit is ended; larger sets are then not tried.
LIMIT = 30


def run(names: list[str], *, fresh: bool) -> list[dict[str, Any]]:
    """Rows of every method on every set, or none where crowd-kit cannot be had."""
    python = peers.crowd_kit()
    if python is None:
        return []
    build = (peers.crowd_kit_versions() or {})["crowd-kit"]
    rows = []
    order = sorted(names, key=lambda name: len(sets.load(name).annotations))
    with _Process(python) as process:
        for method in METHODS:
            ended = ""
            for name in order:
                key = {"side": "crowd-kit", "method": method, "set": name, "version": build, "limit": LIMIT}
                row = cells.cell("fits", key, lambda m=method, n=name, e=ended: _cell(process, m, n, e), fresh=fresh)
                if "CPU s, ended" in row.get("error", ""):
                    ended = name
                rows.append(row)
                print("crowd-kit", method, name, row.get("accuracy", row.get("error")), flush=True)
    return rows


def _cell(process: _Process, method: str, name: str, ended: str) -> dict[str, Any]:
    if ended:
        return {"error": f"not tried: over {LIMIT} CPU s on {ended}, which is smaller"}
    out = cells.HOME / "peer.npy"
    path = sets.export(name, cells.HOME / "sets")
    answer = process.ask({"method": method, "path": str(path), "seed": 0, "out": str(out)})
    if "error" in answer:
        return answer
    stored = np.load(out)
    truth = sets.load(name).truth
    if stored.ndim == 2:
        return {**answer, **score(stored, truth)}
    return {**answer, **hits(stored, truth)}


class _Process:
    """Started at the first question: a run from the cache needs none."""

    def __init__(self, python: str) -> None:
        self.command = [python, "-m", "benchmarks.quality.jobs.crowdkit", str(LIMIT)]
        self.process: subprocess.Popen[str] | None = None

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        if self.process is None:
            env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("@@"):
                return json.loads(line[2:])
        code = self.process.wait()
        self.process = None
        return {"error": f"the process ended with code {code} (memory?)"}

    def __enter__(self) -> _Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
