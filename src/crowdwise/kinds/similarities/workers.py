"""Workers who give same-or-different answers: their error rates, and flags of constant, random and adversarial ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...stats.abilities import BehaviourPosterior, by_answers, by_habit, chances, folds, some_rows, zero_posterior
from ...workers.distance_based import DISTANCE_FLAGS, LEAST, BehaviourFlags, DistanceStudy, study_parts
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from .answers import Similarities
from .estimate import SimilarityEstimate, SimilarityWorkers
from .fitting import pairs_of
from .maths import Pairs, from_partitions, mean_field, together

F8 = npt.NDArray[np.float64]
# Weight of the crowd's coins in the estimate of each worker, in answers; passes from the fitted clusters.
STRENGTH, PASSES = 10.0, 30
# Pairs of one partition are one decision: the weight of each of them.
OF_PARTITIONS = 0.3


def coin_chances(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> BehaviourPosterior:
    """Probabilities that workers answer at random or the opposite.

    The probability that a pair is the same comes from clusters fitted without the worker's fold; the typical worker has
    the median coins of the crowd.
    """
    usual = unseen_same(pairs, cluster, k)
    use = some_rows(pairs.worker, pairs.n_workers)
    worker, yes = pairs.worker[use], pairs.same[use]
    enough = np.bincount(worker, minlength=pairs.n_workers) >= LEAST
    habit = np.full(len(use), float(yes.mean()) if len(use) else 0.5)
    scale = OF_PARTITIONS if from_partitions(pairs) else 1.0
    loglik = by_answers(worker, yes, usual[use], habit, pairs.n_workers)
    return chances(scale * loglik, scale * by_habit(worker, yes, pairs.n_workers), enough)


def unseen_same(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> F8:
    """Probability that a typical worker answers "same" to each row, fitted without the fold of its worker."""
    out = np.full(len(pairs), 0.5)
    fold = folds(pairs.n_workers, len(pairs))[pairs.worker]
    for f in np.unique(fold).tolist():
        training, held_out = pairs.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        if not len(training):
            continue
        fit = mean_field(training, cluster, k, strength=STRENGTH, max_iter=PASSES, tol=1e-5)
        has_answers = np.bincount(training.worker, minlength=pairs.n_workers) > 0
        hit, rejection = (float(np.median(coin[has_answers])) for coin in (fit.coins.hit, fit.coins.rejection))
        same = together(pairs.take(held_out), fit.belief)
        out[held_out] = same * hit + (1 - same) * (1 - rejection)
    return out


# ----------------------------------------------------------------
# The workers of a fit of same or different in a few rows.


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the best and the worst workers, by the share of answers that agree with the clusters."""
    best, worst = best_and_worst(result.worker_table(), limit)
    rows = [
        [str(r["worker"]), f"{r['n_labels']:,}", number(r["skill"]), between(r["skill_low"], r["skill_high"]),
         number(r["hit"]), number(r["rejection"])]
        for r in best.vstack(worst.reverse()).to_dicts()
    ]  # fmt: skip
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "skill", "95 % interval", "same if same", "different if different"], rows


# ----------------------------------------------------------------
# The study of the workers.

# Constant: at least this share of one answer, with at most this probability at the crowd's share.
ONE_ANSWER, UNLIKELY = 0.95, 1e-5


@dataclass(frozen=True, eq=False)
class SimilarityStudy(DistanceStudy):
    """Study of workers with same-or-different answers.

    Columns of `quality` beside those of every kind: skill (share of answers that agree with the clusters), hit and
    rejection.
    """

    meanings: ClassVar[Mapping[str, str]] = {
        **DISTANCE_FLAGS, "adversarial": "answers the opposite of the clusters",
    }  # fmt: skip

    def worker_tables(self, ends: int) -> list[Table]:
        """Tables of all workers, or of the `ends` best and worst workers of many by skill."""
        best, worst = best_and_worst(self.quality, ends, "skill")
        tables = {"Workers, by the share of answers that agree with the clusters": best}
        if len(worst):
            tables = {f"Best workers (the first {ends})": best, f"Worst workers (the last {ends})": worst}
        header = ["worker", "answers", "skill", "95 % interval", '"same" if same', '"different" if different',
                  "flags"]  # fmt: skip
        return [Table(title, header, [self._line(row) for row in table.to_dicts()]) for title, table in tables.items()]

    def _line(self, row: dict[str, Any]) -> list[str]:
        names = dict.fromkeys(flag.name for flag in self.flags if flag.worker == row["worker"])
        return [
            str(row["worker"]),
            f"{row['n_labels']:,}",
            number(row["skill"], 2),
            between(row["skill_low"], row["skill_high"], 2),
            number(row["hit"], 2),
            number(row["rejection"], 2),
            ", ".join(names),
        ]


def study_similarities(
    votes: Votes[Similarities], result: Result, *, gold: Any = None, idle: float = 600.0
) -> SimilarityStudy:
    """Study the workers of a fit of same-or-different answers.

    Args:
        votes: The answers.
        result: A fit of them.
        gold: Not used, as it is about items.
        idle: Longest pause between answers in seconds that counts as work.
    """
    del gold
    parts = study_parts(votes, result, idle=idle, judge=coins_judged)
    summary = result.worker_table().drop("n_labels").with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(summary, on="worker", how="left", maintain_order="left")
    constant_flags = list(coin_flags(votes))
    idlers, has_enough = {flag.worker for flag in constant_flags}, _judged(votes)
    others = [flag for flag in parts["flags"] if not (flag.name == "unknown" and flag.worker in has_enough)]
    parts["flags"] = constant_flags + [
        f for f in others if not (f.worker in idlers and f.name in ("constant", "random"))
    ]
    return SimilarityStudy(**parts)


def flag_similarities(votes: Votes[Similarities], result: Result) -> list[Flag]:
    """Return the flags of a fit."""
    return study_similarities(votes, result).flags


def _judged(votes: Votes[Similarities]) -> set[Any]:
    """Workers with enough answers to be judged by the clusters, even if no other worker answered their pairs."""
    return set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())


def coins_judged(votes: Votes[Similarities], result: Result) -> BehaviourFlags:
    """Flag random and adversarial workers by clusters fitted without their answers."""
    summary, estimate = result.worker_summary, result.estimate
    assert isinstance(summary, SimilarityWorkers)
    assert isinstance(estimate, SimilarityEstimate)
    signal = summary.hit + summary.rejection - 1
    n = votes.labels_per_worker
    enough = (n >= LEAST) & np.isfinite(signal)
    middle = float(np.median(signal[enough])) if enough.any() else 0.0

    def words(w: int) -> str:
        return (
            f"the two rates sum to {1 + signal[w]:.2f} (1: answers do not depend on the pair, below 1: reversed) "
            f"over {n[w]} answers; those of the median worker sum to {1 + middle:.2f}"
        )

    at, has_item = lookup(estimate.items, votes.answers.items)
    belief = estimate.belief[at] if len(estimate.belief) else np.ones((0, 1))
    cluster = np.where(has_item, belief.argmax(axis=1), 0).astype(np.int64)
    if middle <= 0:
        return BehaviourFlags(zero_posterior(len(n)), words, "adversarial")
    return BehaviourFlags(coin_chances(pairs_of(votes), cluster, max(belief.shape[1], 1)), words, "adversarial")


def coin_flags(votes: Votes[Similarities]) -> Iterator[Flag]:
    """Flag workers who give one answer far more often than the crowd."""
    from scipy.stats import binom

    pairs = pairs_of(votes)
    n = np.bincount(pairs.worker, minlength=votes.n_workers)
    yes = np.bincount(pairs.worker, weights=pairs.same, minlength=votes.n_workers)
    usual = float(pairs.same.mean()) if len(pairs) else 0.5
    for w in np.flatnonzero(n >= LEAST).tolist():
        most, share = max(yes[w], n[w] - yes[w]), usual if yes[w] >= n[w] - yes[w] else 1 - usual
        if most >= ONE_ANSWER * n[w] and binom.sf(most - 1, n[w], share) < UNLIKELY:
            word = "same" if yes[w] == most else "different"
            words = f'answers "{word}" in {most:.0f} of {n[w]} cases; the crowd does in {share:.0%}'
            yield Flag(votes.workers[w], "constant", evidence=words, of="similarities")
