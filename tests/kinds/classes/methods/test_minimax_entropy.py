"""Minimax entropy: gradient, blocks, and Dawid-Skene with Gaussian logits as the case without task terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import crowdwise as cw
from crowdwise.kinds.classes.maths import minimax
from crowdwise.kinds.classes.maths.minimax import minimax_pass
from crowdwise.stats.logspace import normalise_rows
from tests.conftest import planted


def made():
    votes = planted(n=15, m=5, k=3, labels=3)[0]
    rng = np.random.default_rng(0)
    gold = np.full(15, 3, dtype=np.int32)
    gold[:2] = [1, 2]
    return votes, rng.normal(size=(5, 3, 3)), rng.normal(size=(15, 3, 3)), gold


@pytest.mark.parametrize("fixed", [False, True])
def test_the_gradient_is_that_of_the_log_likelihood(fixed):
    votes, worker, task, gold = made()
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 15) if fixed else None
    at = minimax_pass(votes, worker, task, gold, posterior)
    step = 1e-6
    for x, slope, first in ((worker, at.worker, True), (task, at.task, False)):
        for place in [(0, 0, 1), (3, 2, 2), (4, 1, 0)]:
            values = []
            for sign in (1, -1):
                moved = x.copy()
                moved[place] += sign * step
                both = (moved, task) if first else (worker, moved)
                values.append(minimax_pass(votes, *both, gold, posterior).log_likelihood)
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope[place], rel=1e-5, abs=1e-6)


def test_blocks_do_not_matter(monkeypatch):
    votes, worker, task, gold = made()
    whole = minimax_pass(votes, worker, task, gold)
    monkeypatch.setattr(minimax, "BLOCK", 50)
    parts = minimax_pass(votes, worker, task, gold)
    for name in vars(whole):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-12)


@pytest.mark.parametrize("how", ["all", "no gold", "no task logits", "posterior", "weights"])
def test_the_compiled_pass_computes_the_same(how, monkeypatch):
    votes, worker, task, gold = made()
    rng = np.random.default_rng(2)
    if how == "weights":
        votes = replace(votes, weight=rng.uniform(0.5, 2, len(votes)))
    given = {
        "task": None if how == "no task logits" else task,
        "gold": None if how == "no gold" else gold,
        "posterior": rng.dirichlet(np.ones(3), 15) if how == "posterior" else None,
    }
    plain = minimax_pass(votes, worker, **given)
    monkeypatch.setattr(minimax, "COMPILED_FROM", 0)
    compiled = minimax_pass(votes, worker, **given)
    for name in vars(plain):
        np.testing.assert_allclose(getattr(compiled, name), getattr(plain, name), atol=1e-12)


def test_without_task_logits_it_is_dawid_skene_with_gaussian_logits():
    """EM with an independent M-step ends where the ascent ends."""
    votes = planted(n=120, m=5, k=3, labels=4, low=0.6, high=0.9)[0]
    strength, k = 1.0, 3
    ours = cw.classes.MinimaxEntropy(strength_worker=strength, strength_task=None, tol=1e-13, max_iter=2000).fit(votes)
    logits = np.log(np.maximum(ours.confusion, 1e-12))
    logits -= logits.mean(axis=2, keepdims=True)
    q = ours.posterior
    for w in range(votes.n_workers):  # the M-step at our posterior gives our logits back
        counts = np.zeros((k, k))
        rows = votes.worker == w
        np.add.at(counts.T, votes.label[rows], q[votes.task[rows]])

        def minus_q(x, counts=counts):
            p, norm = normalise_rows(x.reshape(k, k))
            value = (counts * (x.reshape(k, k) - norm[:, None])).sum() - strength * (x**2).sum() / 2
            slope = counts - counts.sum(axis=1, keepdims=True) * p - strength * x.reshape(k, k)
            return -value, -slope.ravel()

        best = minimize(minus_q, np.zeros(k * k), jac=True, tol=1e-12).x.reshape(k, k)
        np.testing.assert_allclose(logits[w], best, atol=1e-3)
    # and the E-step at our confusions, with an even prior, gives our posterior back
    np.testing.assert_allclose(cw.classes.oracle(votes, ours.confusion).posterior, q, atol=1e-9)


def test_strong_task_terms_vanish():
    votes = planted(n=100, m=8)[0]
    held = cw.classes.MinimaxEntropy(strength_task=1e6).fit(votes)
    none = cw.classes.MinimaxEntropy(strength_task=None).fit(votes)
    np.testing.assert_allclose(held.posterior, none.posterior, atol=1e-3)


def test_a_new_task_is_judged_by_the_workers_alone():
    votes = planted(n=60, m=8)[0]
    result = cw.classes.MinimaxEntropy().fit(votes)
    new = cw.Annotations.from_arrays([999, 999], [0, 1], [0, 1], classes=range(3))
    np.testing.assert_allclose(
        result.infer(new).posterior, cw.classes.oracle(new, result.confusion[:2]).posterior, atol=1e-12
    )
