"""Gaussian workers: against dense algebra, shard by shard, plain against compiled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.gaussian import WorkerPosterior, biases
from crowdwise.kinds.numbers.maths.passes import Message, ShardedRows, sweep
from crowdwise.kinds.numbers.maths.precision import Precision
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.simulate import number_crowd


def planted(seed=0, tasks=40, workers=8, per_task=4, **options):
    crowd = number_crowd(tasks, workers, per_task=per_task, seed=seed, **options)
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, tasks, workers), crowd


def test_plain_model_equals_a_dense_gaussian():
    rows, _ = planted(tasks=6, workers=4, per_task=3)
    fit = numbers.gaussian_plain(rows, max_iter=3)
    centre, unit = fit.extra["centre"], fit.extra["unit"]
    mu, tau = centre + unit * fit.extra["prior_mean"], unit**2 * fit.extra["prior_variance"]
    total = 0.0
    for t in range(6):
        mine = rows.task == t
        worker, value = rows.worker[mine], rows.value[mine]
        cov = np.diag(fit.spread[worker] ** 2) + tau
        gain = tau * np.ones(len(value)) @ np.linalg.inv(cov)
        assert fit.mean[t] == pytest.approx(mu + gain @ (value - mu - fit.bias[worker]), abs=1e-10)
        assert fit.variance[t] == pytest.approx(tau - gain @ (tau * np.ones(len(value))), abs=1e-10)
        total += multivariate_normal.logpdf(value, mu + fit.bias[worker], cov)
    # The pass's objective under the same parameters, back from standardised units.
    standard = rows.with_value((rows.value - centre) / unit)
    message = Message(
        unit**2 / fit.spread**2, fit.bias / unit, fit.extra["prior_mean"], 1 / fit.extra["prior_variance"]
    )
    stats = ShardedRows.of(standard, None).accumulate(message)
    precision = message.precision
    rest = rows.per_worker @ (np.log(precision) - np.log(2 * np.pi)) - stats.workers[:, 1] @ precision
    assert stats.tasks[3] + 0.5 * rest - len(rows) * np.log(unit) == pytest.approx(total, abs=1e-9)


def test_means_are_those_of_the_joint_gaussian_of_tasks_and_biases():
    rows, _ = planted(1, tasks=10, workers=5, per_task=3)
    rng = np.random.default_rng(0)
    n, m, heard = 10, 5, np.ones(5, dtype=bool)
    # Precisions and the spread of biases are held; tasks and biases go their way to the fixed point.
    shape = np.full(m, 10.0)
    precision = Precision(shape, shape / rng.uniform(0.5, 4.0, m), 10.0, 1.0, 1e12)
    state = WorkerPosterior(np.zeros(m), np.ones(m), 0.5, precision)
    for _ in range(600):
        mean, variance, stats = sweep(rows, None, Message(precision.mean, state.bias), compiled=False)
        bias, doubt = biases(state, stats, rows.per_worker, heard, 0.5)
        state = replace(state, bias=bias, doubt=doubt)
    q = precision.mean
    a = np.zeros((n + m, n + m))
    right = np.zeros(n + m)
    for t, w, r in zip(rows.task, rows.worker, rows.value, strict=True):
        v = np.zeros(n + m)
        v[[t, n + w]] = 1
        a += q[w] * np.outer(v, v)
        right += q[w] * r * v
    a[range(n, n + m), range(n, n + m)] += 1 / 0.5
    exact = np.linalg.solve(a, right)
    np.testing.assert_allclose(mean, exact[:n], atol=1e-10)
    np.testing.assert_allclose(state.bias, exact[n:], atol=1e-10)
    np.testing.assert_allclose(1 / variance, np.diag(a)[:n], rtol=1e-12)
    np.testing.assert_allclose(1 / state.doubt, np.diag(a)[n:], rtol=1e-12)


def test_variances_count_the_doubt_about_biases():
    rows, _ = planted(1, tasks=10, workers=5, per_task=3)
    fit = numbers.gaussian(rows)
    q, doubt = fit.extra["precision"] / fit.extra["unit"] ** 2, fit.extra["bias_doubt"] * fit.extra["unit"] ** 2
    for t in range(10):
        worker = rows.worker[rows.task == t]
        share = q[worker] / q[worker].sum()
        assert fit.variance[t] == pytest.approx(1 / q[worker].sum() + share**2 @ doubt[worker], rel=1e-10)


def test_sloped_estimates_are_the_posterior_of_its_own_messages():
    rows, crowd = planted(2, tasks=200, workers=10, slope=0.4)
    fit = numbers.gaussian(rows, slope=True)
    assert np.corrcoef(fit.slope, crowd.slope)[0, 1] > 0.9
    assert np.sqrt(np.mean((fit.mean - crowd.truth) ** 2)) < np.sqrt(
        np.mean((numbers.gaussian(rows).mean - crowd.truth) ** 2)
    )
    weight = fit.weight * rows.per_worker / fit.slope  # proportional to precision times answers
    assert weight @ fit.slope**2 == pytest.approx(weight @ fit.slope, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"slope": True}], ids=["biases", "slopes"])
@pytest.mark.parametrize("crowd", [{}, {"constant": 0.25}, {"heavy": 2.0}, {"noise": (0.01, 2.0)}])
@pytest.mark.parametrize("with_gold", [False, True])
def test_the_bound_never_falls_within_a_stage(options, crowd, with_gold):
    rows, made = planted(3, tasks=120, workers=12, **crowd)
    gold = np.where(np.arange(120) < 20, made.truth, np.nan) if with_gold else None
    fit = numbers.gaussian(rows, gold, tol=1e-12, **options)
    steps, stage = np.diff(fit.trace), np.diff(fit.extra["stage"])
    assert len(steps) > 5
    assert steps[stage == 0].min() > -1e-9 * abs(fit.trace[-1])


@pytest.mark.parametrize("name", ["gaussian_plain", "student"])
@pytest.mark.parametrize("with_gold", [False, True])
def test_other_objectives_never_fall(name, with_gold):
    rows, made = planted(4, tasks=120, workers=12, heavy=3.0, constant=0.2)
    gold = np.where(np.arange(120) < 20, made.truth, np.nan) if with_gold else None
    fit = getattr(numbers, name)(rows, gold, tol=1e-13)
    assert len(fit.trace) > 10
    assert np.diff(fit.trace).min() > -1e-9 * abs(fit.trace[-1])


@pytest.mark.parametrize("options", [{}, {"slope": True}], ids=["biases", "slopes"])
def test_shards_give_the_same_answer(options):
    rows, made = planted(5, tasks=300, workers=15)
    gold = np.where(np.arange(300) < 30, made.truth, np.nan)
    one, many = (numbers.gaussian(rows, gold, shards=n, **options) for n in (1, 7))
    assert one.n_iter == many.n_iter
    for name in ("mean", "variance", "bias", "spread", "slope", "trace"):
        np.testing.assert_allclose(getattr(one, name), getattr(many, name), rtol=1e-12, atol=1e-12, err_msg=name)


def test_shards_really_split():
    rows, _ = planted(5, tasks=300)
    parts = ShardedRows.of(rows, None, 7).parts
    assert len(parts) == 7
    assert sum(len(part) for part, _ in parts) == len(rows)
    assert max(len(part) for part, _ in parts) < len(rows) / 6
    message = Message(np.ones(8), np.zeros(8))
    whole = sweep(rows, None, message, False)[2]
    summed = [sweep(part, None, message, False)[2] for part, _ in parts]
    np.testing.assert_allclose(sum(s.workers for s in summed), whole.workers, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("slopes", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_pass_equals_the_plain_one(slopes, weighted):
    rows, made = planted(6, tasks=80, workers=9)
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 2.0, len(rows)) if weighted else None
    # Two tasks and a worker are silent.
    rows = NumberRows(rows.task + np.int32(1), rows.worker, rows.value, weight, 82, 10)
    gold = np.where(np.arange(82) % 5 == 0, np.append(made.truth, [0.0, 0.0]), np.nan)
    q, b, s = rng.uniform(0.5, 2, 10), rng.normal(size=10), rng.normal(1, 0.2, 10)
    message = Message(q, b, 0.3, 0.7, s, q * (s**2 + 0.1), q * s * b) if slopes else Message(q, b, 0.3, 0.7)
    one, other = (sweep(rows, gold, message, compiled) for compiled in (False, True))
    for x, y in zip(one[:2], other[:2], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
    np.testing.assert_allclose(one[2].workers, other[2].workers, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(one[2].tasks, other[2].tasks, rtol=1e-12)


def test_large_crowds_take_the_compiled_pass_and_get_the_same(monkeypatch):
    rows, _ = planted(7, tasks=400, workers=20)
    plain = numbers.gaussian(rows)
    monkeypatch.setattr("crowdwise.kinds.numbers.maths.passes.COMPILED_FROM", 1)
    assert ShardedRows.of(rows, None).compiled
    np.testing.assert_allclose(numbers.gaussian(rows).mean, plain.mean, rtol=1e-11, atol=1e-11)


def test_equal_workers_give_the_mean_and_a_wild_one_is_ignored():
    rng = np.random.default_rng(8)
    truth = rng.normal(size=400)
    value = truth[:, None] + rng.normal(0, 0.3, (400, 5))
    value[:, 4] = rng.normal(0, 30, 400)
    rows = NumberRows(
        np.repeat(np.arange(400, dtype=np.int32), 5),
        np.tile(np.arange(5, dtype=np.int32), 400),
        value.ravel(),
        None,
        400,
        5,
    )
    fit = numbers.gaussian(rows)
    np.testing.assert_allclose(fit.mean, value[:, :4].mean(axis=1), atol=0.15)
    assert fit.weight[4] < 0.01 * fit.weight[:4].min()
