"""Scores of lines against the truth, and what is shown of lines."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import polars as pl

from crowdwise.core.describe import common
from crowdwise.core.errors import DataError
from crowdwise.core.result import Result
from crowdwise.core.vocabulary import lookup
from crowdwise.evaluation.evaluate import ALL_GOLD, among
from crowdwise.evaluation.scores import Scores, Table
from crowdwise.stats.bootstrap import bootstrap_interval

from .fitting import line_truth
from .maths import distances, pixels_apart


class LineScores(Scores):
    """Scores over the tasks whose true lines are known."""

    NAMES: ClassVar = {"similarity": "1 - distance by length", "pixels": "mean distance in pixels"}
    HEADLINE: ClassVar = ("similarity", "pixels")


def evaluate(result, truth, *, fit_gold=None, resamples=0, seed=0):
    """Score a result, or a table with the columns task, line."""
    if isinstance(result, Result):
        tasks, estimated = result.tasks, result.estimate.answers
    else:
        tasks, estimated = line_truth(result.select("task", "line"))
    names, true = line_truth(truth)
    order = tasks.arg_sort().to_numpy()
    at, present = lookup(tasks.gather(order), names)
    if not present.any():
        raise DataError("none of the tasks in the truth has a line here; do the task ids match?")
    gold = present & among(names, fit_gold)
    rows = np.flatnonzero(present & ~gold)
    if not len(rows):
        raise DataError(ALL_GOLD.format(n=int(gold.sum())))
    a, b = estimated.resampled[order[at[rows]]], true.resampled[rows]
    terms = np.column_stack([1 - distances(a, b), pixels_apart(a, b), np.ones(len(rows))])
    intervals = {}
    if resamples:
        rng = np.random.default_rng(seed)
        for j, name in enumerate(LineScores.NAMES):
            ends = bootstrap_interval(terms, lambda sums, j=j: sums[:, j] / sums[:, 2], 0.95, rng)
            intervals |= {} if ends is None else {name: ends}
    return LineScores(
        n=len(rows),
        scores=dict(zip(LineScores.NAMES, terms[:, :2].mean(axis=0).tolist(), strict=True)),
        intervals=intervals,
        truths_without_labels=int((~present).sum()),
        n_gold_left_out=int(gold.sum()),
    )


def describe(votes):
    """Facts about the votes."""
    return {**common(votes), "points_per_line": float(votes.answers.length.mean()) if len(votes) else None}


def inspect(facts):
    """Rows of the table of sizes, further tables, advice."""
    mean = facts["points_per_line"]
    return [["points per line", "–" if mean is None else f"{mean:.1f}"]], [], []


def show(result):
    """A summary, and the tasks on which the workers differ most."""
    table = result.to_table().sort("apart", descending=True, nulls_last=True).head(5)
    rows = [[str(task), f"{apart:.1f}"] for task, apart in table.select("task", pl.col("apart").fill_null(0)).rows()]
    return result.estimate.summary(), [Table("Most disputed tasks", ["task", "mean distance"], rows)]


def worker_rows(result, limit):
    """Header and rows of the workers nearest to the estimates and farthest from them."""
    table = result.worker_table().drop_nulls("off").sort("off")
    shown = table if len(table) <= 2 * limit else table.head(limit).vstack(table.tail(limit))
    return ["worker", "mean distance"], [[str(w), f"{off:.1f}"] for w, off in shown.select("worker", "off").iter_rows()]
