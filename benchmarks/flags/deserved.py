"""Are flagged workers of real sets no better than chance, by the truth?

Chance is the worker's own answers dealt out among their own tasks: what they say as often as they do, at tasks drawn
blindly. A worker is better than chance where at most a twentieth of such deals goes with the truth as well as they do;
who says one thing always never is. Who has answers to fewer than LEAST known tasks is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tests.open_sets import rankings
from tests.open_sets import sets as medrel
from tests.open_sets.numbers import SETS as NUMBERS

from .. import data_folder

F8 = npt.NDArray[np.float64]
LEAST, DEALS, LEVEL = 8, 2000, 0.05
# Rows, what was said there and what is true there, both as numbers; sets have one of these a class.
Known = list[tuple[npt.NDArray[np.int64], F8, F8]]


def _values(name: str, votes: Any) -> Known:
    table = pl.read_csv(data_folder() / name / "truth.csv", schema_overrides={"task": pl.String})
    of = dict(zip(table["task"].to_list(), table["label"].to_list(), strict=True))
    truth = np.array([of.get(str(task), np.nan) for task in votes.tasks.to_list()], dtype=np.float64)[votes.task]
    rows = np.flatnonzero(np.isfinite(truth))
    return [(rows, votes.answers.value[rows, 0], truth[rows])]


def _classes(votes: Any) -> Known:
    """Of ml_medrel two relations are known."""
    named = np.zeros((len(votes), len(votes.answers.classes)))
    named[votes.answers.row, votes.answers.code] = 1.0
    out = []
    for label in medrel.CLASSES:
        tasks, true, code = medrel.known(label)
        truth = np.full(votes.n_tasks, np.nan)
        truth[tasks] = true
        rows = np.flatnonzero(np.isfinite(truth[votes.task]))
        out.append((rows, named[rows, code], truth[votes.task[rows]]))
    return out


def _pairs(votes: Any) -> Known:
    table = pl.read_csv(data_folder() / "same_dogs" / "truth.csv")
    of = dict(zip(table["item"].to_list(), table["cluster"].to_list(), strict=True))
    cluster = np.array([of[item] for item in votes.answers.items.to_list()])
    same = cluster[votes.answers.left] == cluster[votes.answers.right]
    return [(np.arange(len(votes)), votes.answers.same.astype(np.float64), same.astype(np.float64))]


def _orders(name: str, votes: Any) -> Known:
    """The place that a worker gave each item of a list, and its true one: to deal out places is to shuffle the list."""
    table = rankings.truth(name)
    of = {task: {item: i for i, item in enumerate(label.split(">"))} for task, label in table.iter_rows()}
    said, tasks, items = votes.answers, votes.tasks.to_list(), votes.answers.items.to_list()
    rows = np.repeat(np.arange(len(votes)), said.size)
    true = [of[tasks[votes.task[row]]][items[item]] for row, item in zip(rows, said.item, strict=True)]
    return [(rows, said.level.astype(np.float64), np.array(true, dtype=np.float64))]


TRUTH: dict[str, Callable[[Any], Known]] = {
    **{name: partial(_values, name) for name in (*NUMBERS, "prob_knowledge")},
    "ml_medrel": _classes,
    "rank_facts": partial(_orders, "rank_facts"),
    "same_dogs": _pairs,
    "same_dogs, partitions": _pairs,
}


@dataclass(frozen=True)
class Held:
    """Workers held against the truth: how many are no better than chance, how many better, and the mean correlation of
    their answers with it."""

    chance: int
    better: int
    correlation: float

    def words(self) -> str:
        """For a table."""
        n = self.chance + self.better
        return f"{self.chance:,} of {n:,} ({self.correlation:.2f})" if n else ""


def held(votes: Any, known: Known, workers: Iterable[int]) -> Held:
    """These workers; those with too few known tasks are left out."""
    rng = np.random.default_rng(0)
    each = [found for w in workers if (found := _beside_deals(votes, known, w, rng)) is not None]
    better = sum(p <= LEVEL for p, _ in each)
    return Held(len(each) - better, better, float(np.mean([r for _, r in each])) if each else float("nan"))


def _beside_deals(votes: Any, known: Known, worker: int, rng: np.random.Generator) -> tuple[float, float] | None:
    """The share of deals that go with the truth at least as well as the worker does (the worker's own is one of them),
    and the correlation of their answers with it; 0 where either never changes."""
    own, dealt, n = 0.0, np.zeros(DEALS), []
    for rows, said, true in known:
        mine = votes.worker[rows] == worker
        a, b = said[mine], true[mine]
        n.append(len(a))
        if len(a) and a.std() > 0 and b.std() > 0:
            a, b = (a - a.mean()) / a.std(), (b - b.mean()) / b.std()
            own += float(a @ b)
            dealt += rng.permuted(np.tile(a, (DEALS, 1)), axis=1) @ b
    if max(n) < LEAST:
        return None
    return float((dealt >= own - 1e-9).sum() + 1) / (DEALS + 1), own / sum(n)
