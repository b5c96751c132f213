"""fairness: gaps between groups of tasks, workers' own gaps, groups of raters, and labels that keep gaps small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ..guarantee.gold import place
from ..guarantee.sampling import check_random, settle
from ..guarantee.verdicts import verdicts
from .cells import cells
from .gaps import gap_tables
from .labels import Target, labels_fair
from .workers import rater_table, worker_table

NO_GOLD = (
    "without gold only the shares of labels are known; workers are held against the labels themselves, and their gaps "
    "are lower bounds"
)


@dataclass(frozen=True)
class Fairness:
    """`gaps` between every two groups, `rates` of each group, `workers` and `raters` where they can be judged.

    `labels` are the fair ones where a target was given (they never replace the labels), `after` the gaps that they
    have; `expected` the accuracy before and after, as the programme expects it.
    """

    gaps: pl.DataFrame
    rates: pl.DataFrame
    workers: pl.DataFrame
    raters: pl.DataFrame
    labels: pl.DataFrame | None
    after: pl.DataFrame | None
    expected: tuple[float, float] | None
    strength: float | None
    target: str | None
    within: float
    n_gold: int
    notes: tuple[str, ...]

    @property
    def largest(self) -> pl.DataFrame:
        """The largest gap of each measure and class: max - min over the groups."""
        found = self.gaps.filter(pl.col("gap").is_not_null()).with_columns(pl.col("gap").abs().alias("size"))
        best = found.sort("size", descending=True, maintain_order=True).unique(
            ["measure", "class"], maintain_order=True
        )
        return best.drop("size")

    def files(self) -> dict[str, pl.DataFrame]:
        """What is written, by name."""
        out = {"gaps.csv": self.gaps, "rates.csv": self.rates, "workers_gaps.csv": self.workers}
        if len(self.raters):
            out["raters.csv"] = self.raters
        if self.labels is not None:
            out["labels_fair.csv"] = self.labels
        if self.after is not None:
            out["gaps_fair.csv"] = self.after
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        tables = {name.removesuffix(".csv"): table.to_dicts() for name, table in self.files().items()}
        return {
            **tables, "target": self.target, "within": self.within, "n_gold": self.n_gold,
            "accuracy_expected": self.expected, "strength": self.strength, "notes": list(self.notes),
        }  # fmt: skip


def fairness(
    given: Any,
    *,
    groups: Any,
    gold: Any = None,
    worker_groups: Any = None,
    target: Target | None = None,
    within: float = 0.02,
    level: float = 0.95,
    sampling: Any = "random",
    for_: str = "new",
    votes: Votes[Any] | None = None,
    seed: int = 0,
) -> Fairness:
    """Are labels as good for one group of tasks as for another, and do groups of raters answer differently?

    `groups` and `worker_groups` are tables or mappings task (worker) to group, or columns of what is known of them.
    Shares of labels need no gold; recall, false rate and accuracy do, drawn at random. `target` "parity",
    "opportunity" (recall) or "odds" (recall and false rate) also finds labels whose rates differ by at most `within`.
    Intervals are for new tasks of this kind, or for_="these".

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=200, workers=8, seed=1)
    >>> votes = crowd.annotations
    >>> z = {task: "ab"[i % 2] for i, task in enumerate(votes.tasks)}
    >>> found = cw.fairness(votes, gold=crowd.truth_table().head(120), groups=z)
    >>> found.gaps.columns[:5]
    ['measure', 'class', 'group', 'other', 'gap']
    """
    if not 0 <= within <= 1:
        raise ParameterError(f"within must be from 0 to 1, got {within}")
    if target not in (None, "parity", "opportunity", "odds"):
        raise ParameterError(f"target must be parity, opportunity or odds, got {target!r}")
    votes = given if isinstance(given, Votes) else votes
    found = verdicts(given, votes)
    if found.value is not None:
        raise ParameterError("fairness is for classes; numbers have none")
    sample = None
    notes: list[str] = []
    if gold is not None:
        sample, found = place(gold, found, None if votes is None else votes.about_workers)
        how, sample, notes = settle(sampling, sample, found)
        if how == "random":
            check_random(sample, found)
    else:
        notes.append(NO_GOLD)
    rng = np.random.default_rng([seed, 0xFA1])
    of = cells(found, groups, sample)
    gap_table, rate_table = gap_tables(of, level, for_ == "new", rng)
    workers, strength = worker_table(votes, of, rng) if votes is not None else (pl.DataFrame(), None)
    raters = pl.DataFrame()
    if worker_groups is not None:
        if votes is None:
            raise ParameterError("groups of raters need the votes; pass votes=")
        raters = rater_table(votes, of, worker_groups, rng)
    labels, after, expected = None, None, None
    if target is not None:
        labels, after, expected = labels_fair(of, target, within, seed, level, for_ == "new", rng)
    n_gold = 0 if of.gold is None else len(of.gold)
    return Fairness(
        gap_table, rate_table, workers, raters, labels, after, expected, strength, target, within, n_gold, tuple(notes)
    )
