"""Recommend what an uncertain label needs: more votes of this crowd, or an expert.

The recommendations are based on one forecast (`forecast_gains`): by how much m more votes raise the probability that a
task's label is right. A task whose label cannot ship needs

- another vote, if votes are worth their cost: m votes add at least m · WORTH, or a single vote lifts the label to the
  level at which labels count as settled (`evaluation.statement.settled_at`). The number of votes is the one that
  reaches this level, or else the one that adds the most beyond WORTH per vote;
- an expert, if votes are not worth their cost and the label is in doubt: twice as far from certain as that level (just
  as far, if its labels should have settled it), or no more probable than not. As long as no task has been checked,
  "certain" is the confidence of the crowd's most certain labels, because the method's allowance for errors that the
  whole crowd shares is no evidence about a single task;
- nothing otherwise. Whether such labels are right can be measured on checked tasks.

More votes would not help if

- the labels of the task should have settled it many times over and it is still in doubt,
- the labels look like a coin toss between two classes, row ~ (row of the one + row of the other) / 2, rather than like
  labels of a task with an answer (the share of such ambiguous tasks is learned from all tasks),
- every worker has answered.

`crowdwise next`, the report, the project lead's page and the summary after a fit use these recommendations.

Their accuracy is measured by `python -m benchmarks.active promised` and `advice`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import ndtr

from ....core.arrays import F8, I8, Mask
from ....core.result import Result
from ....evaluation.statement import ERROR, error_of, settled_at, trust
from ....stats.information import counts_as
from ....stats.logspace import normalise_rows
from ..annotations import Annotations
from ..methods.ensemble.adaptive import doubt_of

# ----------------------------------------------------------------
# Forecast of the gain by m more votes on a task.
# If class k is right, a vote adds to its log odds against class j a number with mean D[k, j] and variance V[k, j]
# (averaged over the workers' confusion matrices). After m votes the label is right if it leads against all others:
#
#     right(m) = sum_k q_k · prod_j Phi((l_kj + m D[k, j]) / sqrt(m V[k, j])),      l_kj = log(q_k / q_j)
#
# over the few best classes, as if the leads were independent; the gain is right(m) minus the current probability. The
# effect of one vote is far from normal, above all if few workers are good and many are poor, so for a single vote the
# exact value is used, sum_w weight_w sum_l max_k q_k A_w[k, l]. More votes never gain less.
#
# Workers share errors on hard tasks: n labels of a task count as n / (1 + (n - 1) · DEPENDENCE), and m further votes on
# a task with h labels count as the increase of that number. Without this correction the forecast would be nearly twice
# the actual gain (benchmarks/active/promised.py).
#
# Tasks differ: if the labels should have carried T nats of evidence between the two best classes, but their log odds
# are only l, votes on this task are less informative than the confusion matrices imply. With a prior of PRIOR_NATS nats
# at the crowd's pace, the pace of the task is (l + PRIOR_NATS) / (T + PRIOR_NATS), at most 1: a task that 39 votes have
# left undecided is not settled by three more.


# Evidence, in nats, at which a task's own pace weighs as much as the crowd's.
PRIOR_NATS = 4.0
# Correlation of the labels of one task beyond its class. Chosen from 0 to .5 on the sets of `datasets.INDEPENDENT` with
# at least four labels per task, without bluebird, web, dog and relevance4.
DEPENDENCE = 0.15
# Candidate classes of a task; numbers held in memory at a time; limit of the work for single votes.
_CLASSES, _GAIN_BLOCK_SIZE, _MAX_WORK = 4, 2_000_000, 100_000_000
# Number of workers, busiest first, that represent the crowd in the forecast of one vote: at most, and at least.
_MAX_WORKERS, _MIN_WORKERS = 200, 5
_TINY = 1e-9


def forecast_gain(
    posterior: F8, n_labels: F8, information: F8, theta: F8, weight: F8, max_votes: int, dependence: float = DEPENDENCE
) -> F8:
    """Forecast gain[task, m - 1] for m = 1 to `max_votes`.

    Args:
        posterior: posterior[task, class].
        n_labels: n_labels[task], the labels so far.
        information: information[task], the expected evidence of these labels in nats, as if independent.
        theta: theta[worker, true, observed].
        weight: weight[worker], the probability that the worker gives the next vote; sums to one.
        max_votes: Largest number of votes.
        dependence: Correlation of the labels of one task beyond its class.
    """
    mean, spread = drift(theta, weight)
    discount = counts_as(n_labels, dependence)
    information, effective = information * discount, n_labels * discount
    cells = max(len(posterior), 1) * posterior.shape[1] ** 2
    busiest = np.argsort(-weight, kind="stable")[: min(max(_MAX_WORK // cells, _MIN_WORKERS), _MAX_WORKERS)]
    theta, weight = theta[busiest], weight[busiest] / max(float(weight[busiest].sum()), _TINY)
    out = np.empty((len(posterior), max_votes))
    block = max(_GAIN_BLOCK_SIZE // posterior.shape[1] ** 2, 1)
    for lo in range(0, len(posterior), block):
        block_rows = slice(lo, lo + block)
        q = posterior[block_rows]
        lead = np.log(np.maximum(np.sort(q, axis=1)[:, :-3:-1], _TINY))
        pace = np.minimum((lead[:, 0] - lead[:, 1] + PRIOR_NATS) / (information[block_rows] + PRIOR_NATS), 1.0)[:, None]
        n_after = n_labels[block_rows, None] + np.arange(1.0, max_votes + 1)
        extra_votes = n_after * counts_as(n_after, dependence) - effective[block_rows, None]
        out[block_rows] = _gain(q, pace * extra_votes, mean, spread)
        out[block_rows, 0] = pace[:, 0] * extra_votes[:, 0] * _one_vote(q, theta, weight)
    return np.asarray(np.maximum.accumulate(out, axis=1))


def _one_vote(q: F8, theta: F8, weight: F8) -> F8:
    """Exact gain by one vote of a random worker."""
    out = np.zeros(len(q))
    for share, table in zip(weight.tolist(), theta, strict=True):
        out += share * (q[:, :, None] * table).max(axis=1).sum(axis=1)
    return np.asarray(np.maximum(out - q.max(axis=1), 0.0))


def _gain(posterior: F8, effective_votes: F8, mean: F8, spread: F8) -> F8:
    """Gain by effective_votes[task, m - 1], in the normal approximation."""
    top = np.argsort(-posterior, axis=1, kind="stable")[:, :_CLASSES]
    q = np.take_along_axis(posterior, top, axis=1)
    logs = np.log(np.maximum(q, _TINY))
    right = np.zeros_like(effective_votes)
    for k in range(top.shape[1]):
        on_top = np.ones_like(effective_votes)
        for j in range(top.shape[1]):
            if j != k:
                a, b = top[:, k], top[:, j]
                lead = (logs[:, k] - logs[:, j])[:, None] + effective_votes * mean[a, b][:, None]
                on_top *= ndtr(lead / np.sqrt(np.maximum(effective_votes * spread[a, b][:, None], _TINY)))
        right += q[:, k : k + 1] * on_top
    return np.maximum(right - q[:, :1], 0.0)


def drift(theta: F8, weight: F8) -> tuple[F8, F8]:
    """Mean and variance of log(theta[true] / theta[other]) of one vote, both [true, other]."""
    rows, logs, mean = _mean_drift(theta, weight)
    square = (rows * logs**2).sum(axis=1)[:, None] - 2 * (rows * logs) @ logs.T + rows @ (logs**2).T
    return np.maximum(mean, _TINY), np.maximum(square - mean**2, _TINY)


def _mean_drift(theta: F8, weight: F8) -> tuple[F8, F8, F8]:
    """Weighted rows[true, (worker, observed)] of theta, their logarithms, and the mean of the log ratios."""
    k = theta.shape[1]
    rows = theta.transpose(1, 0, 2).reshape(k, -1)
    logs = np.log(np.maximum(rows, _TINY))
    rows = rows * np.repeat(weight, k)
    cross = rows @ logs.T
    return rows, logs, np.diag(cross)[:, None] - cross


# Confidence from which a label counts as settled at the default error, and to which typical_votes refers.
SAFE = settled_at(ERROR)
# Least increase of the probability of a right label that is worth a vote.
WORTH = 0.02
# Share of the labels that count as the crowd's most certain ones; bound of "no more probable than not".
SUREST, EVEN = 0.1, 0.5 + 1e-9
# A task with this confidence gets no vote of a budget.
SURE = 0.99
# By chance, one ordinary task in 400 is in doubt after labels that should have settled it this many times over.
EVIDENCE_RATIO = 9.0
# Threshold of the probability that a task is ambiguous, and the number of labels it must have.
AMBIGUOUS, MIN_LABELS = 0.8, 5
# Most votes that are recommended for a task at a time.
MAX_VOTES = 10
NOTHING, VOTE, EXPERT = 0, 1, 2
# Pseudo-labels per row of a worker's confusion, at the crowd's mean; least value of a cell, and of a vote's evidence.
_PRIOR, _FLOOR, _MIN_DIVERGENCE = 2.0, 0.005, 1e-6
_ROUNDS = 50
# Most cells of all confusion matrices, and numbers held in memory at a time.
_MAX_CELLS, _BLOCK_SIZE = 20_000_000, 2_000_000


@dataclass(frozen=True)
class Recommendations:
    """Recommendations for all tasks.

    Attributes:
        kind: kind[task]: NOTHING, VOTE or EXPERT.
        votes: votes[task], the recommended number of further votes; NaN if none.
        typical_votes: typical_votes[task], the votes that usually settle its two best classes; NaN if it can ship.
        evidence_ratio: evidence_ratio[task], how many times over its labels should have settled it; NaN if it can ship.
        p_ambiguous: p_ambiguous[task], the probability that its labels are a toss between two classes.
        is_stuck: is_stuck[task], whether more votes gain nothing.
        all_answered: all_answered[task], whether every worker has answered it.
        gain: gain[task, m - 1], the increase by m votes of the probability that its label is right, if it cannot ship.
        reaches_level: reaches_level[task], whether the votes lift the label to the level of settled labels.
    """

    kind: npt.NDArray[np.int8]
    votes: F8
    typical_votes: F8
    evidence_ratio: F8
    p_ambiguous: F8
    is_stuck: Mask
    all_answered: Mask
    gain: F8
    reaches_level: Mask

    @property
    def n_vote(self) -> int:
        """Number of tasks for which more votes are recommended."""
        return int((self.kind == VOTE).sum())

    @property
    def n_expert(self) -> int:
        """Number of uncertain tasks for which an expert is recommended instead of more votes."""
        return int((self.kind == EXPERT).sum())

    @property
    def expected(self) -> F8:
        """Expected increase, by the recommended votes, of the probability that each label is right."""
        m = np.nan_to_num(self.votes).astype(np.int64)
        return np.where(m > 0, np.take_along_axis(self.gain, np.maximum(m, 1)[:, None] - 1, axis=1)[:, 0], 0.0)


def recommend(annotations: Annotations, result: Result, error: float | None = None) -> Recommendations:
    """Recommend votes or an expert for every task whose label cannot ship at this error.

    Args:
        annotations: The votes that the result was fitted on.
        result: The result.
        error: Allowed error rate; by default that of the result.
    """
    n, k, error = len(result.tasks), len(result.classes), error_of(result, error)
    labels = annotations.labels_per_task
    kind, (votes, typical_votes, evidence_ratio) = np.zeros(n, dtype=np.int8), np.full((3, n), np.nan)
    uncertain = np.flatnonzero(~trust(result, error).ships | (labels == 0))
    gain, p_ambiguous = np.zeros((n, MAX_VOTES)), np.zeros(n)
    is_stuck, all_answered, reaches_level = np.zeros((3, n), dtype=bool)
    if k < 2 or k * k > _MAX_CELLS or not len(uncertain):  # too many classes for confusion matrices
        uncertain = uncertain[(labels[uncertain] == 0) | (result.confidence[uncertain] < settled_at(error))]
        kind[uncertain], votes[uncertain] = VOTE, 1.0
        gain[uncertain] = (1 - result.confidence[uncertain, None]) / 2
        return Recommendations(
            kind, votes, typical_votes, evidence_ratio, p_ambiguous, is_stuck, all_answered, gain, reaches_level
        )
    annotations = _affordable(annotations)
    top = np.argsort(-result.posterior, axis=1, kind="stable")[:, :2]
    theta = confusions(annotations, result)
    p_ambiguous = _ambiguity(annotations, result, theta, top)
    goal = np.log(SAFE / (1 - SAFE))
    typical_votes[uncertain] = 2 * goal / sum(_drift(annotations, theta, top[uncertain]))
    information = label_information(annotations, theta, uncertain, top)
    evidence_ratio[uncertain] = information / goal
    is_stuck[uncertain] = ((evidence_ratio[uncertain] >= EVIDENCE_RATIO) | (p_ambiguous[uncertain] >= AMBIGUOUS)) & (
        labels[uncertain] >= MIN_LABELS
    )
    all_answered = labels >= max(int((annotations.labels_per_worker > 0).sum()), 1)
    weight = labels_per_worker(annotations)
    forecast = _forecast(
        result, uncertain, labels[uncertain].astype(np.float64), information, theta, weight, p_ambiguous
    )
    gain[uncertain] = np.where((is_stuck | all_answered)[uncertain, None], 0.0, forecast)
    confidence = np.where(labels > 0, result.confidence, 0.0)
    m, is_worthwhile, reaches_level = _worthwhile(gain, confidence, settled_at(error))
    is_worthwhile |= (labels == 0) & ~all_answered
    kind[uncertain] = np.select(
        [is_worthwhile, _in_doubt(result, labels > 0, is_stuck, error)], [VOTE, EXPERT], NOTHING
    )[uncertain]
    votes[kind == VOTE] = m[kind == VOTE]
    return Recommendations(
        kind,
        votes,
        typical_votes,
        evidence_ratio,
        p_ambiguous,
        is_stuck,
        all_answered,
        gain,
        reaches_level & (kind == VOTE),
    )


def _worthwhile(gain: F8, confidence: F8, level: float) -> tuple[I8, Mask, Mask]:
    """Return the number of votes to ask for, whether they are worthwhile, and whether they lift the label to the
    level."""
    net = gain - WORTH * np.arange(1, MAX_VOTES + 1)
    best = net.argmax(axis=1)
    reaches = (confidence[:, None] + gain >= level) & (confidence < level)[:, None]
    first = reaches.argmax(axis=1)
    rows = np.arange(len(gain))
    settles = reaches.any(axis=1) & ((net[rows, first] >= 0) | (first == 0))
    at = np.where(settles, first, best)
    return at + 1, settles | (net[rows, best] >= 0), settles | reaches[rows, at]


def _in_doubt(result: Result, has_labels: Mask, is_stuck: Mask, error: float) -> Mask:
    """Mask of the labels twice as far from certain as a settled one, or just as far if they are stuck.

    If no task was checked, the reference is the confidence of the most certain labels, because low confidence may then
    be the method's caution and no doubt about the task.
    """
    confidence = _without_allowance(result, result.confidence[:, None], len(result.classes))[0][:, 0]
    checked = "slope" in (result.extra.get("gold_check") or {})
    reference = has_labels if result.gold is None else has_labels & ~np.asarray(result.gold)
    top = 1.0 if checked or not reference.any() else float(np.quantile(confidence[reference], 1 - SUREST))
    distance = (1 - settled_at(error)) * np.where(is_stuck, 1, 2)
    return np.asarray((confidence < top * (1 - distance)) | (confidence <= EVEN))


def _without_allowance(result: Result, posterior: F8, k: int) -> tuple[F8, float]:
    """Return the posterior without the default method's allowance for shared errors, and the allowance.

    The allowance is a share of a uniform distribution. Gold replaces it, and other methods have none.
    """
    share = (result.extra.get("independence") or {}).get("share")
    if share is None or "slope" in (result.extra.get("gold_check") or {}):
        return posterior, 0.0
    allowance = float(share) * doubt_of(k)
    return np.clip((posterior - allowance / k) / (1 - allowance), 0.0, 1.0), allowance


def _forecast(result: Result, tasks: I8, n_labels: F8, information: F8, theta: F8, weight: F8, p_ambiguous: F8) -> F8:
    """Forecast the gain on these tasks; there is none where the crowd shares errors, and none on ambiguous tasks."""
    posterior, allowance = _without_allowance(result, result.posterior[tasks], theta.shape[1])
    out = np.zeros((len(tasks), MAX_VOTES))
    uncertain = np.flatnonzero(posterior.max(axis=1) < SURE)
    out[uncertain] = forecast_gain(
        posterior[uncertain], n_labels[uncertain], information[uncertain], theta, weight, MAX_VOTES
    )
    return np.asarray(out * (1 - allowance) * (1 - p_ambiguous[tasks])[:, None])


def forecast_gains(
    annotations: Annotations,
    result: Result,
    recommendations: Recommendations,
    future_workers: tuple[F8, F8] | None = None,
) -> F8:
    """Forecast by how much m = 1 to MAX_VOTES more votes raise the probability that each label is right.

    Args:
        annotations: The votes that the result was fitted on.
        result: The result.
        recommendations: Recommendations for this result.
        future_workers: Confusion matrices and weights of the workers who will vote; by default the present ones.

    Returns:
        gain[task, m - 1], including tasks that can ship.
    """
    n, k = len(result.tasks), len(result.classes)
    out = np.zeros((n, MAX_VOTES))
    uncertain = np.flatnonzero((result.confidence < SURE) | (annotations.labels_per_task == 0))
    if k < 2 or not len(uncertain):
        return out
    if k * k > _MAX_CELLS:  # too many classes for confusion matrices
        out[uncertain] = (1 - result.confidence[uncertain, None]) / 2
        return out
    annotations = _affordable(annotations)
    theta = confusions(annotations, result)
    top = np.argsort(-result.posterior, axis=1, kind="stable")[:, :2]
    information = label_information(annotations, theta, uncertain, top)
    n_labels = annotations.labels_per_task[uncertain].astype(np.float64)
    theta, weight = (theta, labels_per_worker(annotations)) if future_workers is None else future_workers
    out[uncertain] = _forecast(result, uncertain, n_labels, information, theta, weight, recommendations.p_ambiguous)
    return out


def _affordable(annotations: Annotations) -> Annotations:
    """Return the annotations or, for too many workers and classes, a copy with one average worker."""
    if annotations.n_workers * annotations.n_classes**2 <= _MAX_CELLS:
        return annotations
    average_worker = pl.Series("worker", ["everybody"])
    return replace(annotations, worker=np.zeros_like(annotations.worker), workers=average_worker)


def labels_per_worker(annotations: Annotations) -> F8:
    """Return the share of the labels given by each worker."""
    return np.asarray(annotations.labels_per_worker / max(len(annotations), 1))


def confusions(annotations: Annotations, result: Result) -> F8:
    """Return theta[worker, true, observed] by counts from the posterior after one E-step.

    The E-step sharpens the posterior, because that of an average of methods is too soft.
    """
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
    """Joint log-probability of class and labels [task, class]."""
    n, k = annotations.n_tasks, annotations.n_classes
    by_cell = np.log(theta.transpose(0, 2, 1).reshape(-1, k))
    out = np.empty((n, k))
    for true in range(k):
        out[:, true] = np.bincount(annotations.task, weights=by_cell[annotations.cell, true], minlength=n)
    return out + np.log(np.maximum(result.class_prior, 1e-12))


def _ambiguity(annotations: Annotations, result: Result, theta: F8, top: I8) -> F8:
    """Probability that a task's labels are a toss between its two best classes; the share of such tasks is learned."""
    k = annotations.n_classes
    by_cell = np.log(theta.transpose(0, 2, 1).reshape(-1, k))
    pair = top[annotations.task]
    pair_logs = (by_cell[annotations.cell, pair[:, j]] for j in (0, 1))
    toss = np.bincount(annotations.task, weights=np.logaddexp(*pair_logs) - np.log(2), minlength=annotations.n_tasks)
    # The toss may be between any two classes, so the best two of many must be more convincing.
    prior = np.maximum(result.class_prior, 1e-12)
    toss += np.log(2 * prior[top].prod(axis=1) / max(1 - float((prior**2).sum()), 1e-12))
    odds = toss - np.logaddexp.reduce(_log_joint(annotations, result, theta), axis=1)
    has_several = annotations.labels_per_task >= 2
    share = 0.1
    for _ in range(_ROUNDS):
        p_ambiguous = 1 / (1 + np.exp(-np.clip(odds + np.log(share / (1 - share)), -500, 500)))
        share = min((float(p_ambiguous[has_several].sum()) + 0.5) / (int(has_several.sum()) + 10), 0.5)
    return np.asarray(p_ambiguous)


def _drift(annotations: Annotations, theta: F8, pairs: I8) -> tuple[F8, F8]:
    """Expected evidence of one vote for the first class against the second if the first is right, and the reverse,
    averaged over the labels."""
    divergence = np.maximum(_mean_drift(theta, labels_per_worker(annotations))[2], _MIN_DIVERGENCE)
    return divergence[pairs[:, 0], pairs[:, 1]], divergence[pairs[:, 1], pairs[:, 0]]


def label_information(annotations: Annotations, theta: F8, tasks: I8, top: I8) -> F8:
    """Expected evidence (nats) of the labels of these tasks about their two best classes, given their workers."""
    is_chosen = np.zeros(annotations.n_tasks, dtype=bool)
    is_chosen[tasks] = True
    rows = np.flatnonzero(is_chosen[annotations.task])
    information = np.empty(len(rows))
    size = max(_BLOCK_SIZE // theta.shape[1], 1)
    for lo in range(0, len(rows), size):
        block_rows = rows[lo : lo + size]
        worker, pair = annotations.worker[block_rows], top[annotations.task[block_rows]]
        a, b = theta[worker, pair[:, 0]], theta[worker, pair[:, 1]]
        information[lo : lo + size] = ((a - b) * np.log(a / b)).sum(axis=1) / 2  # the mean of both directions
    return np.asarray(
        np.bincount(annotations.task[rows], weights=information, minlength=len(is_chosen))[tasks], dtype=np.float64
    )
