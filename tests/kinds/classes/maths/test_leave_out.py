"""Labels predicted from the others of their task: against plain loops, numpy against numba, and as a test of fit."""

from __future__ import annotations

import math

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.em.kernels import Workspace, stats_of
from crowdwise.kinds.classes.maths.leave_out import (
    FLOOR,
    N_ESTIMATES,
    ONE,
    POWERS,
    STRENGTHS,
    WORKER_PRIOR,
    LeaveOutTables,
    fit_mixture,
    posterior_of,
    predictions,
)
from crowdwise.kinds.classes.methods.ensemble.independence import EvidencePower
from tests.conftest import planted


def small_crowd(k=3, n=12, m=5, repeats=True, weighted=True, seed=0):
    """A few random rows; with repeats some workers gave several labels to one task."""
    rng = np.random.default_rng(seed)
    rows = [(t, w) for t in range(n) for w in range(m) if rng.random() < 0.7]
    rows += [rows[i] for i in rng.integers(len(rows), size=8)] if repeats else []
    task, worker = np.array(rows).T
    label = rng.integers(k, size=len(task))
    weight = rng.uniform(0.2, 2.0, len(task)) if weighted else None
    if repeats and weighted:  # the same label twice is one row with the sum of the weights, or two rows
        label[-2:] = label[:2]
    return cw.Annotations.from_arrays(
        task, worker, label, weight=weight, tasks=range(n), workers=range(m), classes=range(k), duplicates="keep"
    )


def inputs(votes, compiled, known=False, seed=1):
    """A workspace, a random posterior with its tables, and a random mixture of estimates."""
    rng = np.random.default_rng(seed)
    k = votes.n_classes
    q = rng.dirichlet(np.ones(k), votes.n_tasks)
    gold = None
    if known:
        gold = np.full(votes.n_tasks, k, dtype=np.int32)
        gold[::4] = rng.integers(k, size=len(gold[::4]))
        q[::4] = np.eye(k)[gold[::4]]
    space = Workspace.of(votes, gold, compiled)
    stats = stats_of(space, q)
    return space, q, LeaveOutTables.of(stats.counts, stats.mass), rng.dirichlet(np.ones(N_ESTIMATES), votes.n_workers)


def by_loops(votes, q, mixture, gold=None, voice=None, power=1.0):
    """(posterior, log P(label) of each row or nan, log P by each estimate), counted again for every row without the
    worker's votes on its task."""
    k, n, m = votes.n_classes, votes.n_tasks, votes.n_workers
    rows = list(zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), strict=True))
    weight = [1.0] * len(rows) if votes.weight is None else votes.weight.tolist()
    voice = list(range(m)) if voice is None else list(voice)

    def crowd_tables():
        pooled = [[0.5] * k for _ in range(k)]  # observed, true
        right = total = 0.0
        wrong = [0.5] * k
        for (t, _, c), x in zip(rows, weight, strict=True):
            for j in range(k):
                pooled[c][j] += x * q[t][j]
            right += x * q[t][c]
            wrong[c] += x * (1 - q[t][c])
            total += x
        for j in range(k):
            column = sum(pooled[c][j] for c in range(k))
            for c in range(k):
                pooled[c][j] /= column
        return pooled, (right + 1) / (total + 2), [x / sum(wrong) for x in wrong]

    pooled, accuracy, wrong_share = crowd_tables()
    prior = [(sum(q[t][j] for t in range(n)) + 1) / (n + k) for j in range(k)]

    def estimates(e):
        """theta[estimate][true] of a row from the worker's labels of other tasks."""
        task, worker, label = rows[e]
        count, total = [0.0] * k, [0.0] * k
        hits = labels = missed_here = missed = 0.0
        for (t, w, c), x in zip(rows, weight, strict=True):
            if w != worker or t == task:
                continue
            labels += x
            hits += x * q[t][c]
            missed += x * (1 - q[t][c])
            missed_here += x * (1 - q[t][c]) * (c == label)
            for j in range(k):
                total[j] += x * q[t][j]
                count[j] += x * q[t][j] * (c == label)
        own = (hits + WORKER_PRIOR * accuracy) / (labels + WORKER_PRIOR)
        share = (missed_here + WORKER_PRIOR * wrong_share[label]) / (missed + WORKER_PRIOR)
        out = []
        for j in range(N_ESTIMATES):
            s = STRENGTHS[j % 3]
            base = pooled[label] if j < 3 else [(1 - own) * share + own * (c == label) for c in range(k)]
            out.append([(count[c] + s * base[c]) / (total[c] + s) for c in range(k)])
        return out

    each = [estimates(e) for e in range(len(rows))]
    theta = [
        [max(sum(mixture[w][j] * est[j][c] for j in range(N_ESTIMATES)), FLOOR) for c in range(k)]
        for (_, w, _), est in zip(rows, each, strict=True)
    ]

    def posterior(task, b, without=None):
        if gold is not None and gold[task] < k:
            return [float(c == gold[task]) for c in range(k)]
        log = [math.log(p) for p in prior]
        for e, (t, w, _) in enumerate(rows):
            if t == task and voice[w] != without:
                log = [log[c] + b * weight[e] * math.log(theta[e][c]) for c in range(k)]
        p = [math.exp(x - max(log)) for x in log]
        return [x / sum(p) for x in p]

    row_log, estimate_log = [], []
    for e, (t, w, _) in enumerate(rows):
        if len({voice[v] for s, v, _ in rows if s == t}) < 2:
            row_log.append(math.nan)
            estimate_log.append([math.nan] * N_ESTIMATES)
            continue
        p = posterior(t, power, voice[w])
        row_log.append(weight[e] * math.log(sum(p[c] * theta[e][c] for c in range(k))))
        estimate_log.append([weight[e] * math.log(sum(p[c] * est[c] for c in range(k))) for est in each[e]])
    return [posterior(t, 1.0) for t in range(n)], np.array(row_log), np.array(estimate_log)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("voice", [None, (0, 1, 1, 3, 4)])
def test_equal_to_plain_loops_over_a_tiny_crowd(compiled, known, voice):
    votes = small_crowd()
    space, q, tables, mixture = inputs(votes, compiled, known)
    voices = None if voice is None else np.array(voice, dtype=np.int32)
    found = predictions(space, q, tables, mixture, voices, all_powers=True)
    for j, power in enumerate(POWERS):
        posterior, log, scores = by_loops(votes, q, mixture, space.gold, voice, power)
        assert found.curve[j] == pytest.approx(np.nansum(log), rel=1e-9)
        if j == ONE:
            counted = ~np.isnan(log)
            assert found.weight[0] == pytest.approx(votes.weight[counted].sum())
            for w in range(votes.n_workers):
                np.testing.assert_allclose(found.scores[:, w], scores[counted & (votes.worker == w)].sum(axis=0))
            assert found.best == pytest.approx(scores[counted].sum(axis=0).max())
            np.testing.assert_allclose(posterior_of(space, q, tables, mixture, voices), posterior, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("step", [1, 3])
def test_compiled_and_plain_agree(weighted, repeats, known, grouped, step):
    votes = small_crowd(4, 60, 9, repeats, weighted, seed=2)
    voice = np.array([0, 1, 1, 1, 4, 5, 6, 6, 8], dtype=np.int32) if grouped else None
    both = []
    for compiled in (False, True):
        space, q, tables, mixture = inputs(votes, compiled, known)
        both.append(
            [
                posterior_of(space, q, tables, mixture, voice),
                *vars(predictions(space, q, tables, mixture, voice, step=step, all_powers=True)).values(),
                *vars(predictions(space, q, tables, None, voice, step=step)).values(),
            ]
        )
    for plain, compiled in zip(*both, strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-12)
    assert (both[0][0] > 0).any()
    assert both[0][2][0] > 0


def test_the_sampled_tasks_of_parts_are_those_of_the_whole():
    votes = small_crowd(3, 40, 6, seed=4)
    space, q, tables, mixture = inputs(votes, False)
    whole = predictions(space, q, tables, mixture, step=3, all_powers=True)
    total = 0.0
    for lo, hi in ((0, 17), (17, 40)):
        rows = (votes.task >= lo) & (votes.task < hi)
        part = cw.Annotations.from_arrays(
            votes.task[rows] - lo, votes.worker[rows], votes.label[rows], weight=votes.weight[rows],
            tasks=range(hi - lo), workers=range(votes.n_workers), classes=range(votes.n_classes), duplicates="keep",
        )  # fmt: skip
        share = Workspace.of(part, None, False, lo)
        total += predictions(share, q[lo:hi], tables, mixture, step=3, all_powers=True).curve
    np.testing.assert_allclose(total, whole.curve)


def test_the_confusion_of_all_labels_is_a_distribution_with_the_crowds_shrinkage():
    votes = small_crowd(3, 200, 6, repeats=False, weighted=False, seed=3)
    _, _, tables, mixture = inputs(votes, False)
    confusion = tables.confusion(mixture)
    np.testing.assert_allclose(confusion.sum(axis=2), 1.0)
    firm = np.zeros_like(mixture)
    firm[:, 2] = 1.0
    loose = np.zeros_like(mixture)
    loose[:, 0] = 1.0
    pooled = tables.pooled.T
    distance = [np.abs(tables.confusion(x) - pooled).mean() for x in (firm, loose)]
    assert distance[0] < distance[1]


def test_the_mixture_takes_for_each_worker_the_estimate_that_predicts_best():
    scores = np.full((N_ESTIMATES, 3), -50.0)
    scores[4, 0] = scores[1, 1] = -20.0
    scores[:, 2] = -10.0  # nothing to choose by: the crowd's prior
    mixture = fit_mixture(scores)
    np.testing.assert_allclose(mixture.sum(axis=1), 1.0)
    assert mixture[0, 4] > 0.99
    assert mixture[1, 1] > 0.99
    assert mixture[2, 4] > 2 * mixture[2, 0]


def power_of(votes):
    """The evidence power under the posterior of `hierarchical`."""
    space = Workspace.of(votes)
    q = cw.classes.Hierarchical().fit(votes).posterior
    stats = stats_of(space, q)
    tables = LeaveOutTables.of(stats.counts, stats.mass)
    mixture = fit_mixture(predictions(space, q, tables).scores)
    return EvidencePower.of(predictions(space, q, tables, mixture, all_powers=True), votes.n_tasks)


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_power_is_near_one_where_errors_are_independent(seed):
    votes = planted(n=800, m=25, k=3, labels=8, seed=seed)[0]
    test = power_of(votes)
    assert 0.8 < test.power < 1.25
    assert test.low < test.power < test.high
    assert test.share > 0.9


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_power_is_low_where_tasks_mislead_everybody(seed):
    groups, labels = [simulate.OneCoin(25, low=0.55, high=0.9)], simulate.PerTask(8)
    crowd = simulate.crowd(800, 5, groups, labels, hard_share=0.5, hard_pull=0.5, seed=seed)
    test = power_of(crowd.annotations)
    assert test.high < 0.7
    assert test.share < 0.1


def test_few_tasks_leave_the_prior_of_the_evidence_power():
    votes = planted(n=3, m=5, k=3, labels=3)[0]
    test = power_of(votes)
    assert test.high > 2 * test.low
    assert test.share < 0.6
    lone = cw.Annotations.from_arrays([0, 1, 2], [0, 1, 2], [0, 1, 0])
    assert power_of(lone).share == 0
    assert power_of(lone).power is None
