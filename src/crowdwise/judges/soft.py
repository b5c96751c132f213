"""The study of judges and raters where there is no single truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8, Mask
from ..core.errors import DataError
from ..core.result import Result
from ..core.side_tables import column_by
from ..core.vocabulary import quote
from ..evaluation.scores import Table
from ..kinds.classes.annotations import Annotations, as_annotations
from ..kinds.classes.maths.judges import choose_strength, divergence, group_difference, held_out, soft_labels
from ..kinds.classes.methods.judges import JudgeVerdicts, judge_verdicts, kinds_of
from ..kinds.classes.methods.voting import Subjective, rater_rows
from ..stats.discovery import adjusted
from .metadata import is_person

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


# ----------------------------------------------------------------
# Judges and groups of raters compared with the distribution of people's labels.


MIN_RATERS = 5
# Nearly no shrinkage. Shares without shrinkage have an infinite loss for classes that no other rater gave.
RAW = 1e-2


@dataclass(frozen=True)
class SoftScores:
    """Log-loss on held-out raters of the pooled distribution, of shrunk and raw shares of the others, and of judges."""

    strength: float
    pooled: float
    shares: float
    raw: float
    judges: pl.DataFrame


def soft_scores(votes: Annotations, verdicts: JudgeVerdicts, people: Mask, seed: int) -> SoftScores:
    """Compare judges with the distribution of people's labels: log-loss on those labels, corrected divergence."""
    rows = np.flatnonzero(people[votes.worker])
    if not len(rows):
        raise DataError("no worker is marked as a person; mark them in a column kind (human) about the workers")
    part = votes.take(rows)
    ratings = rater_rows(part)
    strength, losses = choose_strength(ratings)
    pooled, raw = held_out(ratings, np.inf), held_out(ratings, RAW)
    table = _judge_rows(votes, verdicts, people, part, strength, np.random.default_rng(seed))
    return SoftScores(strength, pooled, losses[f"{strength:g}"], raw, table)


def _judge_rows(
    votes: Annotations,
    verdicts: JudgeVerdicts,
    people: Mask,
    part: Annotations,
    strength: float,
    rng: np.random.Generator,
) -> pl.DataFrame:
    counts = part.votes
    truth, pool = soft_labels(counts, strength)
    out: list[dict[str, Any]] = []
    for judge in np.flatnonzero(~people):
        rows = np.flatnonzero(verdicts.judge == judge)
        rows = rows[counts[verdicts.task[rows]].sum(axis=1) > 0]
        if not len(rows):
            continue
        n = verdicts.rows[rows][:, None]
        belief = (n * verdicts.share[rows] + strength * pool) / (n + strength)
        observed = counts[verdicts.task[rows]]
        loss = float(-(observed * np.log(np.maximum(belief, 1e-300))).sum() / observed.sum())
        distance = divergence(belief, truth[verdicts.task[rows]])
        # The divergence from permuted tasks: what it would be by chance.
        chance = np.mean(
            [divergence(belief, truth[verdicts.task[rows]][rng.permutation(len(rows))]).mean() for _ in range(20)]
        )
        out.append(
            {
                "judge": str(votes.workers[int(judge)]),
                "tasks": len(rows),
                "log_loss": loss,
                "divergence": float(distance.mean()),
                "less_than_chance": float(chance - distance.mean()),
            }
        )
    schema = {"judge": pl.String, "tasks": pl.Int64, "log_loss": pl.Float64, "divergence": pl.Float64}
    return pl.DataFrame(out, schema=schema | {"less_than_chance": pl.Float64})


def group_tables(votes: Annotations, column: str, seed: int, draws: int = 1_000) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Test how the labels of each group of raters differ from those of all others, by permuting raters.

    Args:
        votes: Labels of the raters.
        column: Column about the workers that defines the groups.
        seed: Seed of the permutations.
        draws: Number of permutations.

    Returns:
        A table with a row per group and class, and a table with a row per group and task, with adjusted p-values.
    """
    names = column_by(votes.about_workers, column, votes.workers)
    if names is None:
        available = [] if votes.about_workers is None else votes.about_workers.columns[1:]
        raise DataError(f"no column {column!r} about the workers; there is {quote(available, 8) or 'none'}")
    rows: list[dict[str, Any]] = []
    tasks: list[pl.DataFrame] = []
    ratings = rater_rows(votes)
    compared, contrast = _contrast(votes)
    text = names.cast(pl.String)
    rng = np.random.default_rng(seed)
    for name in text.drop_nulls().unique().sort():
        group = np.where(text.is_null().to_numpy(), -1, (text == name).fill_null(False).to_numpy().astype(np.int64))
        if min((group == 1).sum(), (group == 0).sum()) < MIN_RATERS:
            continue
        difference = group_difference(ratings, group, contrast, rng, draws)
        for c, class_ in enumerate(compared):
            rows.append({"group": name, "raters": int((group == 1).sum()), "class": class_}
                        | {"difference": float(difference[0][c]), "p": float(difference[1][c])})  # fmt: skip
        tested = np.flatnonzero(np.isfinite(difference[3]))
        part = {"group": [name] * len(tested), "task": votes.tasks.gather(tested).cast(pl.String)}
        tasks.append(pl.DataFrame({**part, "divergence": difference[2][tested], "p": difference[3][tested],
                                   "p_adjusted": adjusted(difference[3][tested])}))  # fmt: skip
    if not rows:
        raise DataError(f"no group of {column!r} has {MIN_RATERS} raters and {MIN_RATERS} others to compare with")
    table = pl.DataFrame(rows)
    return table.with_columns(pl.Series("p_adjusted", adjusted(table["p"].to_numpy()))), pl.concat(tasks)


def _contrast(votes: Annotations) -> tuple[list[str], F8]:
    """The compared quantities: the share of each class and, where classes are numbers, their mean."""
    names = [str(name) for name in votes.classes.cast(pl.String)]
    scores = votes.classes.cast(pl.String).cast(pl.Float64, strict=False)
    shares = np.eye(len(names))
    if scores.null_count() or len(names) < 3:
        return names, shares
    return ["mean", *names], np.column_stack([scores.to_numpy(), shares])
