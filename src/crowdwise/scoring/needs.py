"""What would settle a doubtful label: a few more votes of this crowd, or somebody who knows?

A vote moves the log odds between a task's two best classes by KL(row of the one ‖ row of the other) in expectation, the
workers' confusions averaged. From this follow how many votes such a pair usually takes, and how many more this task
should take. More votes would not help

- where a task's own labels should have settled it many times over and it is still in doubt,
- where its labels look like a toss between two classes, row ~ (row of the one + row of the other) / 2, rather than like
  labels of a task that has an answer; how many tasks are such riddles is learnt from all of them,
- where the crowd can hardly tell the two classes apart.

What m more votes would bring, `gains`, is the rise of the probability that the label is right (`ahead.py`).
`crowdwise next`, the report and the sentences after a fit all take their advice from here.

How far it can be trusted: labels held back and then given as the further votes (an earlier default, one split). Of
tasks named for votes the rest settled 73 % on rte, 71 % on temp, 45 % on dog and sp_amt, 46 and 20 % on bluebird,
15 % on web, 14 % on trec; of tasks named for an expert 26 % on sp_amt, but 56 % of nine on dog. The constants below
were settled with these sets in view.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..maths.logspace import normalise_rows
from .ahead import gain_ahead

F8 = npt.NDArray[np.float64]

# From this confidence on a label is safe.
SAFE = 0.9
# From this confidence on a task gets no vote of a budget.
SURE = 0.99
# By chance one ordinary task in 400 is in doubt after labels that should have settled it so many times over.
TIMES = 9.0
# How probable it must be that a task is a riddle, and how many labels it must have had.
RIDDLE, FEWEST = 0.8, 5
# Who would ask for more votes than this on one task asks an expert.
MOST = 10
NOTHING, VOTE, EXPERT = 0, 1, 2
# Pseudo-labels a row of a worker's confusion, at the crowd's mean; the least that a cell counts as, and a vote tells.
_PRIOR, _FLOOR, _LEAST = 2.0, 0.005, 1e-6
_ROUNDS = 50
# Cells of the workers' confusions at most, and numbers that are held at a time.
_CELLS, _NUMBERS = 20_000_000, 2_000_000


@dataclass(frozen=True)
class Needs:
    """Of each task what it needs (NOTHING, VOTE or EXPERT), about how many `votes` more, how many are `usual` for its
    two best classes, how many times over its own labels should have `settled` it (all NaN where the label is safe), and
    the probability that it is a `riddle`. Where it is `stuck` votes bring nothing; another task that needs an expert
    would take more votes than are asked for, but each of them may bring something."""

    kind: npt.NDArray[np.int8]
    votes: F8
    usual: F8
    settled: F8
    riddle: F8
    stuck: npt.NDArray[np.bool_]

    @property
    def n_vote(self) -> int:
        """Tasks that some more votes should settle."""
        return int((self.kind == VOTE).sum())

    @property
    def n_expert(self) -> int:
        """Tasks that more votes of this crowd would not settle."""
        return int((self.kind == EXPERT).sum())


def needs(annotations: Annotations, result: Result) -> Needs:
    """What every task needs, by its posterior, its labels and what a vote of this crowd tells."""
    n, k = len(result.tasks), len(result.classes)
    labels = annotations.labels_per_task
    kind = np.zeros(n, dtype=np.int8)
    votes, usual, settled = (np.full(n, np.nan) for _ in range(3))
    doubt = np.flatnonzero((result.confidence < SAFE) | (labels == 0))
    if k < 2 or k * k > _CELLS or not len(doubt):  # with so many classes nothing is known of any two of them
        kind[doubt], votes[doubt] = VOTE, 1.0
        return Needs(kind, votes, usual, settled, np.zeros(n), np.zeros(n, dtype=bool))
    annotations = _affordable(annotations)
    top = np.argsort(-result.posterior, axis=1, kind="stable")[:, :2]
    theta = confusions(annotations, result)
    riddle = _riddles(annotations, result, theta, top)
    p = np.take_along_axis(result.posterior, top, axis=1)[doubt]
    first, second = _drift(annotations, theta, top[doubt])
    goal = np.log(SAFE / (1 - SAFE))
    ahead = np.log(np.maximum(p[:, 0], 1e-9) / np.maximum(p[:, 1], 1e-9))
    share = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
    usual[doubt] = 2 * goal / (first + second)
    # Where the best class is right the odds go on from where they are, else they have to come back first.
    more = share[:, 0] * np.maximum(goal - ahead, 0.0) / first + share[:, 1] * (goal + ahead) / second
    votes[doubt] = np.maximum(np.ceil(more), 1.0)
    settled[doubt] = labels_told(annotations, theta, doubt, top) / goal
    stuck = np.zeros(n, dtype=bool)
    stuck[doubt] = ((settled[doubt] >= TIMES) | (riddle[doubt] >= RIDDLE)) & (labels[doubt] >= FEWEST)
    kind[doubt] = np.where(stuck[doubt] | ((votes[doubt] > MOST) & (labels[doubt] > 0)), EXPERT, VOTE)
    return Needs(kind, votes, usual, settled, riddle, stuck)


def gains(annotations: Annotations, result: Result, need: Needs, asked: tuple[F8, F8] | None = None) -> F8:
    """gain[task, m - 1]: what m = 1 to MOST more votes would add to the probability that a task's label is right.

    `asked`: confusions and weights of those who will give them (None: those who gave the others).
    """
    n, k = len(result.tasks), len(result.classes)
    out = np.zeros((n, MOST))
    open_ = np.flatnonzero((result.confidence < SURE) | (annotations.labels_per_task == 0))
    if k < 2 or not len(open_):
        return out
    if k * k > _CELLS:  # nothing is known but the doubt itself
        out[open_] = (1 - result.confidence[open_, None]) / 2
        return out
    annotations = _affordable(annotations)
    theta = confusions(annotations, result)
    top = np.argsort(-result.posterior, axis=1, kind="stable")[:, :2]
    told = labels_told(annotations, theta, open_, top)
    had = annotations.labels_per_task[open_].astype(np.float64)
    theta, weight = (theta, labels_per_worker(annotations)) if asked is None else asked
    ahead = gain_ahead(result.posterior[open_], had, told, theta, weight, MOST)
    out[open_] = ahead * (1 - need.riddle[open_])[:, None]
    return out


def _affordable(annotations: Annotations) -> Annotations:
    """The annotations; with too many workers and classes, as if one average worker had given them."""
    if annotations.n_workers * annotations.n_classes**2 <= _CELLS:
        return annotations
    everybody = pl.Series("worker", ["everybody"])
    return replace(annotations, worker=np.zeros_like(annotations.worker), workers=everybody)


def labels_per_worker(annotations: Annotations) -> F8:
    """The share of the labels that each worker gave."""
    return np.asarray(annotations.labels_per_worker / max(len(annotations), 1))


def confusions(annotations: Annotations, result: Result) -> F8:
    """theta[worker, true, observed] counted from the posterior, which one E-step sharpens: an average is too soft."""
    posterior = result.posterior
    for _ in range(2):
        table = _counts(annotations, posterior)
        pooled = table.sum(axis=0) + 0.5
        table += _PRIOR * pooled / pooled.sum(axis=1, keepdims=True)
        theta: F8 = np.maximum(table / table.sum(axis=2, keepdims=True), _FLOOR)
        theta /= theta.sum(axis=2, keepdims=True)
        posterior = normalise_rows(_log_joint(annotations, result, theta))[0]
    return theta


def _counts(annotations: Annotations, posterior: F8) -> F8:
    m, k = annotations.n_workers, annotations.n_classes
    out = np.empty((m, k, k))
    for true in range(k):
        cells = np.bincount(annotations.cell, weights=posterior[annotations.task, true], minlength=m * k)
        out[:, true] = cells.reshape(m, k)
    return out


def _log_joint(annotations: Annotations, result: Result, theta: F8) -> F8:
    """Log probability of each task's class and labels together [task, class]."""
    n, k = annotations.n_tasks, annotations.n_classes
    by_cell = np.log(theta.transpose(0, 2, 1).reshape(-1, k))
    out = np.empty((n, k))
    for true in range(k):
        out[:, true] = np.bincount(annotations.task, weights=by_cell[annotations.cell, true], minlength=n)
    return out + np.log(np.maximum(result.class_prior, 1e-12))


def _riddles(annotations: Annotations, result: Result, theta: F8, top: npt.NDArray[np.int64]) -> F8:
    """Probability that a task's labels are a toss between its two best classes; the share of such tasks is learnt."""
    k = annotations.n_classes
    by_cell = np.log(theta.transpose(0, 2, 1).reshape(-1, k))
    pair = top[annotations.task]
    both = (by_cell[annotations.cell, pair[:, j]] for j in (0, 1))
    toss = np.bincount(annotations.task, weights=np.logaddexp(*both) - np.log(2), minlength=annotations.n_tasks)
    # Any two classes may be tossed between: the best two of many must be that much more convincing.
    prior = np.maximum(result.class_prior, 1e-12)
    toss += np.log(2 * prior[top].prod(axis=1) / max(1 - float((prior**2).sum()), 1e-12))
    odds = toss - np.logaddexp.reduce(_log_joint(annotations, result, theta), axis=1)
    several = annotations.labels_per_task >= 2
    share = 0.1
    for _ in range(_ROUNDS):
        riddle = 1 / (1 + np.exp(-np.clip(odds + np.log(share / (1 - share)), -500, 500)))
        share = min((float(riddle[several].sum()) + 0.5) / (int(several.sum()) + 10), 0.5)
    return np.asarray(riddle)


def _drift(annotations: Annotations, theta: F8, pairs: npt.NDArray[np.int64]) -> tuple[F8, F8]:
    """What one vote tells for the first class against the second where the first is right, and the other way round, on
    average over the labels."""
    k = theta.shape[1]
    weight = labels_per_worker(annotations)
    rows = theta.transpose(1, 0, 2).reshape(k, -1)  # true, (worker, observed)
    logs = np.log(rows)
    rows = rows * np.repeat(weight, k)
    cross = rows @ logs.T
    told = np.maximum(np.diag(cross)[:, None] - cross, _LEAST)
    return told[pairs[:, 0], pairs[:, 1]], told[pairs[:, 1], pairs[:, 0]]


def labels_told(annotations: Annotations, theta: F8, tasks: npt.NDArray[np.int64], top: npt.NDArray[np.int64]) -> F8:
    """What the labels of these tasks should have told of their two best classes, by who gave them."""
    here = np.zeros(annotations.n_tasks, dtype=bool)
    here[tasks] = True
    rows = np.flatnonzero(here[annotations.task])
    worth = np.empty(len(rows))
    size = max(_NUMBERS // theta.shape[1], 1)
    for lo in range(0, len(rows), size):
        some = rows[lo : lo + size]
        who, pair = annotations.worker[some], top[annotations.task[some]]
        a, b = theta[who, pair[:, 0]], theta[who, pair[:, 1]]
        worth[lo : lo + size] = ((a - b) * np.log(a / b)).sum(axis=1) / 2  # the mean of both directions
    return np.asarray(np.bincount(annotations.task[rows], weights=worth, minlength=len(here))[tasks], dtype=np.float64)
