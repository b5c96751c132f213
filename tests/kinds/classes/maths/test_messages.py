"""The message kernel against brute force, and belief propagation against the tables it should reproduce."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.maths import messages
from crowdwise.kinds.classes.maths import messages as nodes
from crowdwise.kinds.classes.maths.messages import VoteEdges, propagate
from tests.crowds import sparse

# (task, worker, label) of a graph without loops.
TREE = ([0, 1, 1, 2, 2, 3, 3, 4], [0, 0, 1, 1, 2, 2, 3, 3], [0, 1, 0, 0, 1, 1, 0, 0])


def brute_force(votes, h, prior):
    """The posterior by enumeration of every truth."""
    n, k = h.shape
    posterior = np.zeros((n, k))
    for z in product(range(k), repeat=n):
        p = np.prod(h[np.arange(n), z])
        for worker in range(votes.n_workers):
            factor = np.exp(prior.log_weight)
            for e in np.flatnonzero(votes.worker == worker):
                factor = factor * prior.theta[:, z[votes.task[e]], votes.label[e]]
            p *= factor.sum()
        posterior[np.arange(n), z] += p
    return posterior / posterior.sum(axis=1, keepdims=True)


PRIORS = {
    "one coin": (2, nodes.one_coin(2, 1, 2, 2)),
    "one coin, three classes": (3, nodes.one_coin(0.7, 1.3, 3, 2)),
    "two coins": (2, nodes.two_coin(2, 1, 2)),
    "hammer-spammer": (3, nodes.hammer_spammer(0.6, 0.95, 3)),
    "dirichlet": (3, nodes.dirichlet(2, 1, 3, 50, np.random.default_rng(0))),
}


@pytest.mark.parametrize("case", PRIORS)
def test_the_posterior_is_exact_on_a_tree(case):
    k, prior = PRIORS[case]
    votes = cw.Annotations.from_arrays(*TREE, classes=range(k))
    h = np.random.default_rng(1).dirichlet(np.ones(k), 5)
    found = propagate(VoteEdges.of(votes), prior, np.log(h), tol=1e-12)
    assert found.n_iter <= 6
    np.testing.assert_allclose(found.posterior, brute_force(votes, h, prior), atol=1e-10)


def test_the_quadrature_is_exact_for_beta_priors():
    few, many = nodes.one_coin(0.3, 0.8, 2, 2), nodes.one_coin(0.3, 0.8, 2, 60)
    votes = cw.Annotations.from_arrays(*TREE)
    h = np.log(np.random.default_rng(2).dirichlet(np.ones(2), 5))
    one, other = (propagate(VoteEdges.of(votes), prior, h, tol=1e-12).posterior for prior in (few, many))
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_the_tiny_example_by_hand():
    votes = cw.Annotations.from_arrays([0, 1], [0, 0], [0, 0], classes=[0, 1])
    found = propagate(VoteEdges.of(votes), nodes.one_coin(2, 1, 2, 2), np.log([[0.9, 0.1], [0.5, 0.5]]))
    np.testing.assert_allclose(19 * found.posterior, [[18, 1], [14, 5]], atol=1e-10)


def test_samples_come_close_to_the_integral():
    votes = cw.Annotations.from_arrays(*TREE)
    h = np.log(np.random.default_rng(3).dirichlet(np.ones(2), 5))
    exact = propagate(VoteEdges.of(votes), nodes.two_coin(2, 1, 2), h, tol=1e-9).posterior
    drawn = nodes.dirichlet(2, 1, 2, 200_000, np.random.default_rng(0))
    assert np.abs(propagate(VoteEdges.of(votes), drawn, h, tol=1e-9).posterior - exact).max() < 1e-3


def test_chunks_change_nothing(monkeypatch):
    crowd = simulate.scenario("one_coin", tasks=100, seed=1)
    one = cw.classes.BeliefPropagation().fit(crowd.annotations).posterior
    monkeypatch.setattr(messages, "CHUNK", 50)
    np.testing.assert_allclose(cw.classes.BeliefPropagation().fit(crowd.annotations).posterior, one, atol=1e-12)


def test_damping_leads_to_the_same_place_and_a_class_prior_can_be_learnt():
    group = [simulate.OneCoin(30, low=0.6, high=0.9)]
    crowd = simulate.crowd(400, 3, group, simulate.PerTask(5), class_prior=[0.7, 0.2, 0.1], seed=1)
    plain = cw.classes.BeliefPropagation(tol=1e-6).fit(crowd.annotations)
    damped = cw.classes.BeliefPropagation(tol=1e-6, damping=0.4).fit(crowd.annotations)
    np.testing.assert_allclose(damped.posterior, plain.posterior, atol=1e-4)
    learnt = cw.classes.BeliefPropagation(learn_class_prior=True).fit(crowd.annotations)
    np.testing.assert_allclose(learnt.class_prior, [0.7, 0.2, 0.1], atol=0.06)


def test_gold_teaches():
    crowd = simulate.crowd(60, 2, [simulate.Adversary(4), simulate.OneCoin(3, low=0.55, high=0.6)], simulate.Dense())
    truth = crowd.truth_table()
    blind, taught = (cw.classes.BeliefPropagation().fit(crowd.annotations, gold=g) for g in (None, truth.head(20)))
    rest = truth.tail(40)
    assert cw.evaluate(taught, rest).accuracy > 0.9 > cw.evaluate(blind, rest).accuracy


def test_what_it_refuses():
    votes = cw.Annotations.from_arrays([0, 0], [0, 1], [0, 1], classes=[0, 1, 2])
    with pytest.raises(cw.DataError, match="two classes"):
        cw.classes.BeliefPropagation(prior="two_coin").fit(votes)
    with pytest.raises(cw.ParameterError, match="prior must be"):
        cw.classes.BeliefPropagation(prior="nothing")


# Sparse regular crowds; python -m benchmarks.quality.bp_mf does the same with 20 seeds.
@pytest.mark.slow
@pytest.mark.parametrize("row", sparse.ROWS, ids=str)
def test_the_table_of_sparse_regular_crowds(row):
    """Belief propagation within 3.5 standard errors of an independent implementation, and ahead of mean field."""
    seeds = 4
    found = sparse.accuracies(row, seeds)
    spread = max(row.spread[3] or 0.018, float(found[:, 3].std(ddof=1)))
    assert found[:, 3].mean() == pytest.approx(row.mean[3], abs=3.5 * spread * np.sqrt(1 / seeds + 1 / 20))
    assert (found[:, 3] - found[:, 2]).mean() > 0
