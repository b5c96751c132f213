"""Gaps of single workers between groups of tasks, and differences between groups of raters."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.side_tables import column_by
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...stats.discovery import adjusted
from ..guarantee.verdicts import coded, group_table
from .group_counts import GroupCounts
from .maths import by_group, rater_p, worker_p

FALSE_SHARE = 0.1
# Workers with fewer labels are listed but not tested.
LEAST = 10


def worker_counts(votes: Votes[Any], cells: GroupCounts) -> F8:
    """Return counts[worker, group, true, observed] of labels on tasks with known truth.

    Without gold the labels of all tasks take the place of the truth.
    """
    k, g = len(cells.verdicts.classes), len(cells.names)
    task, is_known = lookup(cells.verdicts.tasks, votes.tasks)
    truth = np.full(len(cells.verdicts), k, dtype=np.int64)
    if cells.gold is None:
        truth = cells.verdicts.label.copy()
    else:
        truth[cells.gold.task] = cells.gold.label
    rows = is_known[votes.task] & (truth[task[votes.task]] < k)
    at = task[votes.task][rows]
    label = lookup(cells.verdicts.classes, votes.answers.classes)[0][votes.answers.label][rows]
    counts = np.zeros((votes.n_workers, g, k, k))
    np.add.at(counts, (votes.worker[rows], cells.group[at], truth[at], label), 1.0)
    return counts


def worker_table(votes: Votes[Any], cells: GroupCounts, rng: np.random.Generator) -> tuple[pl.DataFrame, float]:
    """Return (a row for each worker and class, strength of the shrinkage): recall by group, largest gap, p and q."""
    counts = worker_counts(votes, cells)
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
    has_labels = n.sum(axis=1) > 0
    workers, classes = np.nonzero(has_labels & (n.sum(axis=(1, 2)) > 0)[:, None])
    with np.errstate(invalid="ignore", divide="ignore"):
        raw = hits / n
    worker_recall = recall[workers, :, classes]
    high, low = worker_recall.argmax(axis=1), worker_recall.argmin(axis=1)
    names = pl.Series([str(name) for name in cells.names])
    row = np.arange(len(workers))
    table = pl.DataFrame({
        "worker": votes.workers.gather(workers),
        "class": cells.verdicts.classes.cast(pl.String).gather(classes),
        "n": n.sum(axis=1)[workers, classes],
        "high_group": names.gather(high), "low_group": names.gather(low),
        "gap": worker_recall[row, high] - worker_recall[row, low],
        "gap_raw": raw[workers, high, classes] - raw[workers, low, classes],
        "p": p[workers], "q": q[workers],
        "flag": (q[workers] <= FALSE_SHARE),
    })  # fmt: skip
    return table.with_columns(pl.col("gap_raw", "p", "q").fill_nan(None)), strength


def rater_table(votes: Votes[Any], cells: GroupCounts, groups: Any, rng: np.random.Generator) -> pl.DataFrame:
    """Return a row for each question and group of raters: their answers relative to the others on the same tasks.

    p-values come from permuting raters.
    """
    if isinstance(groups, str):
        column = column_by(votes.about_workers, groups, votes.workers)
        if column is None:
            raise DataError(f"the table about the workers has no column {groups!r}")
    else:
        column = column_by(group_table(groups, "worker"), "group", votes.workers)
    group, names = coded(column)
    is_used = (group < len(names)) & (votes.labels_per_worker > 0)
    if len(np.unique(group[is_used])) < 2:
        raise DataError("groups of raters need raters of at least two groups")
    test = _RaterTest(group, names, is_used, rng)
    rows = is_used[votes.worker]
    worker, task = (codes[rows].astype(np.int64) for codes in (votes.worker, votes.task))
    label = votes.answers.label[rows]
    at, has_verdict = lookup(cells.verdicts.tasks, votes.tasks)
    is_known = has_verdict[task]
    task_group = cells.group[at[task[is_known]]]
    out: list[list[Any]] = []
    for code, name in enumerate(votes.answers.classes.to_list()):
        is_class = (label == code).astype(float)
        out += test.overall(f"says {name}", is_class, worker, task)
        out += test.by_task_group(f"says {name}", is_class[is_known], worker[is_known], task_group, cells.names)
    if cells.gold is not None:
        out += _against_gold(votes, cells, rows, test)
    columns = {"question": pl.String, "group": pl.String, "raters": pl.Int64, "mean": pl.Float64, "p": pl.Float64}
    return pl.DataFrame(out, columns, orient="row")


class _RaterTest(NamedTuple):
    """Permutation tests of differences between groups of raters: group[rater], its names, and the raters to compare."""

    group: I8
    names: list[Any]
    is_used: Mask
    rng: np.random.Generator

    def overall(self, question: str, x: F8, worker: I8, task: I8) -> list[list[Any]]:
        """Center values within tasks, so that the assignment of tasks does not matter, and permute raters."""
        n_tasks, n_raters = int(task.max()) + 1, len(self.group)
        mean = np.bincount(task, weights=x, minlength=n_tasks) / np.maximum(np.bincount(task, minlength=n_tasks), 1)
        total = np.bincount(worker, weights=x - mean[task], minlength=n_raters)[self.is_used]
        n = np.bincount(worker, minlength=n_raters)[self.is_used].astype(float)
        return self._rows(question, np.asarray(total), n, self.is_used)

    def by_task_group(
        self, question: str, x: F8, worker: I8, task_group: I8, group_names: list[Any]
    ) -> list[list[Any]]:
        """Test a rater's mean in one group of tasks minus that in the others; only raters with answers in both."""
        out: list[list[Any]] = []
        m = len(self.group)
        for z, name in enumerate(group_names[:1] if len(group_names) == 2 else group_names):
            inside = task_group == z
            n1, n0 = (np.bincount(worker[part], minlength=m) for part in (inside, ~inside))
            r1, r0 = (np.bincount(worker[part], weights=x[part], minlength=m) for part in (inside, ~inside))
            is_eligible = self.is_used & (n1 > 0) & (n0 > 0)
            if len(np.unique(self.group[is_eligible])) < 2:
                continue
            weight = 1 / (1 / n1[is_eligible] + 1 / n0[is_eligible])
            gap = r1[is_eligible] / n1[is_eligible] - r0[is_eligible] / n0[is_eligible]
            out += self._rows(f"{question} more often about {name}", gap * weight, weight, is_eligible)
        return out

    def _rows(self, question: str, total: F8, n: F8, raters: Mask) -> list[list[Any]]:
        """Return a row for each group: question, group, number of raters, mean, p."""
        codes, group_code = np.unique(self.group[raters], return_inverse=True)
        means, p = rater_p(total, n, group_code, self.rng)
        return [
            [question, str(self.names[c]), int((group_code == i).sum()), float(means[i]), p]
            for i, c in enumerate(codes.tolist())
        ]


def _against_gold(votes: Votes[Any], cells: GroupCounts, rows: Mask, test: _RaterTest) -> list[list[Any]]:
    """Test whether groups are right equally often, overall and on each group of tasks."""
    assert cells.gold is not None
    k = len(cells.verdicts.classes)
    at, is_known = lookup(cells.verdicts.tasks, votes.tasks)
    truth = np.full(len(cells.verdicts), k, dtype=np.int64)
    truth[cells.gold.task] = cells.gold.label
    is_checked = rows & is_known[votes.task] & (truth[at[votes.task]] < k)
    label = lookup(cells.verdicts.classes, votes.answers.classes)[0][votes.answers.label]
    right = (label == truth[at[votes.task]])[is_checked].astype(float)
    worker, task = (codes[is_checked].astype(np.int64) for codes in (votes.worker, votes.task))
    if not len(right):
        return []
    rows_overall = test.overall("is right", right, worker, task)
    return rows_overall + test.by_task_group("is right", right, worker, cells.group[at[task]], cells.names)
