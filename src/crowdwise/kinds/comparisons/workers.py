"""Workers who compare: their reliability, and flags of random, reversed and one-sided workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.item_answers import EVERYONE
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.intervals import jeffreys
from ...evaluation.scores import Table
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
    if is_about_two(votes):
        return _study_of_two(parts, votes, result, gold)
    rows = rows_of(votes)
    posterior = reliability(rows, _scores(votes, result))
    spans = posterior.mean, posterior.low, posterior.high
    parts["quality"] = _with_columns(parts["quality"], votes, result, spans)
    others = [flag for flag in parts["flags"] if flag.name in ("copying", "fast")]
    parts["flags"] = [*pair_flags(votes, posterior, result), *others, *_unknown(votes)]
    return PairStudy(**parts)


# ----------------------------------------------------------------
# Two systems. If one of them wins most of the time, every worker who votes for it follows the scores, also one who
# never looked: reliability is then measured on gold, or by whether a worker names the same winner in both orders.

ON_GOLD, IN_BOTH_ORDERS = "the share of gold tasks right", "the share of tasks with the same winner in both orders"
UNMEASURED = "not measured: with two items it needs gold, or the pairs in both orders"


@dataclass(frozen=True, eq=False)
class TwoItemStudy(PairStudy):
    """Study of workers who compare the same two items in every task; `basis` says what their reliability is."""

    basis: str = UNMEASURED

    def worker_tables(self, ends: int) -> list[Table]:
        """Return the tables with the basis of the reliability in their titles."""
        return [replace(table, title=f"{table.title} ({self.basis})") for table in super().worker_tables(ends)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return super().to_dict() | {"reliability_basis": self.basis}


def is_about_two(votes: Votes[Comparisons]) -> bool:
    """Whether all answers compare the same two items."""
    answers = votes.answers
    return len(np.unique(np.concatenate([answers.left, answers.right]))) == 2


def _study_of_two(parts: dict[str, Any], votes: Votes[Comparisons], result: Result, gold: Any) -> TwoItemStudy:
    """Complete the study of workers who compare two items."""
    basis, (share, n) = UNMEASURED, (np.full(votes.n_workers, np.nan), np.zeros(votes.n_workers))
    for words, measured in ((ON_GOLD, _right_on_gold(votes, gold)), (IN_BOTH_ORDERS, _same_in_both_orders(votes))):
        if measured[1].any():
            basis, (share, n) = words, measured
            break
    ends = [jeffreys(float(x), int(k)) if k else (np.nan, np.nan) for x, k in zip(share, n, strict=True)]
    low, high = (np.array(values, dtype=float) for values in zip(*ends, strict=True))
    parts["quality"] = _with_columns(parts["quality"], votes, result, (share, low, high))
    others = [flag for flag in parts["flags"] if flag.name in ("copying", "fast")]
    enough = np.bincount(votes.worker, votes.answers.outcome != 2, votes.n_workers) >= LEAST
    parts["flags"] = [*dict(_one_sided(votes, result, enough)).values(), *others, *_unknown(votes)]
    return TwoItemStudy(**parts, basis=basis)


def _right_on_gold(votes: Votes[Comparisons], gold: Any) -> tuple[F8, F8]:
    """Share of the gold tasks that each worker has right, and their number; a task with repeats counts once."""
    empty = np.zeros(votes.n_workers)
    if gold is None:
        return empty, empty
    tasks, truth = votes.kind.hooks.gold_answers(votes, gold)
    winner = np.full(votes.n_tasks, -2)
    winner[tasks] = truth.winner
    rows = pl.DataFrame({"task": votes.task, "worker": votes.worker}).with_columns(
        known=winner[votes.task] > -2, value=(votes.answers.winner == winner[votes.task]).astype(float)
    )
    return _by_worker(rows.filter(pl.col("known")), votes.n_workers)


def _same_in_both_orders(votes: Votes[Comparisons]) -> tuple[F8, F8]:
    """Share of the tasks seen in both orders in which each worker names the same winner, and their number."""
    columns = {"task": votes.task, "worker": votes.worker, "left": votes.answers.left, "winner": votes.answers.winner}
    rows = pl.DataFrame(columns).unique(["task", "worker", "left"], maintain_order=True)
    pairs = rows.group_by("task", "worker", maintain_order=True).agg(
        n=pl.len(), value=(pl.col("winner").n_unique() == 1).cast(pl.Float64)
    )
    return _by_worker(pairs.filter(pl.col("n") == 2), votes.n_workers)


def _by_worker(rows: pl.DataFrame, n_workers: int) -> tuple[F8, F8]:
    """Mean over the tasks of each worker, and the number of tasks."""
    tasks = rows.group_by("task", "worker", maintain_order=True).agg(pl.col("value").mean())
    worker = tasks["worker"].to_numpy()
    n = np.bincount(worker, minlength=n_workers).astype(float)
    return np.bincount(worker, tasks["value"].to_numpy(), n_workers) / np.where(n > 0, n, np.nan), n


def flag_comparisons(votes: Votes[Comparisons], result: Result) -> list[Flag]:
    """Return the flags of a fit of comparisons."""
    return study_comparisons(votes, result).flags


def _scores(votes: Votes[Comparisons], result: Result) -> Any:
    at, _ = lookup(result.items, votes.answers.items)
    return result.score[at] if len(at) else result.score


def _with_columns(
    quality: pl.DataFrame, votes: Votes[Comparisons], result: Result, spans: tuple[F8, F8, F8]
) -> pl.DataFrame:
    m, answers = votes.n_workers, votes.answers
    n = np.bincount(votes.worker, minlength=m)
    ties = np.bincount(votes.worker, answers.outcome == 2, m)
    left = np.bincount(votes.worker, answers.outcome == 0, m)
    has_answers = n > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        columns = {
            **{
                name: np.where(has_answers, values, np.nan)
                for name, values in zip(("reliability", "reliability_low", "reliability_high"), spans, strict=True)
            },
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
