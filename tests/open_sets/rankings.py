"""The open sets of rankings."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

import crowdwise as cw
from tests.data import data_folder

SETS = ("rank_facts", "rank_dots", "rank_puzzle")


@cache
def load(name: str) -> Any:
    """The votes."""
    return cw.read(data_folder() / name / "labels.csv", kind="rankings")


@cache
def truth(name: str) -> pl.DataFrame:
    """task, label: the true order."""
    return cw.read_truth(data_folder() / name / "truth.csv")


def few_voters(name: str, k: int, method: str, seed: int) -> float:
    """Kendall's tau of a method on k rankings of each list, drawn by seed."""
    votes = load(name)
    rng = np.random.default_rng(seed)
    rows = [rng.choice(np.arange(a, b), min(k, b - a), replace=False)
            for a, b in zip(votes.task_offsets[:-1], votes.task_offsets[1:], strict=True)]  # fmt: skip
    some = votes.take(np.sort(np.concatenate(rows)))
    return cw.evaluate(cw.method(method).fit(some), truth(name)).kendall
