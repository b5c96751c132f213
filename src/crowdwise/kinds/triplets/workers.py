"""Who does not look at the items of a triplet, or says the opposite, by places that they had no part in."""

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
from ...stats.abilities import Chances, by_habit, by_slopes, chances, folds, some_rows
from ...workers.distance_based import ALIKE_FLAGS, LEAST, AlikeStudy, Judged, looked_at, unjudged
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from .answers import Triplets
from .estimate import TripletWorkers
from .fitting import rows_of
from .maths import Triplets as TripletRows
from .maths import closer, embed
from .methods import CrowdEmbedding

F8 = npt.NDArray[np.float64]
# Steps of a fit without a fold: places need not be the last digit's.
STEPS = 200


def place_chances(rows: TripletRows, side: npt.NDArray[np.integer], dimensions: int) -> Chances:
    """`side` is 0 where left was said to be nearer. Places are fitted without a fold of the workers."""
    m = rows.n_workers
    gap = unseen_gaps(rows, dimensions)
    use = some_rows(rows.worker, m)
    worker, left = rows.worker[use], (side[use] == 0).astype(np.float64)
    # The gap is of the item that was said to be nearer; for "left" it is turned where right was.
    odds = np.where(left > 0, gap[use], -gap[use])
    known = np.bincount(worker, minlength=m) >= LEAST
    return chances(by_slopes(worker, left, odds, m), by_habit(worker, left, m), known)


def unseen_gaps(rows: TripletRows, dimensions: int) -> F8:
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


# ----------------------------------------------------------------
# The workers of a fit of triplets: slopes, the share of answers that go with the places, flags.

# Constant: one side in so large a share of so many answers, as unlikely as this by tossing a coin.
ONE_SIDE, UNLIKELY = 0.9, 1e-5


@dataclass(frozen=True, eq=False)
class TripletStudy(AlikeStudy):
    """`quality` has besides what every kind has: skill (answers that go with the places) and slope with intervals."""

    meanings: ClassVar[Mapping[str, str]] = {
        **ALIKE_FLAGS, "adversarial": "says the opposite of what the places say",
    }  # fmt: skip

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the best and the worst of many by skill."""
        best, worst = best_and_worst(self.quality, ends, "skill")
        parts = {"Workers, by the share of their answers that go with the places": best}
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
    """The best and the worst by skill."""
    best, worst = best_and_worst(result.worker_table(), limit)
    rows = [_cells(row) for row in best.vstack(worst.reverse()).to_dicts()]
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "skill", "95 % interval", "slope", "95 % interval"], rows


def study_triplets(votes: Votes[Triplets], result: Result, *, gold: Any = None, idle: float = 600.0) -> TripletStudy:
    """Of triplets; there is no gold for these, `idle` is the longest pause in seconds that is still work."""
    del gold
    parts = looked_at(votes, result, idle=idle, judge=unjudged)
    more = result.worker_table().drop("n_labels").with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(more, on="worker", how="left", maintain_order="left")
    own = list(slope_flags(votes, result))
    judged = set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())
    # Two answers to one triplet are too few to say who is random or constant; the places know all of a worker's.
    kept = [
        f for f in parts["flags"] if f.name in ("copying", "fast") or (f.name == "unknown" and f.worker not in judged)
    ]
    parts["flags"] = own + kept
    return TripletStudy(**parts)


def flag_triplets(votes: Votes[Triplets], result: Result) -> list[Flag]:
    """All flags of a fit."""
    return study_triplets(votes, result).flags


def slope_flags(votes: Votes[Triplets], result: Result) -> list[Flag]:
    """Constant, adversarial and random workers, by how often their answers go with the places."""
    constant = dict(_one_sided(votes))
    picture = result.picture
    assert isinstance(picture, TripletWorkers)
    n = votes.labels_per_worker
    heard = (n >= LEAST) & np.isfinite(picture.skill)
    usual = float(np.median(picture.skill[heard])) if heard.any() else 0.5

    def words(w: int) -> str:
        return f"{picture.skill[w]:.0%} of {n[w]} answers go with the places, where the usual worker has {usual:.0%}"

    dimensions = int(result.extra.get("dimensions", 2))
    found = place_chances(rows_of(votes), votes.answers.side[kept_rows(votes)], dimensions)
    judged = Judged(found, words, "adversarial").flags(votes)
    return [*constant.values(), *(flag for flag in judged if flag.worker not in constant)]


def kept_rows(votes: Votes[Triplets]) -> npt.NDArray[np.int64]:
    """The rows that weigh something."""
    return np.arange(len(votes)) if votes.weight is None else np.flatnonzero(votes.weight > 0)


def _one_sided(votes: Votes[Triplets]) -> Iterator[tuple[Any, Flag]]:
    from scipy.stats import binom

    n = votes.labels_per_worker
    left = np.bincount(votes.worker, weights=votes.answers.side == 0, minlength=votes.n_workers)
    for w in np.flatnonzero(n >= LEAST).tolist():
        most = max(left[w], n[w] - left[w])
        if most >= ONE_SIDE * n[w] and 2 * binom.sf(most - 1, n[w], 0.5) < UNLIKELY:
            said = "left" if left[w] == most else "right"
            words = f"says {said} in {most:.0f} of {n[w]} answers"
            yield votes.workers[w], Flag(votes.workers[w], "constant", evidence=words, of="triplets")
