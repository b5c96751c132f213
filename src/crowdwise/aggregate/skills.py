"""The workers' skills of a fit, judged from two sides: by what the method believes, and by what the votes say.

No posterior is taken at its word. The shares of a vote are no probabilities and hold the worker's own vote; matrices
with more cells than labels are unsure of everything, or sure of what is wrong. So workers are judged by two passes of
EM, with confusions held to the crowd's, once from the method's posterior and once from the votes. Whichever makes the
labels more probable gives the skill, and the interval holds what both say. A method that knows better (the committee)
brings its own sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..engine.selection import shrunk
from ..kinds.classes.annotations import Annotations
from ..maths.kernels import Workspace, accumulate, stats_of
from ..maths.logspace import shares
from ..maths.skill import Skill, widest, worker_skill
from .cost import too_thin
from .gold import Gold

F8 = npt.NDArray[np.float64]

PASSES = 2
# A class that no task is taken for may still be true.
LEAST = 1e-6


def skills(annotations: Annotations, views: Sequence[F8], gold: Gold | None) -> Skill:
    """Skill by the first posterior[task, class], with an interval that holds those of all."""
    known = None if gold is None else gold.mask[annotations.task]
    found = []
    for posterior in views:
        right = np.empty(len(annotations))  # posterior[task, label] of every row
        for lo in range(0, len(right), 1 << 20):  # in blocks: numpy copies the indices
            rows = slice(lo, lo + (1 << 20))
            right[rows] = posterior[annotations.task[rows], annotations.label[rows]]
        found.append(worker_skill(annotations.worker, right, annotations.n_workers, annotations.weight, known))
    return widest(found)


def sides(annotations: Annotations, posterior: F8, own: Sequence[F8], gold: Gold | None) -> tuple[F8, ...]:
    """The posteriors that judge the workers, the one to believe first; `own` are those that the method brings."""
    if own or too_thin(annotations):  # or matrices would be far larger than what they are learnt from
        return tuple(own) or (posterior,)
    space = Workspace.of(annotations, None if gold is None else gold.label)
    start = shares(annotations.votes)
    start = start if gold is None else gold.clamp(start)
    vote, votes_fit = sharpened(annotations, space, start)
    if np.array_equal(posterior, start):
        return (vote,)
    mine, my_fit = sharpened(annotations, space, posterior)
    margin = 1e-9 * abs(my_fit)  # the order of a sum must not decide
    return (vote, mine) if votes_fit > my_fit + margin else (mine, vote)


def sharpened(annotations: Annotations, space: Workspace, posterior: F8) -> tuple[F8, float]:
    """What confusions make of a posterior, and how likely the labels are by it."""
    heard = annotations.labels_per_task > 0  # tasks without labels have no say in what classes are common
    stats, fit = stats_of(space, posterior), 0.0
    for _ in range(PASSES if heard.any() else 0):
        prior = posterior[heard].mean(axis=0) + LEAST
        stats, fit = accumulate(space, shrunk(stats.counts), prior / prior.sum())
        assert space.memory.last is not None
        posterior = space.memory.last
    return posterior.copy(), fit
