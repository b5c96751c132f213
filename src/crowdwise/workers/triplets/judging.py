"""Who does not look at the items of a triplet, or says the opposite, by places that they had no part in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...aggregate.triplets.crowd_embedding import CrowdEmbedding
from ...maths.alike.abilities import by_habit, by_slopes, folds, some_rows
from ...maths.alike.population import Chances, chances
from ...maths.triplets.embedding import Triplets, closer, embed
from ..alike.judged import LEAST

F8 = npt.NDArray[np.float64]
# Steps of a fit without a fold: places need not be the last digit's.
STEPS = 200


def place_chances(rows: Triplets, side: npt.NDArray[np.integer], dimensions: int) -> Chances:
    """`side` is 0 where left was said to be nearer. Places are fitted without a fold of the workers."""
    m = rows.n_workers
    gap = unseen_gaps(rows, dimensions)
    use = some_rows(rows.worker, m)
    worker, left = rows.worker[use], (side[use] == 0).astype(np.float64)
    # The gap is of the item that was said to be nearer; for "left" it is turned where right was.
    odds = np.where(left > 0, gap[use], -gap[use])
    known = np.bincount(worker, minlength=m) >= LEAST
    return chances(by_slopes(worker, left, odds, m), by_habit(worker, left, m), known)


def unseen_gaps(rows: Triplets, dimensions: int) -> F8:
    """How much closer the near item of each row is, by workers of other folds."""
    out, model = np.zeros(len(rows)), CrowdEmbedding(dimensions=dimensions).model()
    fold = folds(rows.n_workers, len(rows))[rows.worker]
    for f in np.unique(fold).tolist():
        rest, own = rows.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        if len(rest):
            some = rows.take(own)
            place = embed(rest, model, seed=0, starts=1, max_iter=STEPS).place
            out[own] = closer(place, some.head, some.near, some.far, model)
    return out
