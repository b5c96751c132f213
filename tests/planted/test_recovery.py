"""Planted crowds come back: confusions, class priors, labels, and the ways in which simple votes fail."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.em.kernels import Workspace, e_step


def accuracy(method, crowd):
    return cw.evaluate(method.fit(crowd.annotations), crowd.truth_table()).expected_accuracy


def oracle(crowd):
    """Accuracy of the posterior under the planted confusions and an even class prior."""
    theta = np.ascontiguousarray(crowd.confusion.transpose(0, 2, 1))
    k = crowd.confusion.shape[1]
    posterior = e_step(Workspace.of(crowd.annotations), theta, np.full(k, 1 / k))
    return float((posterior.argmax(axis=1) == crowd.truth).mean())


def confusion_error(result, crowd):
    return float(((result.confusion - crowd.confusion) ** 2).sum() / (len(crowd.confusion) * crowd.confusion.shape[1]))


@pytest.mark.parametrize("method", [cw.DawidSkene(smoothing=0.1), cw.classes.Hierarchical()])
def test_confusions_are_recovered_better_with_more_tasks(method):
    errors = []
    for n in (500, 2000, 8000):
        crowd = simulate.crowd(n, 3, [simulate.DirichletConfusion(12)], simulate.PerTask(6), seed=2)
        errors.append(confusion_error(method.fit(crowd.annotations), crowd))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_one_coin_accuracies_are_recovered():
    crowd = simulate.crowd(6000, 4, [simulate.OneCoin(15, low=0.4, high=0.95)], simulate.PerTask(6), seed=1)
    result = cw.OneCoin().fit(crowd.annotations)
    np.testing.assert_allclose(
        np.einsum("wkk->w", result.confusion) / 4, np.einsum("wkk->w", crowd.confusion) / 4, atol=0.03
    )


def test_an_uneven_class_prior_is_recovered():
    prior = [0.6, 0.3, 0.1]
    crowd = simulate.crowd(
        5000, 3, [simulate.OneCoin(20, low=0.6, high=0.9)], simulate.PerTask(6), class_prior=prior, seed=3
    )
    np.testing.assert_allclose(cw.DawidSkene().fit(crowd.annotations).class_prior, prior, atol=0.03)


def test_constant_spammers_mislead_the_vote_but_not_the_model():
    groups = [simulate.OneCoin(12, low=0.6, high=0.9), simulate.Constant(18, label=0)]
    crowd = simulate.crowd(2000, 3, groups, simulate.PerTask(8), seed=0)
    assert accuracy(cw.MajorityVote(), crowd) < 0.6
    assert accuracy(cw.classes.Hierarchical(), crowd) > oracle(crowd) - 0.02


def test_consistent_adversaries_are_inverted():
    groups = [simulate.OneCoin(14, low=0.7, high=0.9), simulate.Adversary(8, p=0.05)]
    crowd = simulate.crowd(2000, 4, groups, simulate.PerTask(6), seed=0)
    model, vote = cw.classes.Hierarchical().fit(crowd.annotations), cw.MajorityVote()
    assert cw.evaluate(model, crowd.truth_table()).accuracy > accuracy(vote, crowd) + 0.05
    # Without the adversaries the model would be worse: they are read, not ignored.
    honest = crowd.annotations.select(workers=crowd.annotations.workers[:14])
    alone = cw.evaluate(cw.classes.Hierarchical().fit(honest), crowd.truth_table()).accuracy
    assert cw.evaluate(model, crowd.truth_table()).accuracy > alone


def test_few_labels_per_worker_are_where_shrinkage_pays():
    group = simulate.OneCoin(600, low=0.55, high=0.9)
    gains = []
    for seed in range(3):
        crowd = simulate.crowd(1000, 5, [group], simulate.PerTask(4), seed=seed)
        gains.append(accuracy(cw.classes.Hierarchical(), crowd) - accuracy(cw.DawidSkene(), crowd))
    assert np.mean(gains) > 0.02


def test_gold_teaches():
    crowd = simulate.crowd(600, 3, [simulate.OneCoin(10, low=0.25, high=0.5)], simulate.PerTask(5), seed=5)
    gold = crowd.truth_table().head(200)
    rest = crowd.truth_table().tail(400)
    without = cw.evaluate(cw.classes.Hierarchical().fit(crowd.annotations), rest).accuracy
    with_gold = cw.evaluate(cw.classes.Hierarchical().fit(crowd.annotations, gold=gold), rest).accuracy
    assert with_gold > without


def test_single_labels_drift_under_symmetric_smoothing():
    """A documented failure: with one label per task, Dawid-Skene overturns a good part of the labels."""
    kept = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        label = rng.integers(3, size=50)
        votes = cw.Annotations.from_arrays(np.arange(50), rng.integers(4, size=50), label)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.CrowdwiseWarning)
            kept.append((cw.DawidSkene(smoothing=0.01).fit(votes).labels == label).mean())
    assert 0.3 < np.mean(kept) < 0.8
