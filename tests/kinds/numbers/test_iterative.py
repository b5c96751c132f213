"""Bayesian iterative against the exact posterior of small crowds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths import beliefs
from crowdwise.kinds.numbers.maths.rows import NumberRows


def regular(rng):
    """8 tasks × 3 answers of 6 workers, 4 each."""
    while True:
        worker = rng.permutation(np.repeat(np.arange(6), 4)).reshape(8, 3)
        if all(len(set(row)) == 3 for row in worker):
            return np.sort(worker, axis=1)


def exact_mean(worker, value, variances):
    """Posterior means under y ~ N(0, 1) and variances drawn evenly, by going through all of the workers' variances."""
    logs, means = [], []
    for choice in product(variances, repeat=6):
        noise = np.array(choice)[worker]
        precision = 1 + (1 / noise).sum(axis=1)
        mean = (value / noise).sum(axis=1) / precision
        logs.append(-0.5 * (np.log(noise).sum() + np.log(precision).sum() + (value**2 / noise).sum()
                            - (precision * mean**2).sum()))  # fmt: skip
        means.append(mean)
    weight = np.exp(np.array(logs) - max(logs))
    return weight @ np.array(means) / weight.sum()


@pytest.mark.slow
def test_within_a_thousandth_of_brute_force():
    rng = np.random.default_rng(0)
    variances = np.array([0.1, 1.0, 10.0])
    gaps = []
    for _ in range(60):
        worker = regular(rng)
        truth = rng.normal(size=8)
        value = truth[:, None] + np.sqrt(rng.choice(variances, 6)[worker]) * rng.normal(size=(8, 3))
        rows = NumberRows(
            np.repeat(np.arange(8, dtype=np.int32), 3), worker.ravel().astype(np.int32), value.ravel(), None, 8, 6
        )
        fit = numbers.bayesian_iterative(
            rows, variances=variances, shares=np.full(3, 1 / 3), prior=(0.0, 1.0), debias=False, clamp=False
        )
        gaps.append(fit.mean - exact_mean(worker, value, variances))
    assert np.mean(np.square(gaps)) < 0.001


def test_rounding_to_nodes_and_small_blocks_hardly_matter(monkeypatch):
    rng = np.random.default_rng(1)
    task, worker = np.repeat(np.arange(200, dtype=np.int32), 4), rng.integers(0, 12, 800).astype(np.int32)
    value = rng.normal(size=200)[task] + rng.normal(size=800)
    rows = NumberRows(task, worker, value, None, 200, 12)
    exact = numbers.bayesian_iterative(rows)
    monkeypatch.setattr(beliefs, "BLOCK", 50)
    monkeypatch.setattr(beliefs, "BATCHED", 0)
    np.testing.assert_allclose(numbers.bayesian_iterative(rows).mean, exact.mean, atol=1e-9)
    monkeypatch.setattr(beliefs, "NODES", 100)
    rough = numbers.bayesian_iterative(rows).mean
    assert 0 < np.abs(rough - exact.mean).max() < 0.05


def test_beats_the_mean_where_some_workers_are_hopeless():
    rng = np.random.default_rng(2)
    errors = []
    for _ in range(5):
        truth, noise = rng.normal(size=150), np.where(rng.random(100) < 0.5, 0.1, 10.0)
        task = np.repeat(np.arange(150, dtype=np.int32), 4)
        worker = rng.permutation(np.repeat(np.arange(100), 6)).astype(np.int32)
        value = truth[task] + np.sqrt(noise[worker]) * rng.normal(size=600)
        rows = NumberRows(task, worker, value, None, 150, 100)
        options = {"variances": np.array([0.1, 10.0]), "shares": np.array([0.5, 0.5]), "prior": (0.0, 1.0)}
        fit = numbers.bayesian_iterative(rows, **options, debias=False, clamp=False)
        errors.append([np.mean((m - truth) ** 2) for m in (fit.mean, numbers.mean(rows).mean)])
    ours, mean = np.mean(errors, axis=0)
    assert ours < 0.3 * mean


def crowd_with_repeats(tasks=150, workers=12):
    rng = np.random.default_rng(3)
    task, worker = np.repeat(np.arange(tasks, dtype=np.int32), 5), rng.integers(0, workers, 5 * tasks).astype(np.int32)
    noise = rng.choice([0.3, 2.0], workers)
    return NumberRows(
        task, worker, rng.normal(size=tasks)[task] + noise[worker] * rng.normal(size=5 * tasks), None, tasks, workers
    )


def test_the_compiled_round_says_the_same(monkeypatch):
    rows = crowd_with_repeats()
    gold = np.where(np.arange(150) < 10, 0.5, np.nan)
    plain = numbers.bayesian_iterative(rows, gold)
    monkeypatch.setattr(beliefs, "COMPILED_FROM", 0)
    monkeypatch.setattr(beliefs, "STALE", 0.0)
    fit = numbers.bayesian_iterative(rows, gold)
    assert fit.n_iter == plain.n_iter
    np.testing.assert_allclose(fit.mean, plain.mean, atol=1e-9)
    np.testing.assert_allclose(fit.variance, plain.variance, rtol=1e-7)
    monkeypatch.setattr(beliefs, "STALE", 1e-4)
    np.testing.assert_allclose(numbers.bayesian_iterative(rows, gold).mean, plain.mean, atol=1e-3)


def test_one_repeat_does_not_make_every_answer_a_pattern_of_its_own(monkeypatch):
    """It did: a million answers with a few repeats took a table for each."""
    monkeypatch.setattr(beliefs, "NODES", 40)
    rows = crowd_with_repeats()
    edges = beliefs.Edges.of(rows)
    repeats = int((edges.n > 1).sum())
    assert 0 < repeats < len(edges.n) / 3
    tables = beliefs.Tables.of(edges, np.linspace(-5, 5, 21), np.array([0.5, 2.0]))
    assert len(tables.patterns) <= 40 + repeats
    assert tables.cached is not None
    step = (edges.value.max() - edges.value.min()) / 39
    assert np.abs(tables.patterns[tables.pattern, 0] - edges.value).max() <= step / 2 + 1e-12


def test_answers_far_apart_lose_no_product(monkeypatch):
    monkeypatch.setattr(beliefs, "COMPILED_FROM", 0)
    task, worker = np.repeat(np.arange(4, dtype=np.int32), 3), np.tile(np.arange(3, dtype=np.int32), 4)
    rows = NumberRows(task, worker, np.tile([0.0, 1e3, -1e3], 4) + np.arange(12) / 10, None, 4, 3)
    fit = numbers.bayesian_iterative(rows, clamp=False, debias=False)
    assert np.isfinite(fit.mean).all()
    assert (fit.variance > 0).all()
