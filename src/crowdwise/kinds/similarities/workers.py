"""Who does not look at the pairs, or says the opposite, by clusters that they had no part in."""

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
from ...stats.abilities import Chances, by_answers, by_habit, chances, folds, nobody, some_rows
from ...workers.distance_based import ALIKE_FLAGS, LEAST, AlikeStudy, Judged, looked_at
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, between, number
from .answers import Similarities
from .estimate import SimilarityEstimate, SimilarityWorkers
from .fitting import pairs_of
from .maths import Pairs, from_partitions, mean_field, together

F8 = npt.NDArray[np.float64]
# Answers that draw a worker's coins to the crowd's; passes from the clusters that were found.
STRENGTH, PASSES = 10.0, 30
# Pairs of one partition are one decision: each counts as so many answers.
OF_PARTITIONS = 0.3


def coin_chances(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> Chances:
    """The chance that a pair is the same comes from clusters fitted without a fold of the workers; the usual worker has
    the crowd's middle coins."""
    usual = unseen_same(pairs, cluster, k)
    use = some_rows(pairs.worker, pairs.n_workers)
    worker, yes = pairs.worker[use], pairs.same[use]
    known = np.bincount(worker, minlength=pairs.n_workers) >= LEAST
    habit = np.full(len(use), float(yes.mean()) if len(use) else 0.5)
    less = OF_PARTITIONS if from_partitions(pairs) else 1.0
    loglik = by_answers(worker, yes, usual[use], habit, pairs.n_workers)
    return chances(less * loglik, less * by_habit(worker, yes, pairs.n_workers), known)


def unseen_same(pairs: Pairs, cluster: npt.NDArray[np.int64], k: int) -> F8:
    """The chance that the usual worker says "same" to each row, by workers of other folds."""
    out = np.full(len(pairs), 0.5)
    fold = folds(pairs.n_workers, len(pairs))[pairs.worker]
    for f in np.unique(fold).tolist():
        rest, own = pairs.take(np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        if not len(rest):
            continue
        found = mean_field(rest, cluster, k, strength=STRENGTH, max_iter=PASSES, tol=1e-5)
        heard = np.bincount(rest.worker, minlength=pairs.n_workers) > 0
        hit, rejection = (float(np.median(each[heard])) for each in (found.coins.hit, found.coins.rejection))
        same = together(pairs.take(own), found.belief)
        out[own] = same * hit + (1 - same) * (1 - rejection)
    return out


# ----------------------------------------------------------------
# The workers of a fit of same or different in a few rows.


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """The best and the worst by the share of their answers that go with the clusters."""
    best, worst = best_and_worst(result.worker_table(), limit)
    rows = [
        [str(r["worker"]), f"{r['n_labels']:,}", number(r["skill"]), between(r["skill_low"], r["skill_high"]),
         number(r["hit"]), number(r["rejection"])]
        for r in best.vstack(worst.reverse()).to_dicts()
    ]  # fmt: skip
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "skill", "95 % interval", "same of same", "different of different"], rows


# ----------------------------------------------------------------
# The workers of a fit of same or different: their two coins, agreement, flags.

# Constant: one answer in so large a share, as unlikely as this where the crowd says it as often as it does.
ONE_ANSWER, UNLIKELY = 0.95, 1e-5


@dataclass(frozen=True, eq=False)
class SimilarityStudy(AlikeStudy):
    """`quality` has besides what every kind has: skill (answers that go with the clusters), hit and rejection."""

    meanings: ClassVar[Mapping[str, str]] = {
        **ALIKE_FLAGS, "adversarial": "says the opposite of what the clusters say",
    }  # fmt: skip

    def worker_tables(self, ends: int) -> list[Table]:
        """All workers, or the best and the worst of many by skill."""
        best, worst = best_and_worst(self.quality, ends, "skill")
        parts = {"Workers, by the share of their answers that go with the clusters": best}
        if len(worst):
            parts = {f"Best workers (the first {ends})": best, f"Worst workers (the last {ends})": worst}
        header = ["worker", "answers", "skill", "95 % interval", 'says "same" of same', 'says "different" of different',
                  "flags"]  # fmt: skip
        return [Table(title, header, [self._line(row) for row in table.to_dicts()]) for title, table in parts.items()]

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
    """Of same or different; `gold` is not used (it is of items), `idle` is the longest pause that is still work."""
    del gold
    parts = looked_at(votes, result, idle=idle, judge=coins_judged)
    more = result.worker_table().drop("n_labels").with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(more, on="worker", how="left", maintain_order="left")
    own = list(coin_flags(votes))
    idlers, judged = {flag.worker for flag in own}, _judged(votes)
    rest = [flag for flag in parts["flags"] if not (flag.name == "unknown" and flag.worker in judged)]
    parts["flags"] = own + [f for f in rest if not (f.worker in idlers and f.name in ("constant", "random"))]
    return SimilarityStudy(**parts)


def flag_similarities(votes: Votes[Similarities], result: Result) -> list[Flag]:
    """All flags of a fit."""
    return study_similarities(votes, result).flags


def _judged(votes: Votes[Similarities]) -> set[Any]:
    """Workers with enough answers to be judged by the clusters, whoever else answered their pairs."""
    return set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())


def coins_judged(votes: Votes[Similarities], result: Result) -> Judged:
    """Random and adversarial workers by clusters that they had no part in."""
    picture, own = result.picture, result.estimate
    assert isinstance(picture, SimilarityWorkers)
    assert isinstance(own, SimilarityEstimate)
    signal = picture.hit + picture.rejection - 1
    n = votes.labels_per_worker
    heard = (n >= LEAST) & np.isfinite(signal)
    middle = float(np.median(signal[heard])) if heard.any() else 0.0

    def words(w: int) -> str:
        return (
            f"the two coins sum to {1 + signal[w]:.2f} (1: answers do not depend on the pair, below 1: the opposite "
            f"tells more) over {n[w]} answers, where the usual worker's sum to {1 + middle:.2f}"
        )

    at, there = lookup(own.items, votes.answers.items)
    belief = own.belief[at] if len(own.belief) else np.ones((0, 1))
    cluster = np.where(there, belief.argmax(axis=1), 0).astype(np.int64)
    found = coin_chances(pairs_of(votes), cluster, max(belief.shape[1], 1)) if middle > 0 else nobody(len(n))
    return Judged(found, words, "adversarial")


def coin_flags(votes: Votes[Similarities]) -> Iterator[Flag]:
    """Workers who give one answer far more often than the crowd."""
    from scipy.stats import binom

    pairs = pairs_of(votes)
    n = np.bincount(pairs.worker, minlength=votes.n_workers)
    yes = np.bincount(pairs.worker, weights=pairs.same, minlength=votes.n_workers)
    usual = float(pairs.same.mean()) if len(pairs) else 0.5
    for w in np.flatnonzero(n >= LEAST).tolist():
        most, share = max(yes[w], n[w] - yes[w]), usual if yes[w] >= n[w] - yes[w] else 1 - usual
        if most >= ONE_ANSWER * n[w] and binom.sf(most - 1, n[w], share) < UNLIKELY:
            word = "same" if yes[w] == most else "different"
            words = f'says "{word}" in {most:.0f} of {n[w]} answers, where the crowd does in {share:.0%}'
            yield Flag(votes.workers[w], "constant", evidence=words, of="similarities")
