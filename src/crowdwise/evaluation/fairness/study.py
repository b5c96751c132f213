"""`fairness`: gaps between groups of tasks, gaps of single workers, groups of raters, and labels with small gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ..guarantee.gold import place
from ..guarantee.sampling import check_random, resolve_design
from ..guarantee.verdicts import as_verdicts
from .gaps import gap_tables
from .group_counts import count_groups
from .labels import Target, fair_label_table
from .workers import rater_table, worker_table

NO_GOLD = (
    "without gold only the shares of labels are known; workers are compared with the labels themselves, and their gaps "
    "are lower bounds"
)


@dataclass(frozen=True)
class Fairness:
    """Result of `fairness`.

    Attributes:
        gaps: Gap of each measure and class between every two groups.
        rates: Rates of each group.
        workers: Gaps of single workers.
        raters: Comparison of groups of raters.
        labels: Fair labels, if a target was given; they never replace the labels.
        after: Gaps of the fair labels.
        expected: Accuracy before and after, as expected by the linear program.
        strength: Strength of the shrinkage of workers' gaps.
        target: The target of the fair labels.
        within: Highest difference of rates allowed by the target.
        n_gold: Number of gold labels.
        notes: Notes for the reader.
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
        gaps = self.gaps.filter(pl.col("gap").is_not_null()).with_columns(pl.col("gap").abs().alias("size"))
        largest = gaps.sort("size", descending=True, maintain_order=True).unique(
            ["measure", "class"], maintain_order=True
        )
        return largest.drop("size")

    def files(self) -> dict[str, pl.DataFrame]:
        """Return the tables by file name."""
        out = {"gaps.csv": self.gaps, "rates.csv": self.rates, "workers_gaps.csv": self.workers}
        if len(self.raters):
            out["raters.csv"] = self.raters
        if self.labels is not None:
            out["labels_fair.csv"] = self.labels
        if self.after is not None:
            out["gaps_fair.csv"] = self.after
        return out

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
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
    population: str = "new",
    votes: Votes[Any] | None = None,
    seed: int = 0,
) -> Fairness:
    """Compare the quality of labels between groups of tasks, and the answers of groups of raters.

    Args:
        given: A result, or votes.
        groups: Table or mapping task to group, or the name of a column about the tasks.
        gold: Known labels of tasks drawn at random; needed for recall, false rate and accuracy, not for label shares.
        worker_groups: The same for the workers.
        target: "parity", "opportunity" (recall) or "odds" (recall and false rate): also find labels whose rates differ
            by at most `within`.
        within: Highest difference of rates for the target.
        level: Level of the intervals.
        sampling: How the gold was drawn, or a `Draw`.
        population: Whether intervals are for "new" tasks of this kind or for "these" tasks.
        votes: The votes behind a result.
        seed: Seed of intervals and tests.

    Returns:
        The gaps, rates and comparisons.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=200, workers=8, seed=1)
    >>> votes = crowd.annotations
    >>> z = {task: "ab"[i % 2] for i, task in enumerate(votes.tasks)}
    >>> study = cw.fairness(votes, gold=crowd.truth_table().head(120), groups=z)
    >>> study.gaps.columns[:5]
    ['measure', 'class', 'group', 'other', 'gap']
    """
    if not 0 <= within <= 1:
        raise ParameterError(f"within must be from 0 to 1, got {within}")
    if target not in (None, "parity", "opportunity", "odds"):
        raise ParameterError(f"target must be parity, opportunity or odds, got {target!r}")
    votes = given if isinstance(given, Votes) else votes
    verdicts = as_verdicts(given, votes)
    if verdicts.value is not None:
        what = "numbers" if votes is None else votes.kind.display_name
        raise ParameterError(f"fairness works on classes, not on {what}")
    sample = None
    notes: list[str] = []
    if gold is not None:
        sample, verdicts = place(gold, verdicts, None if votes is None else votes.about_workers)
        design, sample, notes = resolve_design(sampling, sample, verdicts)
        if design == "random":
            check_random(sample, verdicts)
    else:
        notes.append(NO_GOLD)
    rng = np.random.default_rng([seed, 0xFA1])
    counts_by_group = count_groups(verdicts, groups, sample)
    gap_table, rate_table = gap_tables(counts_by_group, level, population == "new", rng)
    workers, strength = worker_table(votes, counts_by_group, rng) if votes is not None else (pl.DataFrame(), None)
    raters = pl.DataFrame()
    if worker_groups is not None:
        if votes is None:
            raise ParameterError("worker_groups needs the votes; pass votes=")
        raters = rater_table(votes, counts_by_group, worker_groups, rng)
    labels, after, expected = None, None, None
    if target is not None:
        labels, after, expected = fair_label_table(
            counts_by_group, target, within, seed, level, population == "new", rng
        )
    n_gold = 0 if counts_by_group.gold is None else len(counts_by_group.gold)
    return Fairness(
        gap_table, rate_table, workers, raters, labels, after, expected, strength, target, within, n_gold, tuple(notes)
    )
