"""Who does not look at the pairs, or says the opposite, by clusters that they had no part in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...maths.alike.abilities import by_answers, by_habit, folds, some_rows
from ...maths.alike.population import Chances, chances
from ...maths.similarities.mean_field import mean_field, together
from ...maths.similarities.pairs import Pairs
from ...maths.similarities.partitions import from_partitions
from ..alike.judged import LEAST

F8 = npt.NDArray[np.float64]
# Answers that draw a worker's coins to the crowd's; passes from the clusters that were found.
STRENGTH, PASSES = 10.0, 30
# Pairs of one partition are one decision: each counts as so many answers.
OF_PARTITIONS = 0.3


def coin_chances(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> Chances:
    """The chance that a pair is the same comes from clusters fitted without a fold of the workers; the usual worker has
    the crowd's middle coins."""
    usual = unseen_same(pairs, cluster, k)
    use = some_rows(pairs.worker, pairs.n_workers)
    worker, yes = pairs.worker[use], pairs.same[use]
    known = np.bincount(worker, minlength=pairs.n_workers) >= LEAST
    habit = np.full(len(use), float(yes.mean()) if len(use) else 0.5)
    less = OF_PARTITIONS if from_partitions(pairs) else 1.0
    loglik = by_answers(worker, yes, usual[use], habit, pairs.n_workers)
    return chances(less * loglik, less * by_habit(worker, yes, pairs.n_workers), known)


def unseen_same(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> F8:
    """The chance that the usual worker says "same" to each row, by workers of other folds."""
    out = np.full(len(pairs), 0.5)
    fold = folds(pairs.n_workers, len(pairs))[pairs.worker]
    for f in np.unique(fold).tolist():
        rest, own = pairs.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        if not len(rest):
            continue
        found = mean_field(rest, cluster, k, strength=STRENGTH, max_iter=PASSES, tol=1e-5)
        heard = np.bincount(rest.worker, minlength=pairs.n_workers) > 0
        hit, rejection = (float(np.median(each[heard])) for each in (found.coins.hit, found.coins.rejection))
        same = together(pairs.take(own), found.belief)
        out[own] = same * hit + (1 - same) * (1 - rejection)
    return out
