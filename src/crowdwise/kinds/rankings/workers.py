"""The workers of a fit of rankings: how far they go with the estimated orders, who ranks upside down or guesses."""

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
from ...workers.distance_based import ALIKE_FLAGS, LITTLE, AlikeStudy, Judged, looked_at, unjudged
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from ...workers.tables import bar
from .answers import Rankings, rows_of
from .maths import Agreement, RankRows, agreement, heat_chances, places_by_others

F8 = npt.NDArray[np.float64]
FLAGS = {
    "reversed": "ranks upside down: perhaps they put the worst first",
    "random": "the rankings do not follow what the others say",
    **{name: words for name, words in ALIKE_FLAGS.items() if name in ("constant", "copying", "fast", "unknown")},
}
# Pairs of items in a worker's rankings that are needed to judge them.
PAIRS = 15


@dataclass(frozen=True, eq=False)
class RankingStudy(AlikeStudy):
    """Workers who ranked. `quality` has, beside what every kind has: agreement (mean Kendall's tau with the estimates)
    with _low and _high (95 %), temperature and dispersion where the method has them."""

    meanings: ClassVar[Mapping[str, str]] = FLAGS

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or those who go with the estimates most and least."""
        best, worst = best_and_worst(self.quality, ends, "agreement")
        parts = {"Workers, by how far they go with the estimates": best}
        if len(worst):
            of = f"({ends} of {int((self.quality['n_labels'] > 0).sum()):,}, by the {{}} end of the interval)"
            parts = {
                f"Workers who go with the estimates most {of.format('lower')}": best,
                f"Workers who go with the estimates least {of.format('upper')}": worst,
            }
        header = ["worker", "rankings", "agreement", "95 % interval", "-1 to 1", "temperature", "apart", "flags"]
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in parts.items()]

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
    """Of rankings. `gold` adds distances on known lists, `idle` is the longest pause in seconds that is work."""
    parts = looked_at(votes, result, gold=gold, idle=idle, judge=unjudged)
    votes = parts["votes"]
    rows, _ = rows_of(votes)
    places = places_by_others(rows)
    close = agreement(rows, places)
    parts["quality"] = _table(result, parts["quality"])
    rest = [flag for flag in parts["flags"] if flag.name in ("constant", "copying", "fast")]
    parts["flags"] = [*ranking_flags(votes, close, rows, places), *rest, *_unknown(votes, close)]
    return RankingStudy(**parts)


def flag_rankings(votes: Votes[Rankings], result: Result) -> list[Flag]:
    """All flags of a fit of rankings."""
    return study_rankings(votes, result).flags


def _table(result: Result, table: pl.DataFrame) -> pl.DataFrame:
    columns = {name: getattr(result.picture, name) for name in type(result.picture).rules}
    added = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    first = ["worker", "n_labels"]
    return pl.concat([table.select(first), added, table.drop(first)], how="horizontal")


def ranking_flags(votes: Votes[Rankings], close: Agreement, rows: RankRows, places: F8) -> list[Flag]:
    """Workers who rank upside down, then those who guess."""
    known = (close.pairs >= PAIRS) & np.isfinite(close.mean)
    usual = float(np.median(close.mean[known])) if known.any() else 0.0
    if usual < LITTLE:
        return []  # a crowd that hardly agrees with its own orders has nobody who stands out

    def words(w: int) -> str:
        return (
            f"Kendall's tau with the orders of the others is {close.mean[w]:.2f} over {int(close.n[w]):,} rankings "
            f"({int(close.pairs[w]):,} pairs of items), where the usual worker has {usual:.2f}"
        )

    return list(Judged(heat_chances(rows, places, known), words).flags(votes))


def _unknown(votes: Votes[Rankings], close: Agreement) -> Iterator[Flag]:
    for w in np.flatnonzero(~(close.pairs >= PAIRS)).tolist():
        n = 0 if np.isnan(close.pairs[w]) else int(close.pairs[w])
        words = f"{n} pairs of items in their rankings; at least {PAIRS} are needed to judge a worker"
        yield Flag(votes.workers[w], "unknown", evidence=words, of="rankings")
