"""Workers who rank: their agreement with the estimates, and flags of reversed and random workers."""

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
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LITTLE,
    BehaviourFlags,
    DistanceStudy,
    no_behaviour_flags,
    study_parts,
)
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from ...workers.tables import bar
from .answers import Rankings, rows_of
from .maths import Agreement, RankRows, agreement, heat_chances, places_by_others

F8 = npt.NDArray[np.float64]
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

    def worker_tables(self, ends: int) -> list[Table]:
        """Tables of all workers, or of the `ends` workers with the highest and lowest agreement of many."""
        best, worst = best_and_worst(self.quality, ends, "agreement")
        tables = {"Workers, by agreement with the estimates": best}
        if len(worst):
            suffix = f"({ends} of {int((self.quality['n_labels'] > 0).sum()):,}, by the {{}} end of the interval)"
            tables = {
                f"Workers with the highest agreement {suffix.format('lower')}": best,
                f"Workers with the lowest agreement {suffix.format('upper')}": worst,
            }
        header = ["worker", "rankings", "agreement", "95 % interval", "-1 to 1", "temperature", "apart", "flags"]
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in tables.items()]

    def _row(self, row: dict[str, Any]) -> list[str]:
        r, low, high = (row[f"agreement{end}"] for end in ("", "_low", "_high"))
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(r, 2),
            between(low, high),
            "" if None in (r, low, high) else bar((r + 1) / 2, (low + 1) / 2, (high + 1) / 2, 16),
            number(row["temperature"], 2),
            number(row["apart"], 2),
            ", ".join(names),
        ]


def study_rankings(votes: Votes[Rankings], result: Result, *, gold: Any = None, idle: float = 600.0) -> RankingStudy:
    """Study the workers of a fit of rankings.

    Args:
        votes: The rankings.
        result: A fit of them.
        gold: Known orders, for the distances of workers from them.
        idle: Longest pause between answers in seconds that counts as work.
    """
    parts = study_parts(votes, result, gold=gold, idle=idle, judge=no_behaviour_flags)
    votes = parts["votes"]
    rows, _ = rows_of(votes)
    places = places_by_others(rows)
    tau = agreement(rows, places)
    parts["quality"] = _table(result, parts["quality"])
    others = [flag for flag in parts["flags"] if flag.name in ("constant", "copying", "fast")]
    parts["flags"] = [*ranking_flags(votes, tau, rows, places), *others, *_unknown(votes, tau)]
    return RankingStudy(**parts)


def flag_rankings(votes: Votes[Rankings], result: Result) -> list[Flag]:
    """Return the flags of a fit of rankings."""
    return study_rankings(votes, result).flags


def _table(result: Result, table: pl.DataFrame) -> pl.DataFrame:
    columns = {name: getattr(result.worker_summary, name) for name in type(result.worker_summary).rules}
    added = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    keys = ["worker", "n_labels"]
    return pl.concat([table.select(keys), added, table.drop(keys)], how="horizontal")


def ranking_flags(votes: Votes[Rankings], tau: Agreement, rows: RankRows, places: F8) -> list[Flag]:
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


def _unknown(votes: Votes[Rankings], tau: Agreement) -> Iterator[Flag]:
    for w in np.flatnonzero(~(tau.pairs >= PAIRS)).tolist():
        n = 0 if np.isnan(tau.pairs[w]) else int(tau.pairs[w])
        words = f"{n} pairs of items in their rankings; at least {PAIRS} are needed to judge a worker"
        yield Flag(votes.workers[w], "unknown", evidence=words, of="rankings")
