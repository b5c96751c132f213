"""The workers of a fit of same or different: their two coins, agreement, flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...aggregate.similarities.base import pairs_of
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.similarities.answers import Similarities
from ...kinds.similarities.estimate import SimilarityWorkers
from ...scoring.scored import Table
from ..alike.flags import ALIKE_FLAGS, LEAST, as_sure
from ..alike.study import AlikeStudy, looked_at
from ..flags import Flag
from ..ranking import best_and_worst
from ..wording import between, number

F8 = npt.NDArray[np.float64]
# Random: the two coins sum to surely (so many standard errors) less than half of what the usual worker's do beyond 1.
SURE, HALF, TENTH = 3.0, 0.5, 0.1
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
    parts = looked_at(votes, result, idle=idle)
    more = result.worker_table().drop("n_labels").with_columns(pl.col("worker").cast(votes.workers.dtype))
    parts["quality"] = parts["quality"].join(more, on="worker", how="left", maintain_order="left")
    known = {flag.worker for flag in parts["flags"] if flag.name in ("constant", "random")}
    own = [flag for flag in coin_flags(votes, result) if flag.worker not in known]
    judged = {flag.worker for flag in own} | _judged(votes)
    parts["flags"] = own + [f for f in parts["flags"] if not (f.name == "unknown" and f.worker in judged)]
    return SimilarityStudy(**parts)


def flag_similarities(votes: Votes[Similarities], result: Result) -> list[Flag]:
    """All flags of a fit."""
    return study_similarities(votes, result).flags


def _judged(votes: Votes[Similarities]) -> set[Any]:
    """Workers with enough answers to be judged by the clusters, whoever else answered their pairs."""
    return set(votes.workers.gather(np.flatnonzero(votes.labels_per_worker >= LEAST)).to_list())


def coin_flags(votes: Votes[Similarities], result: Result) -> Iterator[Flag]:
    """Constant, random and adversarial workers by their coins against the clusters."""
    from scipy.stats import binom

    picture = result.picture
    assert isinstance(picture, SimilarityWorkers)
    pairs = pairs_of(votes)
    m = votes.n_workers
    n = np.bincount(pairs.worker, minlength=m)
    yes = np.bincount(pairs.worker, weights=pairs.same, minlength=m)
    usual = float(pairs.same.mean()) if len(pairs) else 0.5
    signal, error = _signal(picture, n)
    high = signal + as_sure(SURE, n) * error
    heard = (n >= LEAST) & np.isfinite(signal)
    middle = float(np.median(signal[heard])) if heard.any() else 0.0
    for w in np.flatnonzero(n >= LEAST).tolist():
        most, share = max(yes[w], n[w] - yes[w]), usual if yes[w] >= n[w] - yes[w] else 1 - usual
        if most >= ONE_ANSWER * n[w] and binom.sf(most - 1, n[w], share) < UNLIKELY:
            word = "same" if yes[w] == most else "different"
            words = f'says "{word}" in {most:.0f} of {n[w]} answers, where the crowd does in {share:.0%}'
            yield Flag(votes.workers[w], "constant", evidence=words, of="similarities")
        elif heard[w] and high[w] < 0:
            words = f"right {picture.skill[w]:.0%} of {n[w]} times: the opposite tells more"
            yield Flag(votes.workers[w], "adversarial", evidence=words, of="similarities")
        elif heard[w] and high[w] < HALF * middle and signal[w] - error[w] < TENTH:
            words = (f"the two coins sum to {1 + signal[w]:.2f} (1: answers do not depend on the pair) over {n[w]} "
                     f"answers, where the usual worker's sum to {1 + middle:.2f}")  # fmt: skip
            yield Flag(votes.workers[w], "random", evidence=words, of="similarities")


def _signal(picture: SimilarityWorkers, n: npt.NDArray[np.int64]) -> tuple[F8, F8]:
    """hit + rejection - 1 (0: the answers do not depend on the pair) and its standard error."""
    # The widths of the intervals tell how many pairs of each sort there were.
    parts = [(getattr(picture, f"{x}_high") - getattr(picture, f"{x}_low")) / 3.92 for x in ("hit", "rejection")]
    signal = picture.hit + picture.rejection - 1
    return np.where(n > 0, signal, np.nan), np.sqrt(parts[0] ** 2 + parts[1] ** 2)
