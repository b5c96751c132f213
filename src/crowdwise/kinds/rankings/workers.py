"""Workers who rank: their agreement with the estimates, and flags of reversed and random workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.arrays import F8
from ...core.result import Result
from ...core.votes import Votes
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LITTLE,
    BehaviourFlags,
    DistanceStudy,
    no_behaviour_flags,
    study_parts,
    with_first_columns,
)
from ...workers.flags import Flag
from ...workers.studied import number
from ...workers.tables import interval_cells
from .answers import Rankings, rows_of
from .maths import RankRows, WorkerTau, agreement, heat_chances, places_by_others

FLAGS = {
    "reversed": "ranks in reverse order, perhaps with the worst first",
    "random": "the rankings do not follow those of the other workers",
    **{name: words for name, words in DISTANCE_FLAGS.items() if name in ("constant", "copying", "fast", "unknown")},
}
# Pairs of items in a worker's rankings that are needed to judge the worker.
PAIRS = 15


@dataclass(frozen=True, eq=False)
class RankingStudy(DistanceStudy):
    """Study of workers who rank.

    Columns of `quality` beside those of every kind: agreement (mean Kendall's tau with the estimates) with _low and
    _high (95 %), temperature and dispersion where the method has them.
    """

    meanings: ClassVar[Mapping[str, str]] = FLAGS
    RANKED_BY: ClassVar[str] = "agreement"
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by agreement with the estimates",
        "Workers with the highest agreement {ends}",
        "Workers with the lowest agreement {ends}",
    )
    HEADER: ClassVar[tuple[str, ...]] = (
        "worker", "rankings", "agreement", "95 % interval", "-1 to 1", "temperature", "apart",
    )  # fmt: skip

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        more = [number(row[name], 2) for name in ("temperature", "apart")]
        return [str(row["worker"]), f"{row['n_labels']:,}", *interval_cells(row, "agreement", -1.0), *more]


def study_rankings(votes: Votes[Rankings], result: Result, *, gold: Any = None, idle: float = 600.0) -> RankingStudy:
    """Study the workers of a fit of rankings; arguments as in `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle, judge=no_behaviour_flags)
    votes = parts["votes"]
    rows, _ = rows_of(votes)
    places = places_by_others(rows)
    tau = agreement(rows, places)
    summary = result.worker_summary
    parts["quality"] = with_first_columns(parts["quality"], {name: getattr(summary, name) for name in summary.rules})
    others = [flag for flag in parts["flags"] if flag.name in ("constant", "copying", "fast")]
    parts["flags"] = [*ranking_flags(votes, tau, rows, places), *others, *_unknown(votes, tau)]
    return RankingStudy(**parts)


def flag_rankings(votes: Votes[Rankings], result: Result) -> list[Flag]:
    """Return the flags of a fit of rankings."""
    return study_rankings(votes, result).flags


def ranking_flags(votes: Votes[Rankings], tau: WorkerTau, rows: RankRows, places: F8) -> list[Flag]:
    """Flag reversed workers, then random ones."""
    enough = (tau.pairs >= PAIRS) & np.isfinite(tau.mean)
    usual = float(np.median(tau.mean[enough])) if enough.any() else 0.0
    if usual < LITTLE:
        return []  # workers hardly agree, so that none stands out

    def words(w: int) -> str:
        return (
            f"Kendall's tau with the other workers is {tau.mean[w]:.2f} over {int(tau.n[w]):,} rankings "
            f"({int(tau.pairs[w]):,} pairs of items); the median worker has {usual:.2f}"
        )

    return list(BehaviourFlags(heat_chances(rows, places, enough), words).flags(votes))


def _unknown(votes: Votes[Rankings], tau: WorkerTau) -> Iterator[Flag]:
    for w in np.flatnonzero(~(tau.pairs >= PAIRS)).tolist():
        n = 0 if np.isnan(tau.pairs[w]) else int(tau.pairs[w])
        words = f"{n} pairs of items in their rankings; at least {PAIRS} are needed to judge a worker"
        yield Flag(votes.workers[w], "unknown", evidence=words, of="rankings")
