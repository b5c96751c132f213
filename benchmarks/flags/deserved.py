"""Are flagged workers of real sets no better than chance, by the truth?

Chance is the worker's own answers dealt out among their own tasks: what they say as often as they do, at tasks drawn
blindly. A worker is better than chance where at most a twentieth of such deals goes with the truth as well as they do;
who says one thing always never is. Who has answers to fewer than LEAST known tasks is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import data_folder
from ..numbers.sets import SETS as NUMBERS
from ..sets import medrel

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


TRUTH: dict[str, Callable[[Any], Known]] = {
    **{name: partial(_values, name) for name in (*NUMBERS, "prob_knowledge")},
    "ml_medrel": _classes,
    "same_dogs": _pairs,
    "same_dogs, partitions": _pairs,
}


def chance_or_better(votes: Any, known: Known, workers: Iterable[int]) -> tuple[int, int]:
    """(no better than chance, better) among these workers; those with too few known tasks are in neither."""
    rng, found = np.random.default_rng(0), [0, 0]
    for w in workers:
        p = _share_as_good(votes, known, w, rng)
        if p is not None:
            found[p <= LEVEL] += 1
    return found[0], found[1]


def _share_as_good(votes: Any, known: Known, worker: int, rng: np.random.Generator) -> float | None:
    """The share of deals that go with the truth at least as well as the worker does, the worker's own among them."""
    own, dealt, most = 0.0, np.zeros(DEALS), 0
    for rows, said, true in known:
        mine = votes.worker[rows] == worker
        a, b = said[mine], true[mine]
        most = max(most, len(a))
        if len(a) and a.std() > 0 and b.std() > 0:
            a, b = (a - a.mean()) / a.std(), (b - b.mean()) / b.std()
            own += float(a @ b)
            dealt += rng.permuted(np.tile(a, (DEALS, 1)), axis=1) @ b
    if most < LEAST:
        return None
    return float((dealt >= own - 1e-9).sum() + 1) / (DEALS + 1)
