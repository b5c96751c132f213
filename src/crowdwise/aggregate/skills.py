"""The workers' skills of a fit: judged by what the method believes, once or from several sides.

A method with confusion matrices has its workers' accuracies at a fixed point of EM, and its posterior judges them. A
vote does not: its shares are no probabilities, and they hold the worker's own vote. So workers are then judged by two
passes of EM from the vote, with confusions held to the crowd's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..annotations import Annotations
from ..engine.selection import STRENGTH, reading
from ..engine.thin import ThinReading, is_thin
from ..maths.kernels import Workspace, em_pass
from ..maths.skill import Skill, widest, worker_skill
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


def sharpened(annotations: Annotations, posterior: F8, gold: Gold | None) -> F8:
    """What confusions make of a vote."""
    space = Workspace.of(annotations, None if gold is None else gold.label)
    heard = annotations.labels_per_task > 0  # tasks without labels have no say in what classes are common
    for _ in range(PASSES if heard.any() else 0):
        prior = (posterior if heard.all() else posterior[heard]).mean(axis=0) + LEAST
        prior /= prior.sum()
        if is_thin(annotations):
            posterior = ThinReading(annotations, posterior, STRENGTH).posterior_under(prior, space.gold)
        else:
            posterior = em_pass(space, reading(annotations, posterior), prior).posterior.copy()
    return posterior
