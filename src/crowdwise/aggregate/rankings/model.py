"""What a fit of rankings has learnt of its workers, used on other tasks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...engine.ascent import Point, climb
from ...kinds.rankings.answers import Rankings
from ...kinds.rankings.rows import rows_of
from ...maths.rankings.fit import RankFit
from ...maths.rankings.plackett_luce import PlackettLuce as Objective
from ..strangers import Policy, refuse_strangers
from .base import as_rankings
from .plackett_luce import PlackettLuce


def infer(result: Result, votes: Votes[Rankings], unknown_workers: Policy) -> Result:
    """Orders of other tasks from the same workers' rankings, their temperatures held fixed."""
    votes = as_rankings(votes)
    picture: Any = result.picture
    if not np.isfinite(picture.temperature).any():
        raise DataError(f"{result.method} keeps nothing of its workers to infer by; fit plackett_luce, or fit again")
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    heat = np.where(known, picture.temperature[old], np.nan)
    heat = np.where(np.isfinite(heat), heat, np.nanmean(picture.temperature))
    method = PlackettLuce(level=float(result.params.get("level", 0.95)))
    rows, items = rows_of(votes)
    objective = Objective(rows, float(result.params.get("strength", method.strength)), 0.0, heat)
    found = climb(lambda x: Point(*objective(x)), objective.start(), max_iter=method.max_iter, tol=method.tol)
    score, _ = objective.parts(found.x)
    fit = RankFit(score, objective.blocks(found.x), heat, trace=found.trace, n_iter=found.n_iter)
    return method.result(votes, rows, items, fit, None)
