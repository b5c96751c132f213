"""crowd-kit beside our own on ml_medrel: F1 and CPU seconds."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import crowdwise as cw
from tests.open_sets.sets import CLASSES, f1, known, votes

from ..speed import peers

OURS = {
    "binary_relevance, majority_vote": ("binary_relevance", {"by": "majority_vote"}),
    "binary_relevance, dawid_skene": ("binary_relevance", {"by": "dawid_skene"}),
    "joint_sets (default)": ("joint_sets", {}),
}


def rows() -> list[list[str]]:
    """Both sides; crowd-kit's rows are missing where it cannot be had."""
    out = []
    for name, (method, params) in OURS.items():
        cw.method(method, **params).fit(votes())  # imports and first calls
        began = time.process_time()
        found = cw.method(method, **params).fit(votes())
        out.append(_row(f"crowdwise: {name}", found.member, time.process_time() - began))
    return [*out, *_theirs()]


def _row(name: str, member: np.ndarray, seconds: float) -> list[str]:
    cells = []
    for label in CLASSES:
        at, true, j = known(label)
        cells.append(f"{f1(member[at, j], true):.3f}")
    row = [name, *cells, f"{seconds:.2f}"]
    print(*row, flush=True)
    return row


def _theirs() -> list[list[str]]:
    python = peers.crowd_kit()
    if python is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "votes.jsonl", Path(folder) / "sets.json"
        lists = votes().to_frame().with_columns(pl.col("labels").str.json_decode(pl.List(pl.String)).alias("label"))
        lists.select("task", "worker", "label").write_ndjson(path)
        job = Path(__file__).with_name("jobs.py")
        subprocess.run([python, str(job), str(path), str(out)], check=True)
        found = json.loads(out.read_text(encoding="utf-8"))
    names = votes().answers.classes.to_list()
    rows = []
    for base, told in found.items():
        member = np.array([[name in set(told["sets"].get(task, ())) for name in names] for task in votes().tasks])
        rows.append(_row(f"crowd-kit: BinaryRelevance({base})", member, told["cpu"]))
    return rows
