"""Who does not look at the items they compare, or prefers the worse, by scores that they had no part in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...aggregate.comparisons.crowd_bt import CrowdBT
from ...maths.alike.abilities import by_answers, by_habit, folds, some_rows
from ...maths.alike.population import Chances, chances
from ...maths.comparisons.rows import TIE, PairRows
from ..alike.judged import LEAST

F8 = npt.NDArray[np.float64]


def pair_chances(rows: PairRows) -> Chances:
    """From the answers that name a winner: the scores of `crowd_bt`, fitted without a fold of the workers, say how
    often the usual worker takes the left item."""
    gap = unseen_gaps(rows)
    use = np.flatnonzero((rows.outcome != TIE) & (rows.weights > 0))
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    worker, left = rows.worker[use], (rows.outcome[use] == 0).astype(np.float64)
    usual = 1 / (1 + np.exp(-np.clip(gap[use], -30, 30)))
    habit = np.full(len(use), float(left.mean()) if len(use) else 0.5)
    known = np.bincount(worker, minlength=rows.n_workers) >= LEAST
    loglik = by_answers(worker, left, usual, habit, rows.n_workers)
    return chances(loglik, by_habit(worker, left, rows.n_workers), known)


def unseen_gaps(rows: PairRows) -> F8:
    """Left minus right score of every row, by workers of other folds."""
    out = np.zeros(len(rows))
    fold = folds(rows.n_workers, len(rows))[rows.worker]
    for f in np.unique(fold).tolist():
        rest, own = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        some = replace(
            rows, left=rows.left[rest], right=rows.right[rest], outcome=rows.outcome[rest], worker=rows.worker[rest],
            weight=None if rows.weight is None else rows.weight[rest],
        )  # fmt: skip
        if (some.outcome[some.weights > 0] != TIE).any():
            score = CrowdBT().solve(some, None).score
            out[own] = score[rows.left[own]] - score[rows.right[own]]
    return out
