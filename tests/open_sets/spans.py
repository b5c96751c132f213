"""The open set of spans, and scores on it."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import polars as pl

import crowdwise as cw
from tests.data import data_folder

SET = "spans_pico"


@cache
def load() -> tuple[Any, pl.DataFrame]:
    """Votes (texts known where the set has them) and the truth of some tasks."""
    folder = data_folder() / SET
    votes = cw.read(folder / "labels.csv.gz", kind="spans", about_tasks=folder / "text.csv")
    return votes, cw.read_truth(folder / "truth.csv")


def scored(name: str, resamples: int = 0, **params: Any) -> Any:
    """Scores of a method on the set."""
    votes, truth = load()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.evaluate(cw.method(name, **params).fit(votes), truth, resamples=resamples)
