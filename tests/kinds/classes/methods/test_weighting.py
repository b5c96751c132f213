"""ZenCrowd, BWA and the oracle: small cases that can be worked out by hand, and planted crowds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import crowdwise as cw
from crowdwise import simulate
from tests.conftest import planted


def test_zencrowd_is_one_coin_with_an_even_prior():
    votes = planted(n=200, m=10)[0]
    result = cw.classes.ZenCrowd(smoothing=0.5).fit(votes)
    np.testing.assert_allclose(result.class_prior, 1 / 3)
    np.testing.assert_allclose(cw.classes.oracle(votes, result.confusion).posterior, result.posterior, atol=1e-9)
    accuracy = result.confusion[:, 0, 0]
    np.testing.assert_allclose(np.einsum("wkk->wk", result.confusion), accuracy[:, None].repeat(3, axis=1))


def test_zencrowd_survives_lopsided_votes_where_one_coin_collapses():
    crowd = simulate.crowd(300, 2, [simulate.OneCoin(10, low=0.55, high=0.75)], simulate.PerTask(3), seed=4)
    result = cw.classes.ZenCrowd().fit(crowd.annotations)
    assert 0.2 < (result.labels == 0).mean() < 0.8


def test_bwa_by_hand():
    """One round: two workers who agree and one who does not."""
    votes = cw.Annotations.from_arrays([0, 0, 0], ["a", "b", "c"], ["x", "x", "y"])
    with pytest.warns(cw.errors.ConvergenceWarning):
        result = cw.classes.BWA(max_iter=1, tol=0).fit(votes)
    z = np.array([2 / 3, 1 / 3])
    residual = np.array([2 / 9, 2 / 9, 8 / 9])
    v = 16 / (15 * residual.mean() + residual)
    np.testing.assert_allclose(result.extra["vote_weight"], v)
    new = (z + np.array([v[0] + v[1], v[2]])) / (1 + v.sum())
    np.testing.assert_allclose(result.extra["vote_prior"], new)
    assert result.posterior[0, 0] > z[0]


@pytest.mark.parametrize("method", [cw.classes.BWA(), cw.classes.ZenCrowd()])
def test_better_workers_weigh_more(method):
    crowd = simulate.crowd(1500, 3, [simulate.OneCoin(12, low=0.4, high=0.95)], simulate.PerTask(6), seed=0)
    result = method.fit(crowd.annotations)
    true = np.einsum("wkk->w", crowd.confusion) / 3
    ours = result.extra["vote_weight"] if "vote_weight" in result.extra else result.confusion[:, 0, 0]
    assert spearmanr(ours, true).statistic > 0.85
    vote = cw.evaluate(cw.MajorityVote().fit(crowd.annotations), crowd.truth_table()).expected_accuracy
    assert cw.evaluate(result, crowd.truth_table()).expected_accuracy > vote


# ---------------------------------------------------------------- the oracle
def test_the_oracle_takes_arrays_tables_and_results():
    votes = planted(n=50, m=6)[0]
    fit = cw.DawidSkene().fit(votes)
    for given in (fit, fit.confusion, fit.confusion_table()):
        found = cw.classes.oracle(votes, given, fit.class_prior)
        np.testing.assert_allclose(found.posterior, fit.posterior, atol=1e-9)
    assert cw.classes.oracle(votes, fit).class_prior.tolist() == fit.class_prior.tolist()
    np.testing.assert_allclose(found.infer(votes).posterior, found.posterior, atol=1e-12)
    assert cw.classes.oracle(votes, fit, gold={0: 1}).posterior[0].tolist() == [0, 1, 0]


def test_nobody_beats_the_oracle_by_much():
    crowd = simulate.crowd(2000, 3, [simulate.DirichletConfusion(15)], simulate.PerTask(4), seed=0)
    best = cw.evaluate(cw.classes.oracle(crowd.annotations, crowd.confusion), crowd.truth_table()).accuracy
    for method in (cw.DawidSkene(), cw.classes.Hierarchical(), cw.MACE()):
        assert cw.evaluate(method.fit(crowd.annotations), crowd.truth_table()).accuracy < best + 0.01


def test_the_oracle_refuses_what_it_cannot_use():
    votes = planted(n=20, m=4)[0]
    fit = cw.DawidSkene().fit(votes)
    with pytest.raises(cw.DataError, match="shape"):
        cw.classes.oracle(votes, fit.confusion[:2])
    with pytest.raises(cw.DataError, match="sum to one"):
        cw.classes.oracle(votes, fit.confusion * 2)
    with pytest.raises(cw.DataError, match="no column 'p'"):
        cw.classes.oracle(votes, fit.confusion_table().drop("p"))
    with pytest.raises(cw.DataError, match="does not cover 1 workers"):
        cw.classes.oracle(votes, fit.confusion_table().filter(fit.confusion_table()["worker"] != 0))
    with pytest.raises(cw.DataError, match="no confusion"):
        cw.classes.oracle(votes, cw.MajorityVote().fit(votes))
