"""Binary crowds of which some workers guess."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.workers.quality import spammer_flags

HONEST, GUESSERS, PER_TASK = 18, 6, 10


def crowd(labels: int, prior: tuple[float, ...] | None, seed: int) -> cw.Annotations:
    """A binary crowd whose last workers guess."""
    groups = [simulate.OneCoin(HONEST, low=0.7, high=0.9), simulate.Guesser(GUESSERS)]
    tasks = round(labels * (HONEST + GUESSERS) / PER_TASK)
    return simulate.crowd(tasks, 2, groups, simulate.PerTask(PER_TASK), class_prior=prior, seed=seed).annotations


def flagged(votes: cw.Annotations) -> np.ndarray:
    """Who is flagged as guessing."""
    flags = spammer_flags(votes, cw.method("hierarchical").fit(votes))
    named = [flag.worker for flag in flags if flag.name in ("constant", "random")]
    return np.isin(votes.workers.to_numpy(), named)
