"""Planted crowds of label sets: every method, and the estimate with all rates known."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise.kinds.sets.fitting import SetPredictor
from crowdwise.kinds.sets.simulate import PlantedSets, set_crowd
from tests.open_sets.sets import METHODS

ORACLE = "all rates known"


def score(member: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Micro F1 and the share of exact sets."""
    return 2 * (member & truth).sum() / (member.sum() + truth.sum()), (member == truth).all(axis=1).mean()


def one(classes: int, seed: int, told: dict) -> dict[str, tuple[float, float]]:
    """Every method on one crowd of 500 tasks, 60 workers and three answers a task."""
    crowd = PlantedSets(set_crowd(500, 60, classes, per_task=3, seed=seed, **told))
    offered = crowd.planted.offered
    truth = crowd.truth if offered is None else crowd.truth & offered
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (method, params) in METHODS.items():
            found[name] = score(cw.method(method, **params).fit(crowd.votes).member, truth)
    judge = SetPredictor(crowd.planted.rate, crowd.planted.hits, crowd.planted.alarms)
    said = judge.posterior(crowd.votes) >= 0.5
    found[ORACLE] = score(said if offered is None else said & offered, truth)
    return found
