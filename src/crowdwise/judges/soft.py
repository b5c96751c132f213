"""The study of judges and raters where there is no single truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.result import Result
from ..evaluation.scores import Table
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.methods.judges import judge_verdicts, kinds_of
from ..kinds.classes.methods.voting import Subjective
from .metadata import is_person
from .subjective import SoftScores, group_tables, soft_scores

LEVEL = 0.05


@dataclass(frozen=True)
class Soft:
    """Distributions of labels instead of a single truth.

    Attributes:
        result: The distribution of people's labels on each task.
        scores: How well held-out raters are predicted.
        groups: Differences between groups of raters (None: not requested).
        tasks: Tasks on which groups of raters differ (None: not requested).
    """

    result: Result
    scores: SoftScores
    groups: pl.DataFrame | None = None
    tasks: pl.DataFrame | None = None

    def files(self) -> dict[str, pl.DataFrame]:
        """The tables by file name."""
        out = {"labels.csv": self.result.to_table(), "judges.csv": self.scores.judges}
        if self.groups is not None and self.tasks is not None:
            out |= {"groups.csv": self.groups, "tasks.csv": self.tasks}
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        scores = self.scores
        return {
            "subjective": True, "strength": scores.strength, "log_loss_shares": scores.shares,
            "log_loss_pooled": scores.pooled, "log_loss_raw": scores.raw, "judges": scores.judges.to_dicts(),
            "groups": None if self.groups is None else self.groups.to_dicts(),
        }  # fmt: skip

    def blocks(self) -> list[Table | str]:
        """Texts and tables for the terminal."""
        scores = self.scores
        rows = [["the crowd's distribution", f"{scores.pooled:.3f}"],
                [f"others' shares, shrunk by {scores.strength:g} raters", f"{scores.shares:.3f}"],
                ["others' raw shares", f"{scores.raw:.3f}"]]  # fmt: skip
        out: list[Table | str] = [
            "no single truth: each task has the distribution of its raters; a confidence is a share of raters",
            Table("Log-loss on held-out raters", ["predicted by", "log-loss"], rows),
        ]
        if len(scores.judges):
            table_rows = [[r["judge"], str(r["tasks"]), f"{r['log_loss']:.3f}", f"{r['less_than_chance']:.3f}"]
                    for r in scores.judges.sort("log_loss").iter_rows(named=True)]  # fmt: skip
            out.append(Table("Judges against people", ["judge", "tasks", "log-loss", "closer than chance"], table_rows))
        if self.groups is not None and self.tasks is not None:
            table_rows = [
                [r["group"], str(r["raters"]), r["class"], f"{r['difference']:+.3f}", f"{r['p_adjusted']:.3f}"]
                for r in self.groups.sort("p").head(12).iter_rows(named=True)
            ]
            head = ["group", "raters", "class", "more often by", "p, adjusted"]
            out.append(Table("Groups of raters (raters permuted)", head, table_rows))
            n = self.tasks.filter(pl.col("p_adjusted") <= LEVEL)["task"].n_unique()
            out.append(f"groups differ on {n} of {self.tasks['task'].n_unique()} tasks; neither is wrong there")
        return out


def soft(votes: Any, groups: str | None = None, seed: int = 0) -> Soft:
    """Study distributions of labels instead of a single truth.

    Args:
        votes: Labels of people and judges. Workers of unknown kind count as people.
        groups: A column about the workers; compares the groups of raters that it defines.
        seed: Seed of held-out raters and permutations.
    """
    votes = as_annotations(votes)
    people = is_person(votes)
    if not people.any():
        people = np.array([kind != "model" for kind in kinds_of(votes)], dtype=bool)
    scores = soft_scores(votes, judge_verdicts(votes), people, seed)
    crowd: Annotations = votes.take(people[votes.worker])
    result = Subjective(seed=seed, strength=scores.strength).fit(crowd)
    if groups is None:
        return Soft(result, scores)
    return Soft(result, scores, *group_tables(crowd, groups, seed))
