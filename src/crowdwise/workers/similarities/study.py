"""The workers of a fit of same or different: their two coins, agreement, flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...aggregate.similarities.base import pairs_of
from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityEstimate, SimilarityWorkers
from ...maths.alike.population import nobody
from ...scoring.scored import Table
from ..alike.flags import ALIKE_FLAGS
from ..alike.judged import LEAST, Judged
from ..alike.study import AlikeStudy, looked_at
from ..flags import Flag
from ..ranking import best_and_worst
from ..wording import between, number
from .judging import coin_chances

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
