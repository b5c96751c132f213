"""Workers' own gaps between groups of tasks, and groups of raters who answer differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.side_tables import column_by
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...stats.discovery import adjusted
from ..guarantee.verdicts import coded, group_table
from .cells import Cells
from .maths import by_group, rater_p, worker_p

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
FALSE_SHARE = 0.1
# A worker is shown with fewer labels, and not tested.
LEAST = 10


def worker_counts(votes: Votes[Any], of: Cells) -> F8:
    """counts[worker, group, true, observed] of labels on tasks whose truth is known (without gold: on all tasks, held
    against the labels)."""
    k, g = len(of.found.classes), len(of.names)
    task, known = lookup(of.found.tasks, votes.tasks)
    truth = np.full(len(of.found), k, dtype=np.int64)
    if of.gold is None:
        truth = of.found.label.copy()
    else:
        truth[of.gold.task] = of.gold.label
    rows = known[votes.task] & (truth[task[votes.task]] < k)
    at = task[votes.task][rows]
    said = lookup(of.found.classes, votes.answers.classes)[0][votes.answers.label][rows]
    counts = np.zeros((votes.n_workers, g, k, k))
    np.add.at(counts, (votes.worker[rows], of.group[at], truth[at], said), 1.0)
    return counts


def worker_table(votes: Votes[Any], of: Cells, rng: np.random.Generator) -> tuple[pl.DataFrame, float]:
    """(a row for each worker and class, strength of the shrinkage): recall by group, largest gap, p and q."""
    counts = worker_counts(votes, of)
    shrunk, strength = by_group(counts)
    n = counts.sum(axis=-1).astype(np.int64)  # worker, group, true
    hits = np.diagonal(counts, axis1=2, axis2=3).astype(np.int64)
    tested = (n.sum(axis=(1, 2)) >= LEAST) & ((n.sum(axis=2) > 0).sum(axis=1) >= 2)
    p = np.full(len(n), np.nan)
    if tested.any():
        p[tested] = worker_p(hits[tested], n[tested], rng)
    q = np.full(len(n), np.nan)
    q[tested] = adjusted(p[tested])
    recall = np.diagonal(shrunk, axis1=2, axis2=3)  # worker, group, true
    seen = n.sum(axis=1) > 0
    workers, classes = np.nonzero(seen & (n.sum(axis=(1, 2)) > 0)[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = hits / n
    mine = recall[workers, :, classes]
    high, low = mine.argmax(axis=1), mine.argmin(axis=1)
    names = pl.Series([str(name) for name in of.names])
    row = np.arange(len(workers))
    table = pl.DataFrame({
        "worker": votes.workers.gather(workers),
        "class": of.found.classes.cast(pl.String).gather(classes),
        "n": n.sum(axis=1)[workers, classes],
        "high_group": names.gather(high), "low_group": names.gather(low),
        "gap": mine[row, high] - mine[row, low],
        "gap_raw": raw[workers, high, classes] - raw[workers, low, classes],
        "p": p[workers], "q": q[workers],
        "flag": (q[workers] <= FALSE_SHARE),
    })  # fmt: skip
    return table.with_columns(pl.col("gap_raw", "p", "q").fill_nan(None)), strength


def rater_table(votes: Votes[Any], of: Cells, groups: Any, rng: np.random.Generator) -> pl.DataFrame:
    """A row for each question and group of raters: what they say beside the others on the same tasks, p by permuting
    raters."""
    if isinstance(groups, str):
        column = column_by(votes.about_workers, groups, votes.workers)
        if column is None:
            raise DataError(f"the table about the workers has no column {groups!r}")
    else:
        column = column_by(group_table(groups, "worker"), "group", votes.workers)
    group, names = coded(column)
    used = (group < len(names)) & (votes.labels_per_worker > 0)
    if len(np.unique(group[used])) < 2:
        raise DataError("groups of raters need raters of at least two groups")
    rows = used[votes.worker]
    worker, task = (codes[rows].astype(np.int64) for codes in (votes.worker, votes.task))
    said = votes.answers.label[rows]
    at, there = lookup(of.found.tasks, votes.tasks)
    known = there[task]
    where = of.group[at[task[known]]]
    out: list[list[Any]] = []
    for code, name in enumerate(votes.answers.classes.to_list()):
        says = (said == code).astype(float)
        out += _tested(f"says {name}", says, worker, task, group, names, used, rng)
        out += _by_tasks(f"says {name}", says[known], worker[known], where, of, group, names, used, rng)
    if of.gold is not None:
        out += _against_gold(votes, of, rows, group, names, used, rng)
    columns = {"question": pl.String, "group": pl.String, "raters": pl.Int64, "mean": pl.Float64, "p": pl.Float64}
    return pl.DataFrame(out, columns, orient="row")


def _tested(
    question: str, x: F8, worker: I8, task: I8, group: I8, names: list[Any], used: Any, rng: np.random.Generator
) -> list[list[Any]]:
    """Values less the task's mean, so that who got which task does not matter; then raters are permuted."""
    n_tasks = int(task.max()) + 1
    mean = np.bincount(task, weights=x, minlength=n_tasks) / np.maximum(np.bincount(task, minlength=n_tasks), 1)
    left = x - mean[task]
    total = np.bincount(worker, weights=left, minlength=len(group))[used]
    n = np.bincount(worker, minlength=len(group))[used].astype(float)
    codes, mine = np.unique(group[used], return_inverse=True)
    means, p = rater_p(total, n, mine, rng)
    return [[question, str(names[c]), int((mine == i).sum()), float(means[i]), p] for i, c in enumerate(codes.tolist())]


def _against_gold(
    votes: Votes[Any], of: Cells, rows: Any, group: I8, names: list[Any], used: Any, rng: np.random.Generator
) -> list[list[Any]]:
    """Are they right, and are they right more often about one group of tasks than the other raters are?"""
    assert of.gold is not None
    k = len(of.found.classes)
    at, known = lookup(of.found.tasks, votes.tasks)
    truth = np.full(len(of.found), k, dtype=np.int64)
    truth[of.gold.task] = of.gold.label
    keep = rows & known[votes.task] & (truth[at[votes.task]] < k)
    said = lookup(of.found.classes, votes.answers.classes)[0][votes.answers.label]
    right = (said == truth[at[votes.task]])[keep].astype(float)
    worker, task = (codes[keep].astype(np.int64) for codes in (votes.worker, votes.task))
    if not len(right):
        return []
    out = _tested("is right", right, worker, task, group, names, used, rng)
    where = of.group[at[task]]
    return out + _by_tasks("is right", right, worker, where, of, group, names, used, rng)


def _by_tasks(
    question: str, x: F8, worker: I8, where: I8, of: Cells, group: I8, names: list[Any], used: Any,
    rng: np.random.Generator,
) -> list[list[Any]]:  # fmt: skip
    """A rater's mean in one group of tasks less that in the others, by group of raters: raters of both only."""
    out: list[list[Any]] = []
    m = len(group)
    for z, name in enumerate(of.names[:1] if len(of.names) == 2 else of.names):
        inside = where == z
        n1, n0 = (np.bincount(worker[part], minlength=m) for part in (inside, ~inside))
        r1, r0 = (np.bincount(worker[part], weights=x[part], minlength=m) for part in (inside, ~inside))
        both = used & (n1 > 0) & (n0 > 0)
        codes, mine = np.unique(group[both], return_inverse=True)
        if len(codes) < 2:
            continue
        weight = 1 / (1 / n1[both] + 1 / n0[both])
        gap = r1[both] / n1[both] - r0[both] / n0[both]
        means, p = rater_p(gap * weight, weight, mine, rng)
        out += [
            [f"{question} more often about {name}", str(names[c]), int((mine == i).sum()), float(means[i]), p]
            for i, c in enumerate(codes.tolist())
        ]
    return out
