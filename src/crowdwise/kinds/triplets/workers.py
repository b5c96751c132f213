"""Quality and flags of workers who answer triplets, judged by embeddings fitted without their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...stats.abilities import BehaviourPosterior, by_habit, by_slopes, chances, folds, some_rows
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LEAST,
    BehaviourFlags,
    DistanceStudy,
    no_behaviour_flags,
    study_parts,
)
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from .answers import Triplets
from .estimate import TripletWorkers
from .fitting import rows_of
from .maths import TripletRows, closer, embed
from .methods import CrowdEmbedding

F8 = npt.NDArray[np.float64]
# Iterations of the fits without a fold; full convergence is not needed.
STEPS = 200


def place_chances(rows: TripletRows, side: npt.NDArray[np.integer], dimensions: int) -> BehaviourPosterior:
    """Probabilities of random and reversed answers, by embeddings fitted without a fold of the workers.

    `side` is 0 where the answer is left.
    """
    m = rows.n_workers
    gap = unseen_gaps(rows, dimensions)
    use = some_rows(rows.worker, m)
    worker, left = rows.worker[use], (side[use] == 0).astype(np.float64)
    # The gap is that of the chosen item; its sign is flipped where the answer is right.
    odds = np.where(left > 0, gap[use], -gap[use])
    is_judged = np.bincount(worker, minlength=m) >= LEAST
    return chances(by_slopes(worker, left, odds, m), by_habit(worker, left, m), is_judged)


def unseen_gaps(rows: TripletRows, dimensions: int) -> F8:
    """How much closer the near item of each row is, in an embedding by the workers of the other folds."""
    out, model = np.zeros(len(rows)), CrowdEmbedding(dimensions=dimensions).model()
    fold = folds(rows.n_workers, len(rows))[rows.worker]
    for f in np.unique(fold).tolist():
        training, held_out = rows.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        if len(training):
            rows_ = rows.take(held_out)
            place = embed(training, model, seed=0, starts=1, max_iter=STEPS).place
            out[held_out] = closer(place, rows_.head, rows_.near, rows_.far, model)
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

    def worker_tables(self, ends: int) -> list[Table]:
        """Return a table of all workers, or the best and worst `ends` of many by skill."""
        best, worst = best_and_worst(self.quality, ends, "skill")
        parts = {"Workers, by the share of their answers that agree with the embedding": best}
        if len(worst):
            parts = {f"Best workers (the first {ends})": best, f"Worst workers (the last {ends})": worst}
        header = ["worker", "answers", "skill", "95 % interval", "slope", "95 % interval", "flags"]
        return [Table(title, header, [self._line(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _line(self, row: dict[str, Any]) -> list[str]:
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [*_cells(row), ", ".join(names)]


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        str(row["worker"]),
        f"{row['n_labels']:,}",
        number(row["skill"], 2),
        between(row["skill_low"], row["skill_high"], 2),
        number(row["slope"], 2),
        between(row["slope_low"], row["slope_high"], 2),
    ]


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return a header and rows of the best and worst workers by skill."""
    best, worst = best_and_worst(result.worker_table(), limit)
    rows = [_cells(row) for row in best.vstack(worst.reverse()).to_dicts()]
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "skill", "95 % interval", "slope", "95 % interval"], rows


def study_triplets(votes: Votes[Triplets], result: Result, *, gold: Any = None, idle: float = 600.0) -> TripletStudy:
    """Study the workers of a fit of triplets.

    Args:
        votes: The votes.
        result: A result of these votes.
        gold: Ignored.
        idle: Longest time in seconds between two answers that still counts as work.

    Returns:
        The study.
    """
    del gold
    parts = study_parts(votes, result, idle=idle, judge=no_behaviour_flags)
    summary = result.worker_table().drop("n_labels").with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(summary, on="worker", how="left", maintain_order="left")
    flags = list(slope_flags(votes, result))
    is_judged = set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())
    # A triplet has too few answers to detect random or constant workers by agreement; the embedding uses all answers.
    other_flags = [
        f
        for f in parts["flags"]
        if f.name in ("copying", "fast") or (f.name == "unknown" and f.worker not in is_judged)
    ]
    parts["flags"] = flags + other_flags
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
