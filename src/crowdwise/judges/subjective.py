"""Judges and groups of raters where there is no single truth: people's distributions are what counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.side_tables import column_by
from ..core.vocabulary import quote
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.maths.judges import choose_strength, divergence, group_difference, held_out, soft_labels
from ..kinds.classes.methods.judges import Voices
from ..kinds.classes.methods.voting import rater_rows
from ..stats.discovery import adjusted

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MIN_RATERS = 5
# As good as no strength: the shares themselves, which cannot be scored where nobody else said a class.
RAW = 1e-2


@dataclass(frozen=True)
class SoftScores:
    """How well held-out raters are predicted: by nothing but the pool, by the shares of others, by the judges."""

    strength: float
    pooled: float
    shares: float
    raw: float
    judges: pl.DataFrame


def soft_scores(votes: Annotations, said: Voices, people: Mask, seed: int) -> SoftScores:
    """Judges (who are not people) against people's distribution: log-loss on people's labels, corrected divergence."""
    rows = np.flatnonzero(people[votes.worker])
    if not len(rows):
        raise DataError("nobody here is said to be a person; name them in a column kind (human) about the workers")
    part = votes.take(rows)
    told = rater_rows(part)
    strength, losses = choose_strength(told)
    pooled, raw = held_out(told, np.inf), held_out(told, RAW)
    table = _judge_rows(votes, said, people, part, strength, np.random.default_rng(seed))
    return SoftScores(strength, pooled, losses[f"{strength:g}"], raw, table)


def _judge_rows(
    votes: Annotations, said: Voices, people: Mask, part: Annotations, strength: float, rng: np.random.Generator
) -> pl.DataFrame:
    counts = part.votes
    truth, pool = soft_labels(counts, strength)
    out: list[dict[str, Any]] = []
    for judge in np.flatnonzero(~people):
        own = np.flatnonzero(said.judge == judge)
        own = own[counts[said.task[own]].sum(axis=1) > 0]
        if not len(own):
            continue
        n = said.rows[own][:, None]
        belief = (n * said.share[own] + strength * pool) / (n + strength)
        seen = counts[said.task[own]]
        loss = float(-(seen * np.log(np.maximum(belief, 1e-300))).sum() / seen.sum())
        apart = divergence(belief, truth[said.task[own]])
        # What the same beliefs give on other tasks: how far apart they would be by chance.
        chance = np.mean(
            [divergence(belief, truth[said.task[own]][rng.permutation(len(own))]).mean() for _ in range(20)]
        )
        out.append(
            {
                "judge": str(votes.workers[int(judge)]),
                "tasks": len(own),
                "log_loss": loss,
                "divergence": float(apart.mean()),
                "less_than_chance": float(chance - apart.mean()),
            }
        )
    schema = {"judge": pl.String, "tasks": pl.Int64, "log_loss": pl.Float64, "divergence": pl.Float64}
    return pl.DataFrame(out, schema=schema | {"less_than_chance": pl.Float64})


def group_tables(votes: Annotations, column: str, seed: int, draws: int = 1_000) -> tuple[pl.DataFrame, pl.DataFrame]:
    """How far each group of raters (by a column about the workers) says other things than all others, class by class,
    with raters permuted; and tasks on which it does, corrected for looking at many."""
    names = column_by(votes.about_workers, column, votes.workers)
    if names is None:
        known = [] if votes.about_workers is None else votes.about_workers.columns[1:]
        raise DataError(f"nothing called {column!r} is known of the workers; there is {quote(known, 8) or 'nothing'}")
    rows: list[dict[str, Any]] = []
    tasks: list[pl.DataFrame] = []
    told = rater_rows(votes)
    compared, contrast = _contrast(votes)
    text = names.cast(pl.String)
    rng = np.random.default_rng(seed)
    for name in text.drop_nulls().unique().sort():
        group = np.where(text.is_null().to_numpy(), -1, (text == name).fill_null(False).to_numpy().astype(np.int64))
        if min((group == 1).sum(), (group == 0).sum()) < MIN_RATERS:
            continue
        found = group_difference(told, group, contrast, rng, draws)
        for c, class_ in enumerate(compared):
            rows.append({"group": name, "raters": int((group == 1).sum()), "class": class_}
                        | {"difference": float(found[0][c]), "p": float(found[1][c])})  # fmt: skip
        seen = np.flatnonzero(np.isfinite(found[3]))
        part = {"group": [name] * len(seen), "task": votes.tasks.gather(seen).cast(pl.String)}
        tasks.append(pl.DataFrame({**part, "divergence": found[2][seen], "p": found[3][seen],
                                   "p_adjusted": adjusted(found[3][seen])}))  # fmt: skip
    if not rows:
        raise DataError(f"no group of {column!r} has {MIN_RATERS} raters and {MIN_RATERS} others to compare with")
    table = pl.DataFrame(rows)
    return table.with_columns(pl.Series("p_adjusted", adjusted(table["p"].to_numpy()))), pl.concat(tasks)


def _contrast(votes: Annotations) -> tuple[list[str], F8]:
    """What is compared: the share of each class and, where classes are numbers, their mean."""
    names = [str(name) for name in votes.classes.cast(pl.String)]
    scores = votes.classes.cast(pl.String).cast(pl.Float64, strict=False)
    shares = np.eye(len(names))
    if scores.null_count() or len(names) < 3:
        return names, shares
    return ["mean", *names], np.column_stack([scores.to_numpy(), shares])
