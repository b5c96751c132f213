"""What would help a doubtful label: a few more votes of this crowd, or somebody who knows?

One forecast answers: `gains`, by how much m more votes raise the probability that a task's label is right (`ahead.py`).
A task that cannot ship needs

- another vote, where votes are worth asking for: m votes add at least m · WORTH, or a single one lifts the label to the
  level from which on labels count as settled (`trust.settled_at`). As many are asked for as reach that level, or else
  as add WORTH each;
- an expert, where they are not and the label is in doubt: twice as far from certain as that level (as far, where its
  labels should have settled it), or no more probable than not. As long as no task has been checked, certain is what the
  crowd's surest labels are: what the method allows for crowds that are wrong alike is no doubt about one task;
- nothing, where neither holds. Whether such labels are right, checked tasks show.

More votes would not help

- where a task's own labels should have settled it many times over and it is still in doubt,
- where its labels look like a toss between two classes, row ~ (row of the one + row of the other) / 2, rather than like
  labels of a task that has an answer; how many tasks are such riddles is learnt from all of them,
- where everybody has answered.

`crowdwise next`, the report, the lead page and the sentences after a fit all take their advice from here.

How far it can be trusted: `python -m benchmarks.active promised` and `advice`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr

from ....core.result import Result
from ....evaluation.statement import ERROR, error_of, settled_at, trust
from ....stats.information import counts_as
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..methods.ensemble.adaptive import doubt_of

# ----------------------------------------------------------------
# What m more votes on a task would bring, before anybody is asked.
# Where class k is right, a vote adds to its log odds against class j a number with mean D[k, j] and variance V[k, j]
# (the workers' confusions averaged). After m votes the label is right where it leads against all others:
#
#     right(m) = sum_k q_k · prod_j Phi((l_kj + m D[k, j]) / sqrt(m V[k, j])),      l_kj = log(q_k / q_j)
#
# over the few best classes, as if the leads were independent; `gain` is that less what it is now. One vote is no bell
# curve, above all where few workers know much and many little, so of a single vote the exact figure is taken, sum_w
# weight_w sum_l max_k q_k A_w[k, l], and more votes never bring less.
#
# People err together on what is hard: n labels of a task count as n / (1 + (n - 1) · DEPENDENCE), so m further votes
# on a task with h labels are worth what that number rises by. Without it nearly twice what comes would be promised
# (benchmarks/active/promised.py).
#
# Not every task is like the others: where T nats should have been told of the two best classes and their log odds
# stand at l only, its votes tell less than the confusions say. With a prior of `STEADY` nats at the crowd's own pace,
# the pace of a task is (l + STEADY) / (T + STEADY), at most 1: a task that 39 votes have left open is not settled by
# three more.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Nats that a task must have been told before it is judged by its own pace as much as by the crowd's.
STEADY = 4.0
# How alike the labels of one task are beyond its class. Settled on the sets of `datasets.INDEPENDENT` with four labels
# a task or more, bluebird, web, dog and relevance4 apart: 0 to .5 were looked at.
DEPENDENCE = 0.15
# Classes of a task that may come out on top; numbers held at a time, and numbers worked out at most for single votes.
_CLASSES, _NUMBERS, _WORK = 4, 2_000_000, 100_000_000
# Workers, the busiest first, who stand for the crowd when one vote is weighed: at most, and where tasks are many.
_WORKERS, _FEWEST = 200, 5
_LEAST = 1e-9


def gain_ahead(
    posterior: F8, had: F8, told: F8, theta: F8, weight: F8, most: int, dependence: float = DEPENDENCE
) -> F8:
    """gain[task, m - 1] for m = 1 to `most`; had[task] labels, told[task] nats each by itself, theta[worker, true,
    observed], weight[worker] sums to one."""
    mean, spread = drift(theta, weight)
    each = counts_as(had, dependence)
    told, now = told * each, had * each
    cells = max(len(posterior), 1) * posterior.shape[1] ** 2
    busiest = np.argsort(-weight, kind="stable")[: min(max(_WORK // cells, _FEWEST), _WORKERS)]
    theta, weight = theta[busiest], weight[busiest] / max(float(weight[busiest].sum()), _LEAST)
    out = np.empty((len(posterior), most))
    block = max(_NUMBERS // posterior.shape[1] ** 2, 1)
    for lo in range(0, len(posterior), block):
        some = slice(lo, lo + block)
        q = posterior[some]
        lead = np.log(np.maximum(np.sort(q, axis=1)[:, :-3:-1], _LEAST))
        pace = np.minimum((lead[:, 0] - lead[:, 1] + STEADY) / (told[some] + STEADY), 1.0)[:, None]
        then = had[some, None] + np.arange(1.0, most + 1)
        more = then * counts_as(then, dependence) - now[some, None]
        out[some] = _gain(q, pace * more, mean, spread)
        out[some, 0] = pace[:, 0] * more[:, 0] * _one_vote(q, theta, weight)
    return np.asarray(np.maximum.accumulate(out, axis=1))


def _one_vote(q: F8, theta: F8, weight: F8) -> F8:
    """What one vote of somebody brings, exactly."""
    out = np.zeros(len(q))
    for share, table in zip(weight.tolist(), theta, strict=True):
        out += share * (q[:, :, None] * table).max(axis=1).sum(axis=1)
    return np.asarray(np.maximum(out - q.max(axis=1), 0.0))


def _gain(posterior: F8, worth: F8, mean: F8, spread: F8) -> F8:
    """What votes bring that are worth so many[task, m - 1]."""
    top = np.argsort(-posterior, axis=1, kind="stable")[:, :_CLASSES]
    q = np.take_along_axis(posterior, top, axis=1)
    logs = np.log(np.maximum(q, _LEAST))
    right = np.zeros_like(worth)
    for k in range(top.shape[1]):
        on_top = np.ones_like(worth)
        for j in range(top.shape[1]):
            if j != k:
                a, b = top[:, k], top[:, j]
                lead = (logs[:, k] - logs[:, j])[:, None] + worth * mean[a, b][:, None]
                on_top *= ndtr(lead / np.sqrt(np.maximum(worth * spread[a, b][:, None], _LEAST)))
        right += q[:, k : k + 1] * on_top
    return np.maximum(right - q[:, :1], 0.0)


def drift(theta: F8, weight: F8) -> tuple[F8, F8]:
    """Mean and variance of log(theta[true] / theta[other]) of one vote, both [true, other]."""
    k = theta.shape[1]
    rows = theta.transpose(1, 0, 2).reshape(k, -1)  # true, (worker, observed)
    logs = np.log(np.maximum(rows, _LEAST))
    rows = rows * np.repeat(weight, k)
    cross = rows @ logs.T
    mean = np.diag(cross)[:, None] - cross
    square = (rows * logs**2).sum(axis=1)[:, None] - 2 * (rows * logs) @ logs.T + rows @ (logs**2).T
    return np.maximum(mean, _LEAST), np.maximum(square - mean**2, _LEAST)


Mask = npt.NDArray[np.bool_]

# The confidence from which on a label counts as settled at the usual error, and of which the usual number of votes is.
SAFE = settled_at(ERROR)
# What a vote must add to the probability that a label is right to be worth asking for.
WORTH = 0.02
# The surest labels of a crowd are this share of all; at most this probability is no more probable than not.
SUREST, EVEN = 0.1, 0.5 + 1e-9
# From this confidence on a task gets no vote of a budget.
SURE = 0.99
# By chance one ordinary task in 400 is in doubt after labels that should have settled it so many times over.
TIMES = 9.0
# How probable it must be that a task is a riddle, and how many labels it must have had.
RIDDLE, FEWEST = 0.8, 5
# No task is asked for more votes than this at a time.
MOST = 10
NOTHING, VOTE, EXPERT = 0, 1, 2
# Pseudo-labels a row of a worker's confusion, at the crowd's mean; the least that a cell counts as, and a vote tells.
_PRIOR, _FLOOR, _NEEDS_LEAST = 2.0, 0.005, 1e-6
_ROUNDS = 50
# Cells of the workers' confusions at most, and numbers that are held at a time.
_CELLS, _NEEDS_NUMBERS = 20_000_000, 2_000_000


@dataclass(frozen=True)
class Needs:
    """Of each task what it needs (NOTHING, VOTE or EXPERT), how many `votes` more (NaN where it needs none), what m
    votes would add to the probability that its label is right (`gain[task, m - 1]`, of tasks that cannot ship), how
    many votes are `usual` for its two best classes, how many times over its own labels should have `settled` it (both
    NaN where the label can ship), and the probability that it is a `riddle`. Where it is `stuck` votes bring nothing.
    Where `everybody` has answered, nobody is left to ask. `settles` marks tasks whose votes lift the label to the level
    from which on labels count as settled."""

    kind: npt.NDArray[np.int8]
    votes: F8
    usual: F8
    settled: F8
    riddle: F8
    stuck: Mask
    everybody: Mask
    gain: F8
    settles: Mask

    @property
    def n_vote(self) -> int:
        """Tasks on which some more votes are worth asking for."""
        return int((self.kind == VOTE).sum())

    @property
    def n_expert(self) -> int:
        """Tasks in doubt on which more votes of this crowd are not worth asking for."""
        return int((self.kind == EXPERT).sum())

    @property
    def expected(self) -> F8:
        """What the votes that each task needs would add to the probability that its label is right."""
        m = np.nan_to_num(self.votes).astype(np.int64)
        return np.where(m > 0, np.take_along_axis(self.gain, np.maximum(m, 1)[:, None] - 1, axis=1)[:, 0], 0.0)


def needs(annotations: Annotations, result: Result, error: float | None = None) -> Needs:
    """What every task needs that cannot ship at this error, by what more votes would bring.

    Where every worker has answered a task there is nobody left to ask.
    """
    n, k, error = len(result.tasks), len(result.classes), error_of(result, error)
    labels = annotations.labels_per_task
    kind, votes, usual, settled = np.zeros(n, dtype=np.int8), *(np.full(n, np.nan) for _ in range(3))
    doubt = np.flatnonzero(~trust(result, error).ships | (labels == 0))
    gain, riddle, (stuck, everybody, settles) = np.zeros((n, MOST)), np.zeros(n), np.zeros((3, n), dtype=bool)
    if k < 2 or k * k > _CELLS or not len(doubt):  # with so many classes nothing is known of any two of them
        doubt = doubt[(labels[doubt] == 0) | (result.confidence[doubt] < settled_at(error))]
        kind[doubt], votes[doubt] = VOTE, 1.0
        gain[doubt] = (1 - result.confidence[doubt, None]) / 2
        return Needs(kind, votes, usual, settled, riddle, stuck, everybody, gain, settles)
    annotations = _affordable(annotations)
    top = np.argsort(-result.posterior, axis=1, kind="stable")[:, :2]
    theta = confusions(annotations, result)
    riddle = _riddles(annotations, result, theta, top)
    goal = np.log(SAFE / (1 - SAFE))
    usual[doubt] = 2 * goal / sum(_drift(annotations, theta, top[doubt]))
    told = labels_told(annotations, theta, doubt, top)
    settled[doubt] = told / goal
    stuck[doubt] = ((settled[doubt] >= TIMES) | (riddle[doubt] >= RIDDLE)) & (labels[doubt] >= FEWEST)
    everybody = labels >= max(int((annotations.labels_per_worker > 0).sum()), 1)
    weight = labels_per_worker(annotations)
    ahead = _ahead(result, doubt, labels[doubt].astype(np.float64), told, theta, weight, riddle)
    gain[doubt] = np.where((stuck | everybody)[doubt, None], 0.0, ahead)
    sure = np.where(labels > 0, result.confidence, 0.0)
    m, helps, settles = _worthwhile(gain, sure, settled_at(error))
    helps |= (labels == 0) & ~everybody
    kind[doubt] = np.select([helps, _in_doubt(result, labels > 0, stuck, error)], [VOTE, EXPERT], NOTHING)[doubt]
    votes[kind == VOTE] = m[kind == VOTE]
    return Needs(kind, votes, usual, settled, riddle, stuck, everybody, gain, settles & (kind == VOTE))


def _worthwhile(gain: F8, confidence: F8, level: float) -> tuple[npt.NDArray[np.int64], Mask, Mask]:
    """(how many votes to ask for, whether any are worth it, whether these lift the label to the level)."""
    net = gain - WORTH * np.arange(1, MOST + 1)
    best = net.argmax(axis=1)
    reached = (confidence[:, None] + gain >= level) & (confidence < level)[:, None]
    first = reached.argmax(axis=1)
    rows = np.arange(len(gain))
    settles = reached.any(axis=1) & ((net[rows, first] >= 0) | (first == 0))
    at = np.where(settles, first, best)
    return at + 1, settles | (net[rows, best] >= 0), settles | reached[rows, at]


def _in_doubt(result: Result, labelled: Mask, stuck: Mask, error: float) -> Mask:
    """Labels twice as far from certain as a settled one, or as far where they are stuck; measured against the surest
    labels where nothing was checked, for then a low confidence may be the method's caution and not a task's doubt."""
    own = _without_allowance(result, result.confidence[:, None], len(result.classes))[0][:, 0]
    checked = "slope" in (result.extra.get("gold_check") or {})
    others = labelled if result.gold is None else labelled & ~np.asarray(result.gold)
    top = 1.0 if checked or not others.any() else float(np.quantile(own[others], 1 - SUREST))
    far = (1 - settled_at(error)) * np.where(stuck, 1, 2)
    return np.asarray((own < top * (1 - far)) | (own <= EVEN))


def _without_allowance(result: Result, posterior: F8, k: int) -> tuple[F8, float]:
    """The posterior without what the default method allows for crowds that are wrong alike, and that allowance: a share
    of an even distribution. Gold replaces it, and other methods have none."""
    share = (result.extra.get("independence") or {}).get("share")
    if share is None or "slope" in (result.extra.get("gold_check") or {}):
        return posterior, 0.0
    allowed = float(share) * doubt_of(k)
    return np.clip((posterior - allowed / k) / (1 - allowed), 0.0, 1.0), allowed


def _ahead(result: Result, tasks: npt.NDArray[np.int64], had: F8, told: F8, theta: F8, weight: F8, riddle: F8) -> F8:
    """What more votes bring on these tasks; nothing where a crowd is wrong alike, and nothing on riddles."""
    posterior, allowed = _without_allowance(result, result.posterior[tasks], theta.shape[1])
    out = np.zeros((len(tasks), MOST))
    open_ = np.flatnonzero(posterior.max(axis=1) < SURE)
    out[open_] = gain_ahead(posterior[open_], had[open_], told[open_], theta, weight, MOST)
    return np.asarray(out * (1 - allowed) * (1 - riddle[tasks])[:, None])


def gains(annotations: Annotations, result: Result, need: Needs, asked: tuple[F8, F8] | None = None) -> F8:
    """gain[task, m - 1]: what m = 1 to MOST more votes would add to the probability that a task's label is right, those
    that can ship included.

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
    out[open_] = _ahead(result, open_, had, told, theta, weight, need.riddle)
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
    told = np.maximum(np.diag(cross)[:, None] - cross, _NEEDS_LEAST)
    return told[pairs[:, 0], pairs[:, 1]], told[pairs[:, 1], pairs[:, 0]]


def labels_told(annotations: Annotations, theta: F8, tasks: npt.NDArray[np.int64], top: npt.NDArray[np.int64]) -> F8:
    """What the labels of these tasks should have told of their two best classes, by who gave them."""
    here = np.zeros(annotations.n_tasks, dtype=bool)
    here[tasks] = True
    rows = np.flatnonzero(here[annotations.task])
    worth = np.empty(len(rows))
    size = max(_NEEDS_NUMBERS // theta.shape[1], 1)
    for lo in range(0, len(rows), size):
        some = rows[lo : lo + size]
        who, pair = annotations.worker[some], top[annotations.task[some]]
        a, b = theta[who, pair[:, 0]], theta[who, pair[:, 1]]
        worth[lo : lo + size] = ((a - b) * np.log(a / b)).sum(axis=1) / 2  # the mean of both directions
    return np.asarray(np.bincount(annotations.task[rows], weights=worth, minlength=len(here))[tasks], dtype=np.float64)
