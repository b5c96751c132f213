"""Ability × easiness: posterior, log-likelihood and its gradient, in plain numpy or compiled.

    P(y_iw = z_i) = sigma(s),  s = ability[w] · exp(easiness[i]),  every wrong label (1 - sigma) / (K - 1)

As log sigma(s) - log sigma(-s) = s, a vote adds s + log(K - 1) to the score of its label and log sigma(-s) to the
task's constant. With delta = posterior of the label, the derivative by s is delta - sigma(s): no sum over classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ....em.rows import LabelRows
from ....stats.logspace import normalise_rows

F8 = npt.NDArray[np.float64]
# Rows from which the compiled kernel pays for its import.
COMPILED_FROM = 50_000


@dataclass(frozen=True)
class Slope:
    """Posterior and log-likelihood with its derivatives by ability[worker] and easiness[task].

    The bends are minus the second derivatives, had the truth been seen (Fisher information).
    """

    posterior: F8
    log_likelihood: float
    ability: F8
    easiness: F8
    ability_bend: F8
    easiness_bend: F8


def ability_pass(
    votes: LabelRows,
    ability: F8,
    easiness: F8,
    gold: npt.NDArray[np.int32] | None = None,
    compiled: bool | None = None,
) -> Slope:
    """One pass over the rows; gold[task] is a class, or n_classes where the truth is not known."""
    if votes.n_classes == 1:
        flat = [np.zeros_like(x) for x in (ability, easiness, ability, easiness)]
        return Slope(np.ones((votes.n_tasks, 1)), 0.0, *flat)
    if compiled is None:
        compiled = len(votes) >= COMPILED_FROM
    return _compiled(votes, ability, easiness, gold) if compiled else _plain(votes, ability, easiness, gold)


def _compiled(votes: LabelRows, ability: F8, easiness: F8, gold: npt.NDArray[np.int32] | None) -> Slope:
    from .ability_kernels import sweep

    posterior = np.empty((votes.n_tasks, votes.n_classes))
    slopes = [np.zeros_like(x) for x in (ability, easiness, ability, easiness)]
    total = sweep(
        votes.task_offsets,
        votes.worker,
        votes.label,
        np.empty(0) if votes.weight is None else votes.weight,
        np.empty(0, dtype=np.int32) if gold is None else gold,
        ability,
        easiness,
        posterior,
        *slopes,
    )
    return Slope(posterior, float(total), *slopes)


def _plain(votes: LabelRows, ability: F8, easiness: F8, gold: npt.NDArray[np.int32] | None) -> Slope:
    n, k = votes.n_tasks, votes.n_classes
    ease = np.exp(easiness)[votes.task]
    mine = ability[votes.worker]
    s = mine * ease
    w = np.ones(len(s)) if votes.weight is None else votes.weight
    others = float(np.log(k - 1))
    small = np.exp(-np.abs(s))
    sigma = np.where(s >= 0, 1.0, small) / (1 + small)
    constant = -(w * (np.maximum(s, 0) + np.log1p(small) + others)).sum()  # w · (log sigma(-s) - log(K - 1))
    flat = votes.task.astype(np.int64) * k + votes.label
    score = np.bincount(flat, weights=w * (s + others), minlength=n * k).astype(np.float64).reshape(n, k)
    posterior, norm = normalise_rows(score)
    if gold is not None:
        known = np.flatnonzero(gold < k)
        norm[known] = score[known, gold[known]]
        posterior[known] = np.eye(k)[gold[known]]
    pull = w * (posterior[votes.task, votes.label] - sigma) * ease
    bend = w * sigma * (1 - sigma) * ease**2
    slopes = [
        np.bincount(codes, weights=rows, minlength=size).astype(np.float64)
        for codes, rows, size in (
            (votes.worker, pull, len(ability)),
            (votes.task, pull * mine, n),
            (votes.worker, bend, len(ability)),
            (votes.task, bend * mine**2, n),
        )
    ]
    return Slope(posterior, float(constant + norm.sum() - n * np.log(k)), *slopes)
