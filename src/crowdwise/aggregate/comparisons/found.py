"""From scores of items to an estimate: intervals and places, the outcome of every pair; and the workers' picture."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.estimate import ComparisonEstimate, ComparisonWorkers
from ...kinds.comparisons.rows import sides_of_tasks
from ...maths.comparisons.fit import PairFit, outcome
from ...maths.comparisons.leaderboard import places
from ...maths.comparisons.reliability import reliability
from ...maths.comparisons.rows import PairRows

F8 = npt.NDArray[np.float64]


def estimate_of(
    votes: Votes[Comparisons], rows: PairRows, fit: PairFit, known: Any, level: float, seed: int
) -> ComparisonEstimate:
    """Scores with intervals and places that hold with the chance `level`, and who wins each task's pair."""
    from scipy.stats import norm

    left, right = sides_of_tasks(votes)
    heard = left >= 0
    chance = np.full((votes.n_tasks, 3), 1 / 3)
    chance[heard] = outcome(fit.score, left[heard], right[heard], fit.tie_level, fit.tie_spread)
    if known is not None:
        chance = known.clamped(chance, left)
    se = np.full(rows.n_items, np.nan)
    place = np.ones((3, rows.n_items), dtype=np.int64)
    asked = rows.asked > 0
    place[1] = np.bincount(rows.component, minlength=1)[rows.component] if rows.n_items else 1
    if fit.blocks is not None and rows.n_items:
        for block in fit.blocks:
            se[block.members] = np.sqrt(block.variance)
        found = places(fit.score, fit.blocks, level, seed)
        place = np.stack([found.rank_low, found.rank_high, found.group])
    se = np.where(asked, se, np.nan)
    half = float(norm.ppf((1 + level) / 2)) * se
    counts = np.bincount(np.concatenate([rows.left, rows.right]), minlength=rows.n_items)
    return ComparisonEstimate(
        score=fit.score,
        se=se,
        score_low=fit.score - half,
        score_high=fit.score + half,
        rank_low=place[0],
        rank_high=place[1],
        group=place[2],
        component=rows.component,
        n_asked=counts.astype(np.int64),
        left=left,
        right=right,
        chance=chance,
        items=votes.answers.items,
    )


def picture_of(votes: Votes[Comparisons], rows: PairRows, fit: PairFit) -> ComparisonWorkers:
    """How far each worker follows the scores, and what else the fit says of them; NaN for who said nothing."""
    judged = reliability(rows, fit.score)
    silent = votes.labels_per_worker == 0
    trust = {"reliability": judged.mean, "reliability_low": judged.low, "reliability_high": judged.high}
    own = {name: _cut(getattr(fit, name), votes.n_workers) for name in ("slope", "position", "tie")}
    return ComparisonWorkers(**{name: np.where(silent, np.nan, value) for name, value in (trust | own).items()})


def _cut(values: F8 | None, m: int) -> F8:
    """Without the worker that is gold."""
    return np.full(m, np.nan) if values is None else values[:m]
