"""Raykar-Yu: spammers are named and silenced, honest workers with few labels are not."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.methods.confusion.raykar_yu import best_strengths
from crowdwise.stats.dirichlet import log_rows
from tests.conftest import planted


@pytest.mark.parametrize("k", [2, 3, 5])
def test_spammers_have_equal_rows_and_honest_workers_keep_theirs(k):
    groups = [simulate.OneCoin(12, low=0.6, high=0.9), simulate.Guesser(6), simulate.Constant(4)]
    crowd = simulate.crowd(1000, k, groups, simulate.PerTask(8), seed=1)
    result = cw.classes.RaykarYu().fit(crowd.annotations)
    spammer = result.extra["spammer"]
    assert not spammer[:12].any()
    assert spammer[12:].sum() >= 9
    rows = result.confusion[spammer]
    np.testing.assert_allclose(rows, np.repeat(rows[:, :1], k, axis=1), atol=1e-12)
    best = cw.evaluate(cw.classes.oracle(crowd.annotations, crowd.confusion), crowd.truth_table()).accuracy
    assert cw.evaluate(result, crowd.truth_table()).accuracy > best - 0.03


def test_workers_with_a_handful_of_labels_are_not_called_spammers():
    crowd = simulate.crowd(300, 5, [simulate.OneCoin(100, low=0.6, high=0.9)], simulate.PerTask(5), seed=0)
    assert cw.classes.RaykarYu().fit(crowd.annotations).extra["spammer"].mean() < 0.1


def test_without_spammers_it_is_dawid_skene():
    votes = planted(n=400, m=8, low=0.7, high=0.9)[0]
    ours, plain = cw.classes.RaykarYu().fit(votes), cw.DawidSkene().fit(votes)
    assert (ours.labels == plain.labels).mean() > 0.98


def test_the_evidence_of_one_row_is_the_product_of_the_urn():
    counts, prior = np.array([2.0, 1.0, 0.0]), np.array([0.5, 1.0, 2.0])
    urn = (0.5 / 3.5) * (1.5 / 4.5) * (1.0 / 5.5)
    found = log_rows(counts[None, :, None], prior[None, :, None], axis=1)
    np.testing.assert_allclose(found, np.log(urn))


def test_equal_rows_call_for_the_strongest_shrinkage():
    counts = np.stack([np.tile([[60.0], [30.0], [10.0]], (1, 3)), np.diag([100.0, 100.0, 100.0])])
    strength, spammer = best_strengths(counts, 1.0)
    assert strength[0] >= 100
    assert spammer.tolist() == [True, False]
    assert strength[1] == 0
