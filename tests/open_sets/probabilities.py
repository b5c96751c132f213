"""Probabilities on the open set."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from tests.data import data_folder

SET = "prob_knowledge"


def load(k: int | None = None, seed: int = 0) -> tuple[cw.Votes, object]:
    """The votes, or at most k of each task drawn by seed, and the outcomes."""
    folder = data_folder() / SET
    votes = cw.read(folder / "labels.csv", kind="probabilities")
    if k is not None:
        order = np.lexsort((np.random.default_rng(seed).random(len(votes)), votes.task))
        begin = np.searchsorted(votes.task, np.arange(votes.n_tasks))
        place = np.arange(len(votes)) - begin[votes.task]
        votes = votes.take(np.sort(order[place < k]))
    return votes, cw.read_truth(folder / "truth.csv")


def scored(name: str, votes: cw.Votes, truth: object) -> tuple[float, float, float]:
    """Brier score, accuracy and log-loss."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = cw.evaluate(cw.method(name).fit(votes), truth)
    return found.brier, found.accuracy, found.log_loss
