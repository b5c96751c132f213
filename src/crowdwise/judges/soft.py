"""A study of judges and raters where there is no single truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.result import Result
from ..evaluation.scores import Table
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.methods.judges import kinds_of, voices
from ..kinds.classes.methods.voting import Subjective
from .known import is_person
from .subjective import SoftScores, group_tables, soft_scores

LEVEL = 0.05


@dataclass(frozen=True)
class Soft:
    """`result` holds people's distributions, `scores` how well held-out raters are predicted, `groups` and `tasks` how
    groups of raters differ (None: nobody asked)."""

    result: Result
    scores: SoftScores
    groups: pl.DataFrame | None = None
    tasks: pl.DataFrame | None = None

    def files(self) -> dict[str, pl.DataFrame]:
        """The tables by the names of their files."""
        out = {"labels.csv": self.result.to_table(), "judges.csv": self.scores.judges}
        if self.groups is not None and self.tasks is not None:
            out |= {"groups.csv": self.groups, "tasks.csv": self.tasks}
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        of = self.scores
        return {
            "subjective": True, "strength": of.strength, "log_loss_shares": of.shares, "log_loss_pooled": of.pooled,
            "log_loss_raw": of.raw, "judges": of.judges.to_dicts(),
            "groups": None if self.groups is None else self.groups.to_dicts(),
        }  # fmt: skip

    def blocks(self) -> list[Table | str]:
        """For a terminal."""
        of = self.scores
        rows = [["the crowd's distribution", f"{of.pooled:.3f}"],
                [f"others' shares, shrunk by {of.strength:g} raters", f"{of.shares:.3f}"],
                ["others' raw shares", f"{of.raw:.3f}"]]  # fmt: skip
        out: list[Table | str] = [
            "no single truth: each task has the distribution of its raters; a confidence is a share of raters",
            Table("Log-loss on held-out raters", ["predicted by", "log-loss"], rows),
        ]
        if len(of.judges):
            told = [[r["judge"], str(r["tasks"]), f"{r['log_loss']:.3f}", f"{r['less_than_chance']:.3f}"]
                    for r in of.judges.sort("log_loss").iter_rows(named=True)]  # fmt: skip
            out.append(Table("Judges against people", ["judge", "tasks", "log-loss", "closer than chance"], told))
        if self.groups is not None and self.tasks is not None:
            told = [[r["group"], str(r["raters"]), r["class"], f"{r['difference']:+.3f}", f"{r['p_adjusted']:.3f}"]
                    for r in self.groups.sort("p").head(12).iter_rows(named=True)]  # fmt: skip
            head = ["group", "raters", "class", "more often by", "p, adjusted"]
            out.append(Table("Groups of raters (raters permuted)", head, told))
            n = self.tasks.filter(pl.col("p_adjusted") <= LEVEL)["task"].n_unique()
            out.append(
                f"{n} of {self.tasks['task'].n_unique()} tasks divide a group from the others; nobody is wrong on them"
            )
        return out


def soft(votes: Any, groups: str | None = None, seed: int = 0) -> Soft:
    """Distributions instead of one truth. Workers of whom nobody says what they are count as people."""
    votes = as_annotations(votes)
    people = is_person(votes)
    if not people.any():
        people = np.array([kind != "model" for kind in kinds_of(votes)], dtype=bool)
    scores = soft_scores(votes, voices(votes), people, seed)
    crowd: Annotations = votes.take(people[votes.worker])
    result = Subjective(seed=seed, strength=scores.strength).fit(crowd)
    if groups is None:
        return Soft(result, scores)
    return Soft(result, scores, *group_tables(crowd, groups, seed))
