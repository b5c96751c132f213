"""Workers who gave probabilities: by distances, and by how far the truth moves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.result import Result
from ...core.votes import Votes
from ...stats.abilities import by_means
from ...workers.distance_based import LEAST, AlikeStudy, Judged, looked_at
from ...workers.flags import Flag
from ...workers.studied import best_and_worst, number
from .fitting import rows_of
from .kind import Probabilities
from .maths import CLIP, HELD, gaps_by_others, signals

F8 = npt.NDArray[np.float64]
# Answers whose error the crowd's stands for.
DRAWN = 8.0


@dataclass(frozen=True, eq=False)
class ProbabilityStudy(AlikeStudy):
    """As for every kind with a distance. `quality` has also, in log odds, shift (where they stand when they know
    nothing) and gap with _low and _high (how far they move with what everybody else makes of the task)."""


def study_probabilities(
    votes: Votes[Probabilities], result: Result, *, gold: Any = None, idle: float = 600.0
) -> ProbabilityStudy:
    """Of probabilities. `gold` adds distances from known outcomes."""
    seen = signals(rows_of(votes), None, CLIP, HELD, 200, 1e-8)
    gap, error = gaps_by_others(rows_of(votes), seen, CLIP)
    parts = looked_at(votes, result, gold=gold, idle=idle, judge=lambda these, _: _moved(these, gap, error))
    quality: pl.DataFrame = parts["quality"]
    own = {"shift": seen.shift, "gap": gap, "gap_low": gap - 1.96 * error, "gap_high": gap + 1.96 * error}
    parts["quality"] = quality.with_columns(pl.Series(name, values).fill_nan(None) for name, values in own.items())
    return ProbabilityStudy(**parts)


def _moved(votes: Votes[Probabilities], gap: F8, error: F8) -> Judged:
    """Whom the tasks do not move, or move the other way, beside how far they move the crowd."""
    n = votes.labels_per_worker.astype(np.float64)
    known = (n >= LEAST) & np.isfinite(gap) & np.isfinite(error)
    usual = float(np.median(gap[known])) if known.any() else 0.0
    # Somebody who says one number always has no error at all: theirs is drawn to the crowd's.
    wide = float(np.median(error[known])) if known.any() else 1.0
    held = np.sqrt((n * np.nan_to_num(error) ** 2 + DRAWN * wide**2) / (n + DRAWN))

    def words(w: int) -> str:
        told = (
            f"what the others think likely moves them by {number(gap[w], 2)} ± {number(2 * error[w], 2)} in log odds "
            f"over {votes.labels_per_worker[w]:,} answers, where it moves the usual worker by {number(usual, 2)}"
        )
        return told + "; is their scale upside down?" * bool(gap[w] < 0)

    return Judged(by_means(gap, held, n - 2 + DRAWN, known), words)


def flag_probabilities(votes: Votes[Probabilities], result: Result) -> list[Flag]:
    """All flags."""
    return study_probabilities(votes, result).flags


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """The workers with most and with least say."""
    table = result.worker_table()
    table = table.with_columns(pl.col("weight").alias("weight_low"), pl.col("weight").alias("weight_high"))
    best, worst = best_and_worst(table, limit, "weight")
    rows = [
        [str(row["worker"]), f"{row['n_labels']:,}", *(number(row[name], 2) for name in ("weight", "shift", "gap"))]
        for row in best.vstack(worst.reverse()).to_dicts()
    ]
    if len(worst):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "answers", "say", "shift", "gap"], rows
