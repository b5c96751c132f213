"""The kernels against independent answers: scipy.sparse, exact enumeration in logs, each other."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.em import kernels
from crowdwise.em.kernels import Stats, Workspace, accumulate, e_step, stats_of
from tests.conftest import build, crowds, planted


def random_parameters(votes, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(np.ones(votes.n_classes), (votes.n_workers, votes.n_classes)).transpose(0, 2, 1)
    return np.ascontiguousarray(theta), rng.dirichlet(np.ones(votes.n_classes))


def by_scipy(votes, theta, prior):
    """posterior, counts, mass, log-likelihood by a sparse matrix product in log space."""
    n, m, k = votes.n_tasks, votes.n_workers, votes.n_classes
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    incidence = sp.csr_array((weight, (votes.task, votes.worker * k + votes.label)), shape=(n, m * k))
    score = incidence @ np.log(theta).reshape(m * k, k) + np.log(prior)
    top = score.max(axis=1, keepdims=True)
    p = np.exp(score - top)
    total = p.sum(axis=1, keepdims=True)
    posterior = p / total
    counts = (incidence.T @ posterior).reshape(m, k, k)
    return posterior, counts, posterior.sum(axis=0), float((top + np.log(total)).sum())


def assert_pass(space, theta, prior, atol=1e-9):
    posterior, counts, mass, total = by_scipy(space.shard, theta, prior)
    stats, log_likelihood = accumulate(space, theta, prior)
    np.testing.assert_allclose(stats.counts, counts, atol=atol * max(1, counts.max()))
    np.testing.assert_allclose(stats.mass, mass, atol=atol * len(posterior))
    assert log_likelihood == pytest.approx(total, rel=1e-10, abs=1e-9)
    left = space.memory.take()
    np.testing.assert_allclose(left, posterior, atol=atol)
    np.testing.assert_array_equal(e_step(space, theta, prior), left)


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@given(crowd=crowds(max_classes=3), seed=st.integers(0, 5))
def test_small_crowds_equal_scipy(compiled, crowd, seed):
    votes = build(crowd)
    theta, prior = random_parameters(votes, seed)
    assert_pass(Workspace.of(votes, compiled=compiled), theta, prior)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("k", [2, 5, 10, 64, 65, 90])
def test_many_classes_equal_scipy(compiled, k):
    votes = planted(n=400, m=30, k=k, labels=6)[0]
    theta, prior = random_parameters(votes)
    assert_pass(Workspace.of(votes, compiled=compiled), theta, prior)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.1])  # of rows with a weight of their own
@pytest.mark.parametrize("labels", [3, 40])
def test_weights_equal_scipy(compiled, share, labels):
    votes = planted(n=200, m=50, k=4, labels=labels)[0]
    frame = votes.to_frame()
    rng = np.random.default_rng(1)
    weight = np.where(rng.random(len(frame)) < share, rng.uniform(0, 3, len(frame)), 1.0)
    votes = cw.Annotations.from_arrays(frame["task"], frame["worker"], frame["label"], weight=weight)
    theta, prior = random_parameters(votes)
    assert_pass(Workspace.of(votes, compiled=compiled), theta, prior)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("order", ["blocks", "alternating", "reverse"])
@pytest.mark.parametrize("votes_each", [8, 20, 5000])
def test_ten_thousand_votes_lose_no_class(compiled, order, votes_each):
    """5,000 votes for class 0 and then 5,000 for class 1 leave an even posterior, in any order."""
    m = 2 * votes_each
    said = {"blocks": [0] * votes_each + [1] * votes_each, "alternating": [0, 1] * votes_each}.get(order)
    said = said or [1] * votes_each + [0] * votes_each
    votes = cw.Annotations.from_arrays(np.zeros(m, int), np.arange(m), said, tasks=[0, 1], classes=[0, 1, 2])
    theta = np.full((m, 3, 3), 0.02) + 0.94 * np.eye(3)
    found = e_step(Workspace.of(votes, compiled=compiled), theta, np.full(3, 1 / 3))
    np.testing.assert_allclose(found[0], [0.5, 0.5, 0], atol=1e-9)
    np.testing.assert_allclose(found[1], np.full(3, 1 / 3))
    votes = cw.Annotations.from_arrays(np.zeros(m + 1, int), np.arange(m + 1), [*said, 1], classes=[0, 1, 2])
    theta = np.full((m + 1, 3, 3), 0.02) + 0.94 * np.eye(3)
    found = e_step(Workspace.of(votes, compiled=compiled), theta, np.full(3, 1 / 3))
    np.testing.assert_allclose(found[0], [0.02 / 0.98, 0.96 / 0.98, 0], atol=1e-9)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("k", [3, 70])
def test_gold_is_clamped_and_its_likelihood_is_the_joint_one(compiled, k):
    votes = planted(n=50, m=8, k=k, labels=4)[0]
    theta, prior = random_parameters(votes)
    gold = np.full(votes.n_tasks, k, dtype=np.int32)
    gold[[3, 7]] = [1, 2]
    space = Workspace.of(votes, gold, compiled)
    _, log_likelihood = accumulate(space, theta, prior)
    found = space.memory.take()
    free, _, _, total = by_scipy(votes, theta, prior)
    assert found[3].tolist() == np.eye(k)[1].tolist()
    rest = np.setdiff1d(np.arange(50), [3, 7])
    np.testing.assert_allclose(found[rest], free[rest], atol=1e-9)
    assert log_likelihood == pytest.approx(total + np.log(free[3, 1]) + np.log(free[7, 2]), rel=1e-10)


@pytest.mark.parametrize("compiled", [False, True])
def test_statistics_of_a_given_posterior(compiled):
    votes = planted(n=80, m=9, k=3)[0]
    q = np.random.default_rng(0).dirichlet(np.ones(3), 80)
    found = stats_of(Workspace.of(votes, compiled=compiled), q)
    expected = np.zeros((9, 3, 3))
    for i, w, label in zip(votes.task, votes.worker, votes.label, strict=True):
        expected[w, label] += q[i]
    np.testing.assert_allclose(found.counts, expected, atol=1e-12)
    np.testing.assert_allclose(found.mass, q.sum(axis=0))
    twice = found + found
    assert isinstance(twice, Stats)
    np.testing.assert_allclose(twice.counts, 2 * expected)


def test_likelihoods_of_tiny_probabilities_do_not_underflow():
    votes = planted(n=2000, m=16, k=3, labels=16)[0]
    theta, prior = random_parameters(votes)
    theta = theta * 1e-12
    _, log_likelihood = accumulate(Workspace.of(votes, compiled=True), theta, prior)
    assert log_likelihood == pytest.approx(by_scipy(votes, theta, prior)[3], rel=1e-10)


@pytest.mark.slow
def test_bits_are_the_same_for_any_number_of_threads():
    code = (
        "import numpy as np, hashlib, crowdwise as cw, sys, warnings; warnings.simplefilter('ignore');"
        "rng = np.random.default_rng(0); n = 60_000; k = 5;"
        "v = cw.Annotations.from_arrays(np.repeat(np.arange(n), 5), rng.integers(200, size=5 * n),"
        " rng.integers(k, size=5 * n), duplicates='last');"
        "r = cw.DawidSkene(max_iter=5).fit(v);"
        "print(hashlib.sha256(r.posterior.tobytes() + r.confusion.tobytes() + r.trace.tobytes()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "CROWDWISE_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2", "4")
    }
    assert len(seen) == 1
    assert len(seen.pop().strip()) == 64


def test_the_number_of_chunks_is_a_power_of_two_from_the_data_alone(monkeypatch):
    votes = planted(n=3000, m=20, k=4)[0]
    monkeypatch.setenv("CROWDWISE_THREADS", "3")
    three = Workspace.of(votes, compiled=True).chunks()
    monkeypatch.setenv("CROWDWISE_THREADS", "1")
    assert Workspace.of(votes, compiled=True).chunks() == three
    assert three[0][0] == 0
    assert three[-1][1] == 3000
    assert (len(three) & (len(three) - 1)) == 0
    assert kernels.n_threads() == 1
