"""Workers who compare: their reliability, and flags of random, reversed and one-sided workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.item_answers import EVERYONE
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...stats.abilities import BehaviourPosterior, by_answers, by_habit, chances, some_rows, worker_folds
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LEAST,
    BehaviourFlags,
    DistanceStudy,
    no_behaviour_flags,
    study_parts,
    with_first_columns,
)
from ...workers.flags import Flag, examples
from ...workers.studied import number
from ...workers.tables import interval_cells
from .answers import Comparisons, rows_of
from .maths.leaderboard import ReliabilityPosterior, reliability
from .maths.models import TIE, PairRows
from .methods import CrowdBT


def pair_chances(rows: PairRows) -> BehaviourPosterior:
    """Probabilities that workers answer at random or reversed, from the answers without ties.

    Scores of `crowd_bt`, fitted without the worker's fold, give the expected answers of a typical worker.
    """
    gap = held_out_gaps(rows)
    use = np.flatnonzero((rows.outcome != TIE) & (rows.weights > 0))
    use = use[some_rows(rows.worker[use], rows.n_workers)]
    worker, left = rows.worker[use], (rows.outcome[use] == 0).astype(np.float64)
    usual = 1 / (1 + np.exp(-np.clip(gap[use], -30, 30)))
    habit = np.full(len(use), float(left.mean()) if len(use) else 0.5)
    enough = np.bincount(worker, minlength=rows.n_workers) >= LEAST
    loglik = by_answers(worker, left, usual, habit, rows.n_workers)
    return chances(loglik, by_habit(worker, left, rows.n_workers), enough)


def held_out_gaps(rows: PairRows) -> F8:
    """Left minus right score of every row, fitted without the fold of its worker."""
    out = np.zeros(len(rows))
    for training, held_out in worker_folds(rows.worker, rows.n_workers):
        training_rows = rows.take(training)
        if (training_rows.outcome[training_rows.weights > 0] != TIE).any():
            score = CrowdBT().solve(training_rows, None).score
            out[held_out] = score[rows.left[held_out]] - score[rows.right[held_out]]
    return out


# ----------------------------------------------------------------
# The study of the workers. Workers are judged by the scores of the items, including workers whose pairs no other
# worker compared.

FLAGS = {
    "reversed": "prefers the worse item, perhaps by misreading the question",
    "random": "the answers do not depend on the items",
    "constant": "chooses the same side for all items",
    **{name: words for name, words in DISTANCE_FLAGS.items() if name in ("copying", "fast", "unknown")},
}
# No worker is flagged where the median worker is less reliable than this.
USUAL = 0.6
# One side in at least this share of the answers, with at most this probability under the scores.
ONE_SIDE, UNLIKELY = 0.9, 1e-5


@dataclass(frozen=True, eq=False)
class PairStudy(DistanceStudy):
    """Study of workers who compare.

    Columns of `quality` beside those of every kind: reliability (the probability that an answer prefers the better
    item) with _low and _high (95 %), left (the share of answers without ties for the left side), ties (the share of
    ties), slope and position where the method has them.
    """

    meanings: ClassVar[Mapping[str, str]] = FLAGS
    RANKED_BY: ClassVar[str] = "reliability"
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by reliability", "Most reliable workers {ends}", "Least reliable workers {ends}",
    )  # fmt: skip
    HEADER: ClassVar[tuple[str, ...]] = (
        "worker", "answers", "reliability", "95 % interval", "0 to 1", "left", "ties", "apart",
    )  # fmt: skip

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        rates = [number(row[name], 2) for name in ("left", "ties", "apart")]
        return [str(row["worker"]), f"{row['n_labels']:,}", *interval_cells(row, "reliability"), *rates]


def study_comparisons(votes: Votes[Comparisons], result: Result, *, gold: Any = None, idle: float = 600.0) -> PairStudy:
    """Study the workers of a fit of comparisons; arguments as in `study_by_distance`."""
    parts = study_parts(votes, result, gold=gold, idle=idle, judge=no_behaviour_flags)
    votes = parts["votes"]
    rows = rows_of(votes)
    posterior = reliability(rows, _scores(votes, result))
    parts["quality"] = _with_columns(parts["quality"], votes, result, posterior)
    others = [flag for flag in parts["flags"] if flag.name in ("copying", "fast")]
    parts["flags"] = [*pair_flags(votes, posterior, result), *others, *_unknown(votes)]
    return PairStudy(**parts)


def flag_comparisons(votes: Votes[Comparisons], result: Result) -> list[Flag]:
    """Return the flags of a fit of comparisons."""
    return study_comparisons(votes, result).flags


def _scores(votes: Votes[Comparisons], result: Result) -> Any:
    at, _ = lookup(result.items, votes.answers.items)
    return result.score[at] if len(at) else result.score


def _with_columns(
    quality: pl.DataFrame, votes: Votes[Comparisons], result: Result, posterior: ReliabilityPosterior
) -> pl.DataFrame:
    m, answers = votes.n_workers, votes.answers
    n = np.bincount(votes.worker, minlength=m)
    ties = np.bincount(votes.worker, answers.outcome == 2, m)
    left = np.bincount(votes.worker, answers.outcome == 0, m)
    has_answers = n > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            "reliability": np.where(has_answers, posterior.mean, np.nan),
            "reliability_low": np.where(has_answers, posterior.low, np.nan),
            "reliability_high": np.where(has_answers, posterior.high, np.nan),
            "left": left / (n - ties),
            "ties": ties / n,
            "slope": result.slope,
            "position": result.position,
        }
    return with_first_columns(quality, columns)


def pair_flags(votes: Votes[Comparisons], posterior: ReliabilityPosterior, result: Result) -> list[Flag]:
    """Flag reversed, random and one-sided workers, the most serious first."""
    decided = np.bincount(votes.worker, votes.answers.outcome != 2, votes.n_workers)
    enough = decided >= LEAST
    usual = float(np.median(posterior.mean[enough])) if enough.any() else 0.0

    def words(w: int) -> str:
        return (
            f"prefers the better item in about {posterior.mean[w]:.0%} of {int(decided[w]):,} answers without ties "
            f"(95 % interval {posterior.low[w]:.0%} to {posterior.high[w]:.0%}); the median worker does in {usual:.0%}"
        )

    side = dict(_one_sided(votes, result, enough))
    flags = list(BehaviourFlags(pair_chances(rows_of(votes)), words).flags(votes)) if usual >= USUAL else []
    return [*(flag for flag in flags if flag.name == "reversed" or flag.worker not in side), *side.values()]


def _one_sided(votes: Votes[Comparisons], result: Result, enough: Any) -> Iterator[tuple[Any, Flag]]:
    """Flag workers who nearly always choose one side although the scores of the items do not explain it."""
    from scipy.stats import binom

    answers = votes.answers
    decided = np.flatnonzero(answers.outcome != 2)
    score = _scores(votes, result)
    d = score[answers.left[decided]] - score[answers.right[decided]]
    p_left = 1 / (1 + np.exp(-np.clip(d, -30, 30)))
    worker, m = votes.worker[decided], votes.n_workers
    n, left = np.bincount(worker, minlength=m), np.bincount(worker, answers.outcome[decided] == 0, m)
    expected = (np.bincount(worker, p_left, m) + 1) / (n + 2)
    for w in np.flatnonzero(enough & (np.maximum(left, n - left) >= ONE_SIDE * n)).tolist():
        on_left = left[w] * 2 > n[w]
        most, share = (left[w], expected[w]) if on_left else (n[w] - left[w], 1 - expected[w])
        p = min(float(binom.sf(most - 1, n[w], min(share, 0.9))) * m, 1.0)
        if p <= UNLIKELY:
            side = "left" if on_left else "right"
            words = f"chose the {side} item in {int(most):,} of {int(n[w]):,} answers without ties; {share:.0%} are "
            words += "expected from the scores of the items"
            tasks = examples(votes, votes.task[votes.worker == w])
            yield votes.workers[w], Flag(votes.workers[w], "constant", p_value=p, evidence=words, tasks=tasks,
                                         of="comparisons")  # fmt: skip


def _unknown(votes: Votes[Comparisons]) -> Iterator[Flag]:
    decided = np.bincount(votes.worker, votes.answers.outcome != 2, votes.n_workers)
    for w in np.flatnonzero(decided < LEAST).tolist():
        if votes.workers[w] != EVERYONE:
            words = f"{int(decided[w])} answers that name a winner; at least {LEAST} are needed to judge a worker"
            yield Flag(votes.workers[w], "unknown", evidence=words, of="comparisons")
