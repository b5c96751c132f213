"""Ability × easiness: posterior, log-likelihood and its gradient, in plain numpy or compiled.

    P(y_iw = z_i) = sigma(s),  s = ability[w] · exp(easiness[i]),  every wrong label (1 - sigma) / (K - 1)

Because log sigma(s) - log sigma(-s) = s, a vote adds s + log(K - 1) to the score of its label and log sigma(-s) to the
task's constant. With delta = posterior of the label, the derivative with respect to s is delta - sigma(s), without a
sum over classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....core.arrays import F8, I4
from ....em.rows import LabelRows, row_weights
from ....stats.logspace import normalise_rows

# Number of rows from which the compiled kernel pays for its import.
COMPILED_FROM = 50_000


@dataclass(frozen=True)
class Slope:
    """Posterior and log-likelihood, with its derivatives with respect to ability[worker] and easiness[task].

    The bends are minus the second derivatives of the complete-data log-likelihood (Fisher information).
    """

    posterior: F8
    log_likelihood: float
    ability: F8
    easiness: F8
    ability_bend: F8
    easiness_bend: F8


def ability_pass(
    votes: LabelRows, ability: F8, easiness: F8, gold: I4 | None = None, compiled: bool | None = None
) -> Slope:
    """Make one pass over the rows; gold[task] is a class, or n_classes for a task without gold."""
    if votes.n_classes == 1:
        flat = [np.zeros_like(x) for x in (ability, easiness, ability, easiness)]
        return Slope(np.ones((votes.n_tasks, 1)), 0.0, *flat)
    if compiled is None:
        compiled = len(votes) >= COMPILED_FROM
    return _compiled(votes, ability, easiness, gold) if compiled else _plain(votes, ability, easiness, gold)


def _compiled(votes: LabelRows, ability: F8, easiness: F8, gold: I4 | None) -> Slope:
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


def _plain(votes: LabelRows, ability: F8, easiness: F8, gold: I4 | None) -> Slope:
    n, k = votes.n_tasks, votes.n_classes
    ease = np.exp(easiness)[votes.task]
    row_ability = ability[votes.worker]
    s = row_ability * ease
    w = row_weights(votes)
    others = float(np.log(k - 1))
    small = np.exp(-np.abs(s))
    sigma = np.where(s >= 0, 1.0, small) / (1 + small)
    constant = -(w * (np.maximum(s, 0) + np.log1p(small) + others)).sum()  # w · (log sigma(-s) - log(K - 1))
    flat = votes.task.astype(np.int64) * k + votes.label
    score = np.bincount(flat, weights=w * (s + others), minlength=n * k).astype(np.float64).reshape(n, k)
    posterior, norm = normalise_rows(score)
    if gold is not None:
        is_gold = np.flatnonzero(gold < k)
        norm[is_gold] = score[is_gold, gold[is_gold]]
        posterior[is_gold] = np.eye(k)[gold[is_gold]]
    gradient = w * (posterior[votes.task, votes.label] - sigma) * ease
    bend = w * sigma * (1 - sigma) * ease**2
    slopes = [
        np.bincount(codes, weights=rows, minlength=size).astype(np.float64)
        for codes, rows, size in (
            (votes.worker, gradient, len(ability)),
            (votes.task, gradient * row_ability, n),
            (votes.worker, bend, len(ability)),
            (votes.task, bend * row_ability**2, n),
        )
    ]
    return Slope(posterior, float(constant + norm.sum() - n * np.log(k)), *slopes)
