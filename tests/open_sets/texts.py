"""The open sets of texts, and scores on them."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl

import crowdwise as cw
from tests.data import data_folder

SETS = {"text_speech": "labels.csv.gz", "text_translate": "labels.csv"}


@cache
def load(name: str) -> tuple[Any, pl.DataFrame]:
    """Votes (of two answers of one worker to one task the last) and the truth."""
    folder = data_folder() / name
    votes = cw.read(folder / SETS[name], kind="texts", duplicates="last")
    return votes, cw.read_truth(folder / "truth.csv")


def scored(method: str, name: str, resamples: int = 0, **params: Any) -> Any:
    """Scores of a method on a set."""
    votes, truth = load(name)
    return cw.evaluate(cw.method(method, **params).fit(votes), truth, resamples=resamples)
