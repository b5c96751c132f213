"""Quality and flags of workers who give probabilities: distances, and how far the truth moves their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8
from ...core.result import Result
from ...core.votes import Votes
from ...stats.abilities import posterior_from_means
from ...workers.distance_based import LEAST, BehaviourFlags, DistanceStudy, study_parts
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, number
from .answers import Probabilities
from .fitting import rows_of
from .maths import CLIP, PRIOR_WEIGHT, gaps_by_others, signals

# Weight of the crowd's error in a worker's, in answers.
DRAWN = 8.0


@dataclass(frozen=True, eq=False)
class ProbabilityStudy(DistanceStudy):
    """Study of workers who give probabilities.

    Besides the columns of `DistanceStudy`, `quality` has, in log odds, `shift` (mean answer independent of the truth)
    and `gap` with its interval (how far the answers move with the estimates by the other workers).
    """


def study_probabilities(
    votes: Votes[Probabilities], result: Result, *, gold: Any = None, idle: float = 600.0
) -> ProbabilityStudy:
    """Study the workers of a fit of probabilities. The options are those of `study_by_distance`."""
    fit = signals(rows_of(votes), None, CLIP, PRIOR_WEIGHT, 200, 1e-8)
    gap, error = gaps_by_others(rows_of(votes), fit, CLIP)
    parts = study_parts(votes, result, gold=gold, idle=idle, judge=lambda these, _: _judge_gaps(these, gap, error))
    quality: pl.DataFrame = parts["quality"]
    columns = {"shift": fit.shift, "gap": gap, "gap_low": gap - 1.96 * error, "gap_high": gap + 1.96 * error}
    parts["quality"] = quality.with_columns(pl.Series(name, values).fill_nan(None) for name, values in columns.items())
    return ProbabilityStudy(**parts)


def _judge_gaps(votes: Votes[Probabilities], gap: F8, error: F8) -> BehaviourFlags:
    """Find workers whose answers do not depend on the task, or do so in the wrong direction."""
    n = votes.labels_per_worker.astype(np.float64)
    is_judged = (n >= LEAST) & np.isfinite(gap) & np.isfinite(error)
    usual = float(np.median(gap[is_judged])) if is_judged.any() else 0.0
    # A worker who always gives the same number has no error: it is shrunk to the crowd's.
    wide = float(np.median(error[is_judged])) if is_judged.any() else 1.0
    pooled_error = np.sqrt((n * np.nan_to_num(error) ** 2 + DRAWN * wide**2) / (n + DRAWN))

    def words(w: int) -> str:
        text = (
            f"the answers move by {number(gap[w], 2)} ± {number(2 * error[w], 2)} in log odds with the others' "
            f"estimates, over {votes.labels_per_worker[w]:,} answers; those of the median worker by {number(usual, 2)}"
        )
        return text + "; do they use the scale upside down?" * bool(gap[w] < 0)

    return BehaviourFlags(posterior_from_means(gap, pooled_error, n - 2 + DRAWN, is_judged), words)


def flag_probabilities(votes: Votes[Probabilities], result: Result) -> list[Flag]:
    """Return all flags of a fit of probabilities."""
    return study_probabilities(votes, result).flags


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """Return a header and rows of the workers with the highest and lowest weights."""
    table = result.worker_table()
    table = table.with_columns(pl.col("weight").alias("weight_low"), pl.col("weight").alias("weight_high"))
    best, worst = best_and_worst(table, limit, "weight")
    rows = [
        [str(row["worker"]), f"{row['n_labels']:,}", *(number(row[name], 2) for name in ("weight", "shift", "gap"))]
        for row in best.vstack(worst.reverse()).to_dicts()
    ]
    if len(worst):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "answers", "weight", "shift", "gap"], rows
