"""Who does not look at the items they compare, or prefers the worse, by scores that they had no part in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...stats.abilities import Chances, by_answers, by_habit, chances, folds, some_rows
from ...workers.distance_based import ALIKE_FLAGS, LEAST, AlikeStudy, Judged, looked_at, unjudged
from ...workers.flags import Flag, examples
from ...workers.studied import best_and_worst, between, number
from ...workers.tables import bar
from .answers import EVERYONE, Comparisons, rows_of
from .maths.leaderboard import Reliability, reliability
from .maths.models import TIE, PairRows
from .methods import CrowdBT

F8 = npt.NDArray[np.float64]


def pair_chances(rows: PairRows) -> Chances:
    """From the answers that name a winner: the scores of `crowd_bt`, fitted without a fold of the workers, say how
    often the usual worker takes the left item."""
    gap = unseen_gaps(rows)
    use = np.flatnonzero((rows.outcome != TIE) & (rows.weights > 0))
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    worker, left = rows.worker[use], (rows.outcome[use] == 0).astype(np.float64)
    usual = 1 / (1 + np.exp(-np.clip(gap[use], -30, 30)))
    habit = np.full(len(use), float(left.mean()) if len(use) else 0.5)
    known = np.bincount(worker, minlength=rows.n_workers) >= LEAST
    loglik = by_answers(worker, left, usual, habit, rows.n_workers)
    return chances(loglik, by_habit(worker, left, rows.n_workers), known)


def unseen_gaps(rows: PairRows) -> F8:
    """Left minus right score of every row, by workers of other folds."""
    out = np.zeros(len(rows))
    fold = folds(rows.n_workers, len(rows))[rows.worker]
    for f in np.unique(fold).tolist():
        rest, own = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        some = replace(
            rows, left=rows.left[rest], right=rows.right[rest], outcome=rows.outcome[rest], worker=rows.worker[rest],
            weight=None if rows.weight is None else rows.weight[rest],
        )  # fmt: skip
        if (some.outcome[some.weights > 0] != TIE).any():
            score = CrowdBT().solve(some, None).score
            out[own] = score[rows.left[own]] - score[rows.right[own]]
    return out


# ----------------------------------------------------------------
# The workers of a fit of comparisons: how far they follow the scores, who is reversed, guesses, or has a side.
# Workers are judged through the items' scores, so also those whose pairs nobody else was asked about.

FLAGS = {
    "reversed": "prefers the worse item: perhaps they read the question the other way round",
    "random": "the answers do not follow the items",
    "constant": "takes one side whatever the items",
    **{name: words for name, words in ALIKE_FLAGS.items() if name in ("copying", "fast", "unknown")},
}
# Nobody stands out in a crowd whose usual worker is less reliable than this.
USUAL = 0.6
# One side in so large a share of the answers, which the scores make as unlikely as this.
ONE_SIDE, UNLIKELY = 0.9, 1e-5


@dataclass(frozen=True, eq=False)
class PairStudy(AlikeStudy):
    """Workers who compared. `quality` has, beside what every kind has: reliability (the chance that an answer follows
    the better item) with _low and _high (95 %), left (the share of decided answers for the left side), ties (the share
    of ties), slope and position where the method has them."""

    meanings: ClassVar[Mapping[str, str]] = FLAGS

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the most and the least reliable of many."""
        best, worst = best_and_worst(self.quality, ends, "reliability")
        parts = {"Workers, by how far they follow the better item": best}
        if len(worst):
            of = f"({ends} of {int((self.quality['n_labels'] > 0).sum()):,}, by the {{}} end of the interval)"
            parts = {
                f"Workers who follow the better item most {of.format('lower')}": best,
                f"Workers who follow the better item least {of.format('upper')}": worst,
            }
        header = ["worker", "answers", "reliability", "95 % interval", "0 to 1", "left", "ties", "apart", "flags"]
        return [Table(title, header, [self._row(row) for row in table.to_dicts()]) for title, table in parts.items()]

    def _row(self, row: dict[str, Any]) -> list[str]:
        r, low, high = (row[f"reliability{end}"] for end in ("", "_low", "_high"))
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(r, 2),
            between(low, high),
            "" if None in (r, low, high) else bar(r, low, high, 16),
            number(row["left"], 2),
            number(row["ties"], 2),
            number(row["apart"], 2),
            ", ".join(names),
        ]


def study_comparisons(votes: Votes[Comparisons], result: Result, *, gold: Any = None, idle: float = 600.0) -> PairStudy:
    """Of comparisons. `gold` adds distances on known pairs, `idle` is the longest pause in seconds that is work."""
    parts = looked_at(votes, result, gold=gold, idle=idle, judge=unjudged)
    votes = parts["votes"]
    rows = rows_of(votes)
    judged = reliability(rows, _scores(votes, result))
    parts["quality"] = _table(votes, result, judged, parts["quality"])
    rest = [flag for flag in parts["flags"] if flag.name in ("copying", "fast")]
    parts["flags"] = [*pair_flags(votes, judged, result), *rest, *_unknown(votes)]
    return PairStudy(**parts)


def flag_comparisons(votes: Votes[Comparisons], result: Result) -> list[Flag]:
    """All flags of a fit of comparisons."""
    return study_comparisons(votes, result).flags


def _scores(votes: Votes[Comparisons], result: Result) -> Any:
    from ...core.vocabulary import lookup

    at, _ = lookup(result.items, votes.answers.items)
    return result.score[at] if len(at) else result.score


def _table(votes: Votes[Comparisons], result: Result, judged: Reliability, table: pl.DataFrame) -> pl.DataFrame:
    m, said = votes.n_workers, votes.answers
    n = np.bincount(votes.worker, minlength=m)
    ties = np.bincount(votes.worker, said.outcome == 2, m)
    left = np.bincount(votes.worker, said.outcome == 0, m)
    heard = n > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            "reliability": np.where(heard, judged.mean, np.nan),
            "reliability_low": np.where(heard, judged.low, np.nan),
            "reliability_high": np.where(heard, judged.high, np.nan),
            "left": left / (n - ties),
            "ties": ties / n,
            "slope": result.slope,
            "position": result.position,
        }
    added = pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))
    first = ["worker", "n_labels"]
    return pl.concat([table.select(first), added, table.drop(first)], how="horizontal")


def pair_flags(votes: Votes[Comparisons], judged: Reliability, result: Result) -> list[Flag]:
    """Reversed, random and one-sided workers, the most serious first."""
    decided = np.bincount(votes.worker, votes.answers.outcome != 2, votes.n_workers)
    known = decided >= LEAST
    usual = float(np.median(judged.mean[known])) if known.any() else 0.0

    def words(w: int) -> str:
        return (
            f"follows the better item in about {judged.mean[w]:.0%} of {int(decided[w]):,} decided answers (95 % "
            f"interval {judged.low[w]:.0%} to {judged.high[w]:.0%}), where the usual worker does in {usual:.0%}"
        )

    side = dict(_one_sided(votes, result, known))
    found = list(Judged(pair_chances(rows_of(votes)), words).flags(votes)) if usual >= USUAL else []
    return [*(flag for flag in found if flag.name == "reversed" or flag.worker not in side), *side.values()]


def _one_sided(votes: Votes[Comparisons], result: Result, known: Any) -> Iterator[tuple[Any, Flag]]:
    """One side nearly always, where the items would have it otherwise."""
    from scipy.stats import binom

    said = votes.answers
    decided = np.flatnonzero(said.outcome != 2)
    score = _scores(votes, result)
    d = score[said.left[decided]] - score[said.right[decided]]
    fair = 1 / (1 + np.exp(-np.clip(d, -30, 30)))
    who, m = votes.worker[decided], votes.n_workers
    n, left = np.bincount(who, minlength=m), np.bincount(who, said.outcome[decided] == 0, m)
    expected = (np.bincount(who, fair, m) + 1) / (n + 2)
    for w in np.flatnonzero(known & (np.maximum(left, n - left) >= ONE_SIDE * n)).tolist():
        on_left = left[w] * 2 > n[w]
        most, share = (left[w], expected[w]) if on_left else (n[w] - left[w], 1 - expected[w])
        p = min(float(binom.sf(most - 1, n[w], min(share, 0.9))) * m, 1.0)
        if p <= UNLIKELY:
            side = "left" if on_left else "right"
            words = f"took the {side} item in {int(most):,} of {int(n[w]):,} decided answers; by the items' scores "
            words += f"{share:.0%} of them should be"
            tasks = examples(votes, votes.task[votes.worker == w])
            yield votes.workers[w], Flag(votes.workers[w], "constant", p_value=p, evidence=words, tasks=tasks,
                                         of="comparisons")  # fmt: skip


def _unknown(votes: Votes[Comparisons]) -> Iterator[Flag]:
    decided = np.bincount(votes.worker, votes.answers.outcome != 2, votes.n_workers)
    for w in np.flatnonzero(decided < LEAST).tolist():
        if votes.workers[w] != EVERYONE:
            words = f"{int(decided[w])} answers that name a winner; at least {LEAST} are needed to judge a worker"
            yield Flag(votes.workers[w], "unknown", evidence=words, of="comparisons")
