"""How many gold labels verdicts save on real crowds: shares of classes from 200 gold labels and a verdict on each task,
once one random label of the crowd, once Dawid-Skene's."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee import estimators as double

SETS = ("convabuse", "cifar10n", "md_agreement", "sp", "hs_brexit", "facteval", "trec", "relevance4")
RUNS, GOLD, DRAWS = 1000, 200, 1000


class Real(NamedTuple):
    """Tasks with a known truth and a label: truth and Dawid-Skene's label of each, where its rows begin, how many."""

    truth: np.ndarray
    fitted: np.ndarray
    label: np.ndarray
    start: np.ndarray
    n: np.ndarray
    k: int


@cache
def real(name: str) -> Real:
    data = cw.datasets.load(name)
    votes = data.annotations
    truth = dict(zip(data.truth["task"].cast(pl.String), data.truth["label"].cast(pl.String), strict=True))
    known = [truth.get(str(task)) for task in votes.tasks.to_list()]
    names = sorted({*(t for t in known if t is not None), *map(str, votes.classes.to_list())})
    code = {each: i for i, each in enumerate(names)}
    here = np.array([t is not None for t in known]) & (votes.labels_per_task > 0)
    of_class = np.array([code[str(c)] for c in votes.classes.to_list()])
    return Real(
        np.array([code[t] for t, kept in zip(known, here, strict=True) if kept]),
        of_class[cw.DawidSkene(smoothing=1.0).fit(votes).labels][here],
        of_class[votes.label], votes.task_offsets[:-1][here], votes.labels_per_task[here], len(names),
    )  # fmt: skip


def one(data: Real, fitted: bool, rng: np.random.Generator) -> np.ndarray:
    """(covered, labels saved) of each class's share, these tasks."""
    truth, k = data.truth, data.k
    said = data.fitted if fitted else data.label[data.start + (rng.random(len(truth)) * data.n).astype(np.int64)]
    gold = rng.permutation(len(truth))[: min(GOLD, len(truth) // 2)]
    cells = np.bincount(k * said[gold] + truth[gold], minlength=k * k).reshape(k, k).astype(float)
    tasks = np.bincount(said, minlength=k).astype(float)
    held, out = tasks > 0, []
    for c in [1] if k == 2 else range(k):
        score = np.eye(k)[c]
        low, high = double.central(double.draws(tasks[held], cells[held], score, rng, size=DRAWS), 0.95)
        whole = cells.sum(axis=0)[None]
        ends = double.central(double.draws(tasks.sum()[None], whole, score, rng, size=DRAWS), 0.95)
        out.append([low <= (truth == c).mean() <= high, ((ends[1] - ends[0]) / (high - low)) ** 2])
    return np.array(out)


def saved_rows(runs: int = RUNS) -> list[list[str]]:
    rows = []
    for name in SETS:
        row = [name]
        for fitted in (False, True):
            rng = np.random.default_rng([17, SETS.index(name), fitted])
            found = np.mean([one(real(name), fitted, rng) for _ in range(runs)], axis=0)
            row += [f"{found[:, 0].mean():.3f} ({found[:, 0].min():.3f})", f"{found[:, 1].mean():.2f}"]
        rows.append(row)
        print(*rows[-1], flush=True)
    return rows
