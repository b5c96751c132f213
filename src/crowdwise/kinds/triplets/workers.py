"""Quality and flags of workers who answer triplets, judged by embeddings fitted without their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8
from ...core.result import Result
from ...core.votes import Votes
from ...stats.abilities import BehaviourPosterior, by_habit, by_slopes, chances, some_rows, worker_folds
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LEAST,
    BehaviourFlags,
    DistanceStudy,
    judged_workers,
    no_behaviour_flags,
    study_parts,
    with_summary,
)
from ...workers.flags import Flag
from ...workers.studied import BEST_AND_WORST, between, number
from ...workers.tables import WorkerRows, end_rows
from .answers import Triplets
from .estimate import TripletWorkers
from .fitting import rows_of
from .maths import TripletRows, closer, embed
from .methods import CrowdEmbedding

# Iterations of the fits without a fold; full convergence is not needed.
STEPS = 200


def place_chances(rows: TripletRows, side: npt.NDArray[np.integer], dimensions: int) -> BehaviourPosterior:
    """Probabilities of random and reversed answers, by embeddings fitted without a fold of the workers.

    `side` is 0 where the answer is left.
    """
    m = rows.n_workers
    gap = held_out_gaps(rows, dimensions)
    use = some_rows(rows.worker, m)
    worker, left = rows.worker[use], (side[use] == 0).astype(np.float64)
    # The gap is that of the chosen item; its sign is flipped where the answer is right.
    odds = np.where(left > 0, gap[use], -gap[use])
    is_judged = np.bincount(worker, minlength=m) >= LEAST
    return chances(by_slopes(worker, left, odds, m), by_habit(worker, left, m), is_judged)


def held_out_gaps(rows: TripletRows, dimensions: int) -> F8:
    """How much closer the near item of each row is, in an embedding by the workers of the other folds."""
    out, model = np.zeros(len(rows)), CrowdEmbedding(dimensions=dimensions).model()
    for training, held_out in worker_folds(rows.worker, rows.n_workers):
        if len(training):
            place = embed(rows.take(training), model, seed=0, starts=1, max_iter=STEPS).place
            out[held_out] = closer(place, rows.head[held_out], rows.near[held_out], rows.far[held_out], model)
    return out


# ----------------------------------------------------------------
# The study of the workers of a fit: slopes, agreement with the embedding, flags.

# Constant workers: minimum share of answers on one side, and largest p-value against tossing a coin.
ONE_SIDE, UNLIKELY = 0.9, 1e-5


@dataclass(frozen=True, eq=False)
class TripletStudy(DistanceStudy):
    """Study of workers who answer triplets.

    Besides the columns of `DistanceStudy`, `quality` has `skill` (share of answers that agree with the embedding) and
    `slope` with intervals.
    """

    meanings: ClassVar[Mapping[str, str]] = {
        **DISTANCE_FLAGS, "adversarial": "answers the opposite of the embedding",
    }  # fmt: skip

    RANKED_BY: ClassVar[str] = "skill"
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by the share of their answers that agree with the embedding", *BEST_AND_WORST,
    )  # fmt: skip
    HEADER: ClassVar[tuple[str, ...]] = ("worker", "answers", "skill", "95 % interval", "slope", "95 % interval")

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return _cells(row)


def _cells(row: dict[str, Any]) -> list[str]:
    scores = [
        text
        for name in ("skill", "slope")
        for text in (number(row[name], 2), between(row[f"{name}_low"], row[f"{name}_high"], 2))
    ]
    return [str(row["worker"]), f"{row['n_labels']:,}", *scores]


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Return a header and rows of the best and worst workers by skill."""
    return end_rows(result.worker_table(), limit, "skill", list(TripletStudy.HEADER), _cells)


def study_triplets(votes: Votes[Triplets], result: Result, *, gold: Any = None, idle: float = 600.0) -> TripletStudy:
    """Study the workers of a fit of triplets; arguments as in `study_by_distance`. `gold` is ignored."""
    del gold
    parts = study_parts(votes, result, idle=idle, judge=no_behaviour_flags)
    parts["quality"] = with_summary(parts["quality"], result.worker_table())
    judged = judged_workers(votes)
    # A triplet has too few answers to detect random or constant workers by agreement; the embedding uses all answers.
    parts["flags"] = slope_flags(votes, result) + [
        flag
        for flag in parts["flags"]
        if flag.name in ("copying", "fast") or (flag.name == "unknown" and flag.worker not in judged)
    ]
    return TripletStudy(**parts)


def flag_triplets(votes: Votes[Triplets], result: Result) -> list[Flag]:
    """Return all flags of a fit of triplets."""
    return study_triplets(votes, result).flags


def slope_flags(votes: Votes[Triplets], result: Result) -> list[Flag]:
    """Return flags of constant, adversarial and random workers, by the agreement of answers with the embedding."""
    constant = dict(_one_sided(votes))
    summary = result.worker_summary
    assert isinstance(summary, TripletWorkers)
    n = votes.labels_per_worker
    active = (n >= LEAST) & np.isfinite(summary.skill)
    usual = float(np.median(summary.skill[active])) if active.any() else 0.5

    def words(w: int) -> str:
        return f"{summary.skill[w]:.0%} of {n[w]} answers agree with the embedding; the median worker has {usual:.0%}"

    dimensions = int(result.extra.get("dimensions", 2))
    chances_ = place_chances(rows_of(votes), votes.answers.side[kept_rows(votes)], dimensions)
    judged_flags = BehaviourFlags(chances_, words, "adversarial").flags(votes)
    return [*constant.values(), *(flag for flag in judged_flags if flag.worker not in constant)]


def kept_rows(votes: Votes[Triplets]) -> npt.NDArray[np.int64]:
    """Return the rows of positive weight."""
    return np.arange(len(votes)) if votes.weight is None else np.flatnonzero(votes.weight > 0)


def _one_sided(votes: Votes[Triplets]) -> Iterator[tuple[Any, Flag]]:
    from scipy.stats import binom

    n = votes.labels_per_worker
    left = np.bincount(votes.worker, weights=votes.answers.side == 0, minlength=votes.n_workers)
    for w in np.flatnonzero(n >= LEAST).tolist():
        most = max(left[w], n[w] - left[w])
        if most >= ONE_SIDE * n[w] and 2 * binom.sf(most - 1, n[w], 0.5) < UNLIKELY:
            side = "left" if left[w] == most else "right"
            words = f"answers {side} in {most:.0f} of {n[w]} answers"
            yield votes.workers[w], Flag(votes.workers[w], "constant", evidence=words, of="triplets")
