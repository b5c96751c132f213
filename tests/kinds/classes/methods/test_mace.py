"""MACE: known and spammed labels add up, both objectives rise, restarts differ, spammers are seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise import simulate
from crowdwise.em.kernels import Workspace, stats_of
from crowdwise.kinds.classes.methods.base import SolveOptions
from crowdwise.kinds.classes.methods.confusion.mace import MACEParams, split
from tests.conftest import build, crowds, planted


def by_rows(votes, q, worker):
    """Spec formulas row by row: s_e and t_e."""
    spam = np.zeros(len(votes))
    know = np.zeros(len(votes))
    for e, (i, w, label) in enumerate(zip(votes.task, votes.worker, votes.label, strict=True)):
        for k in range(votes.n_classes):
            g = worker.know[w] * (label == k) + worker.spam[w] * worker.habit[w, label]
            spam[e] += q[i, k] * worker.spam[w] * worker.habit[w, label] / g
        know[e] = q[i, label] * worker.know[w] / (worker.know[w] + worker.spam[w] * worker.habit[w, label])
    return know, spam


def test_every_label_is_known_or_spammed():
    votes = planted(n=20, m=5, k=3, labels=4)[0]
    rng = np.random.default_rng(0)
    q, know = rng.dirichlet(np.ones(3), 20), rng.uniform(0.1, 0.9, 5)
    worker = MACEParams(know, 1 - know, rng.dirichlet(np.ones(3), 5), np.empty(0))
    known, spammed = by_rows(votes, q, worker)
    np.testing.assert_allclose(known + spammed, 1, atol=1e-12)
    found = split(stats_of(Workspace.of(votes), q), worker).counts
    for w in range(5):
        for label in range(3):
            rows = (votes.worker == w) & (votes.label == label)
            np.testing.assert_allclose(found[w, label], [known[rows].sum(), spammed[rows].sum()], atol=1e-12)


@pytest.mark.slow
@given(crowd=crowds(), smoothing=st.sampled_from([0.01, 1.0]), variational=st.booleans())
def test_the_objective_never_falls(crowd, smoothing, variational):
    method = cw.MACE(smoothing=smoothing, variational=variational, max_iter=60, n_init=2, tol=0)
    trace = method.solve(build(crowd), None, SolveOptions()).trace
    assert (np.diff(trace) >= -1e-9 * np.maximum(1, np.abs(trace[1:]))).all()


def test_the_confusion_is_knowledge_plus_habit():
    result = cw.MACE().fit(planted(n=80, m=8)[0])
    know, habit = result.extra["know"], result.extra["habit"]
    expected = know[:, None, None] * np.eye(3) + (1 - know)[:, None, None] * habit[:, None, :]
    np.testing.assert_allclose(result.confusion, expected, atol=1e-12)


def test_restarts_start_elsewhere():
    votes = planted(n=30, m=8)[0]
    space = Workspace.of(votes)
    starts = [start(space) for start in cw.MACE(n_init=4).starts(votes)]
    for i in range(4):
        for j in range(i):
            assert np.abs(starts[i] - starts[j]).max() > 0.01
    assert np.abs(cw.MACE(seed=1).starts(votes)[1](space) - starts[1]).max() > 0.01


@pytest.mark.parametrize("variational", [False, True])
def test_spammers_and_their_habits_are_seen(variational):
    groups = [simulate.OneCoin(12, low=0.6, high=0.9), simulate.Constant(18, label=0)]
    crowd = simulate.crowd(2000, 3, groups, simulate.PerTask(8), seed=0)
    result = cw.MACE(variational=variational).fit(crowd.annotations)
    assert result.extra["know"][12:].max() < 0.1 < 0.3 < result.extra["know"][:12].min()
    assert result.extra["habit"][12:, 0].min() > 0.9
    best = cw.evaluate(cw.classes.oracle(crowd.annotations, crowd.confusion), crowd.truth_table()).accuracy
    assert cw.evaluate(result, crowd.truth_table()).accuracy > best - 0.02


def test_a_thousand_labels_per_worker_do_not_underflow():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=3)
    votes = np.where(rng.random((3, 2000)) < 0.6, truth[:, None], 1 - truth[:, None])
    result = cw.MACE(n_init=1).fit(cw.Annotations.from_matrix(votes))
    assert np.isfinite(result.posterior).all()
    np.testing.assert_array_equal(result.labels, truth)
