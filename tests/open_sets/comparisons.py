"""The open sets of comparisons: votes, and what is known of the items."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import kendalltau

import crowdwise as cw
from crowdwise.kinds.comparisons.answers import Comparisons
from tests.data import data_folder

SETS = ("pair_reading", "convarg")


@cache
def load(name: str) -> Any:
    """The votes; the two workers of pair_reading who contradict themselves keep both answers."""
    folder = data_folder() / name
    path = folder / "labels.csv"
    return cw.read(path if path.is_file() else folder / "labels.csv.gz", duplicates="keep")


@cache
def item_truth(name: str) -> pl.DataFrame:
    """item, score; convarg's rank scores are better the smaller they are."""
    folder = data_folder() / name
    if name == "pair_reading":
        return pl.read_csv(folder / "truth.csv")
    return pl.read_csv(folder / "text.csv").select("item", (-pl.col("rank_score")).alias("score"))


@cache
def pair_truth(name: str) -> pl.DataFrame:
    """task, label of the pairs whose gold winner the source knows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.LedgerWarning)  # pairs without a gold winner are left out
        return cw.read_truth(data_folder() / name / "truth.csv")


def kendall(result: Any, truth: pl.DataFrame) -> float:
    """Mean over components of Kendall's tau-b with the truth."""
    known = dict(truth.drop_nulls().iter_rows())
    y = np.array([known.get(item, np.nan) for item in result.items.to_list()], dtype=float)
    return mean_tau(result.score, y, result.component)


def mean_tau(score: np.ndarray, truth: np.ndarray, component: np.ndarray) -> float:
    """The same from arrays."""
    taus = []
    for island in np.unique(component):
        own = (component == island) & np.isfinite(truth)
        if own.sum() > 1:
            taus.append(kendalltau(score[own], truth[own]).statistic)
    return float(np.nanmean(taus))


def spammed(seed: int) -> Any:
    """convarg with 30 % of the workers tossing a coin and 10 % reversed."""
    votes = load("convarg")
    rng = np.random.default_rng(seed)
    m = votes.n_workers
    kind = rng.permutation(np.repeat([1, 2, 0], [int(0.3 * m), int(0.1 * m), m - int(0.3 * m) - int(0.1 * m)]))
    said, who = votes.answers.outcome, kind[votes.worker]
    turned = np.array([1, 0, 2])[said]
    outcome = np.where(who == 1, rng.integers(0, 2, len(said)), np.where(who == 2, turned, said)).astype(np.int8)
    own = votes.answers
    return replace(votes, answers=Comparisons(own.left, own.right, outcome, own.items))
