"""Workers who give same-or-different answers: their error rates, and flags of constant, random and adversarial ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.arrays import F8
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...stats.abilities import (
    BehaviourPosterior,
    by_answers,
    by_habit,
    chances,
    some_rows,
    worker_folds,
    zero_posterior,
)
from ...workers.distance_based import (
    DISTANCE_FLAGS,
    LEAST,
    BehaviourFlags,
    DistanceStudy,
    judged_workers,
    study_parts,
    with_summary,
)
from ...workers.flags import Flag
from ...workers.studied import BEST_AND_WORST, between, number
from ...workers.tables import WorkerRows, end_rows
from .answers import Similarities
from .estimate import SimilarityEstimate, SimilarityWorkers
from .fitting import pairs_of
from .maths import Pairs, from_partitions, mean_field, together

# Weight of the crowd's coins in the estimate of each worker, in answers; passes from the fitted clusters.
STRENGTH, PASSES = 10.0, 30
# Pairs of one partition are one decision: the weight of each of them.
OF_PARTITIONS = 0.3


def coin_chances(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> BehaviourPosterior:
    """Probabilities that workers answer at random or the opposite.

    The probability that a pair is the same comes from clusters fitted without the worker's fold; the typical worker has
    the median coins of the crowd.
    """
    usual = held_out_same(pairs, cluster, k)
    use = some_rows(pairs.worker, pairs.n_workers)
    worker, yes = pairs.worker[use], pairs.same[use]
    enough = np.bincount(worker, minlength=pairs.n_workers) >= LEAST
    habit = np.full(len(use), float(yes.mean()) if len(use) else 0.5)
    scale = OF_PARTITIONS if from_partitions(pairs) else 1.0
    loglik = by_answers(worker, yes, usual[use], habit, pairs.n_workers)
    return chances(scale * loglik, scale * by_habit(worker, yes, pairs.n_workers), enough)


def held_out_same(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> F8:
    """Probability that a typical worker answers "same" to each row, fitted without the fold of its worker."""
    out = np.full(len(pairs), 0.5)
    for training_rows, held_out in worker_folds(pairs.worker, pairs.n_workers):
        if not len(training_rows):
            continue
        training = pairs.take(training_rows)
        fit = mean_field(training, cluster, k, strength=STRENGTH, max_iter=PASSES, tol=1e-5)
        has_answers = np.bincount(training.worker, minlength=pairs.n_workers) > 0
        hit, rejection = (float(np.median(coin[has_answers])) for coin in (fit.coins.hit, fit.coins.rejection))
        same = together(pairs.take(held_out), fit.belief)
        out[held_out] = same * hit + (1 - same) * (1 - rejection)
    return out


# ----------------------------------------------------------------
# The workers of a fit of same or different in a few rows.


def worker_rows(result: Result, limit: int = 5) -> WorkerRows:
    """Header and rows of the best and the worst workers, by the share of answers that agree with the clusters."""
    header = ["worker", "answers", "skill", "95 % interval", "same if same", "different if different"]
    return end_rows(result.worker_table(), limit, "skill", header, _cells)


def _cells(row: dict[str, Any], digits: int = 3) -> list[str]:
    skill = [number(row["skill"], digits), between(row["skill_low"], row["skill_high"], digits)]
    return [str(row["worker"]), f"{row['n_labels']:,}", *skill, *(number(row[n], digits) for n in ("hit", "rejection"))]


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

    RANKED_BY: ClassVar[str] = "skill"
    TITLES: ClassVar[tuple[str, str, str]] = (
        "Workers, by the share of answers that agree with the clusters", *BEST_AND_WORST,
    )  # fmt: skip
    HEADER: ClassVar[tuple[str, ...]] = (
        "worker", "answers", "skill", "95 % interval", '"same" if same', '"different" if different',
    )  # fmt: skip

    def cells(self, row: dict[str, Any]) -> list[str]:
        """Return a row of `quality` as text, without the flags."""
        return _cells(row, 2)


def study_similarities(
    votes: Votes[Similarities], result: Result, *, gold: Any = None, idle: float = 600.0
) -> SimilarityStudy:
    """Study the workers of a fit of same-or-different answers; arguments as in `study_by_distance`.

    `gold` is ignored, as it is about items.
    """
    del gold
    parts = study_parts(votes, result, idle=idle, judge=behaviour_flags)
    parts["quality"] = with_summary(parts["quality"], result.worker_table())
    constant_flags = list(coin_flags(votes))
    constant, judged = {flag.worker for flag in constant_flags}, judged_workers(votes)
    parts["flags"] = constant_flags + [
        flag
        for flag in parts["flags"]
        if not (flag.name == "unknown" and flag.worker in judged)
        and not (flag.name in ("constant", "random") and flag.worker in constant)
    ]
    return SimilarityStudy(**parts)


def flag_similarities(votes: Votes[Similarities], result: Result) -> list[Flag]:
    """Return the flags of a fit."""
    return study_similarities(votes, result).flags


def behaviour_flags(votes: Votes[Similarities], result: Result) -> BehaviourFlags:
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
