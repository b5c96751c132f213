"""Adaptive: when it is the committee, what it does with copies and gold, and how it compares with single methods."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.cli.demo import LABELLED, _crowd, load_digits
from crowdwise.kinds.classes.methods.ensemble import adaptive
from crowdwise.kinds.classes.methods.ensemble.adaptive import AVERAGED
from tests.conftest import planted

SIZES = ((1000, 60, 4, 5), (200, 20, 3, 4))
RIVALS = ("majority_vote", "dawid_skene", "hierarchical", "mace", "one_coin")


@lru_cache(maxsize=64)
def scenario(name, size, seed):
    tasks, workers, classes, labels = size
    return simulate.scenario(name, tasks=tasks, workers=workers, classes=classes, labels=labels, seed=seed)


@lru_cache(maxsize=256)
def accuracy(method, name, size, seed):
    crowd = scenario(name, size, seed)
    return cw.evaluate(cw.method(method).fit(crowd.annotations), crowd.truth_table()).expected_accuracy


def test_it_is_the_default():
    assert cw.Adaptive.name == cw.registry.DEFAULT


def test_one_label_per_task_is_left_to_the_committee():
    votes = cw.Annotations.from_arrays(range(30), [0, 1, 2] * 10, [0, 1, 1, 0, 2] * 6)
    own, other = cw.Adaptive().fit(votes), cw.classes.Committee().fit(votes)
    np.testing.assert_array_equal(own.posterior, other.posterior)
    assert "independence" not in own.extra


def test_a_prior_is_left_to_the_committee():
    votes = planted(n=40, m=6, k=3, labels=3)[0]
    history = cw.DawidSkene().fit(planted(n=60, m=6, k=3, seed=3)[0])
    own, other = (method.fit(votes, prior=history) for method in (cw.Adaptive(), cw.classes.Committee()))
    np.testing.assert_array_equal(own.posterior, other.posterior)
    np.testing.assert_array_equal(own.confusion, other.confusion)


def test_what_it_tells_of_a_crowd_of_independent_workers():
    votes, truth, skill = planted(n=800, m=12, k=3, labels=6)
    result = cw.Adaptive().fit(votes)
    test = result.extra["independence"]
    assert set(test) == {"power", "low", "high", "share", "dispersion", "low_share"}
    assert 0 < test["low"] < test["power"] < test["high"]
    assert test["share"] > 0.9
    assert abs(test["dispersion"]) < 0.2
    assert 0 <= test["low_share"] < 0.2
    assert result.extra["copying"] == []
    assert tuple(result.extra["weight"]) == AVERAGED
    assert sum(result.extra["weight"].values()) == pytest.approx(1.0)
    assert (result.labels == truth).mean() > 0.9
    np.testing.assert_allclose(result.skill, skill, atol=0.1)
    np.testing.assert_allclose(np.einsum("wkk->w", result.confusion) / 3, skill, atol=0.1)
    mean, low, high = result.expected_accuracy
    assert mean == pytest.approx(result.mean_confidence)
    assert 0 < low < mean < high < 1


def test_shared_errors_give_the_committee_the_say():
    groups, labels = [simulate.OneCoin(25, low=0.55, high=0.9)], simulate.PerTask(8)
    crowd = simulate.crowd(800, 5, groups, labels, hard_share=0.5, hard_pull=0.5, seed=1)
    own, other = cw.Adaptive().fit(crowd.annotations), cw.classes.Committee().fit(crowd.annotations)
    share = own.extra["independence"]["share"]
    assert share < 0.05
    assert np.abs(own.posterior - other.posterior).max() <= share + 1e-9
    single = cw.classes.Hierarchical().fit(crowd.annotations)
    assert own.mean_confidence < single.mean_confidence - 0.05


def test_gold_is_clamped_teaches_and_is_left_out_of_the_expectation():
    votes, truth, _ = planted(n=200, m=10, k=3, labels=3)
    gold = {t: int((truth[t] + (t < 5)) % 3) for t in range(100)}  # five of them are wrong on purpose
    result = cw.Adaptive().fit(votes, gold=gold)
    np.testing.assert_array_equal(result.posterior[:100], np.eye(3)[[gold[t] for t in range(100)]])
    assert result.expected_accuracy[0] == pytest.approx(result.confidence[100:].mean())
    plain = cw.Adaptive().fit(votes)
    assert np.abs(result.posterior[100:] - plain.posterior[100:]).max() > 0.01


def test_copying_workers_weigh_one_voice():
    """A ring with a wrong answer of its own: as one voice it does less harm."""
    crowd = scenario("colluders", SIZES[0], 2)
    votes, truth = crowd.annotations, crowd.truth_table()
    ring = {w for w, kind in zip(votes.workers, crowd.kind, strict=True) if kind == "colluder"}
    result = cw.Adaptive().fit(votes)
    [group] = result.extra["copying"]
    assert set(group) <= ring
    assert len(group) >= 0.9 * len(ring)
    credulous = cw.Adaptive(copies=False).fit(votes)
    assert credulous.extra["copying"] == []
    assert cw.evaluate(result, truth).log_loss < cw.evaluate(credulous, truth).log_loss


def test_a_label_repeated_by_copies_adds_nothing():
    """Six workers who hand on one label a task that says nothing about the truth."""
    votes, truth, _ = planted(n=600, m=15, k=4, labels=6, seed=4)
    rng = np.random.default_rng(0)
    rumour = rng.integers(4, size=600)  # says nothing about the truth
    task = np.repeat(np.arange(600), 3)
    worker = np.concatenate([15 + rng.choice(6, 3, replace=False) for _ in range(600)])
    rows = [np.concatenate(pair) for pair in ((votes.task, task), (votes.worker, worker), (votes.label, rumour[task]))]
    more = cw.Annotations.from_arrays(*rows, tasks=range(600), workers=range(21), classes=range(4))
    result = cw.Adaptive().fit(more)
    assert result.extra["copying"] == [list(range(15, 21))]
    assert (result.labels == truth).mean() > (cw.Adaptive().fit(votes).labels == truth).mean() - 0.01


@pytest.mark.slow
def test_the_demos_crowd():
    digits = load_digits()
    for seed in range(5):
        crowd = _crowd(digits.target[:LABELLED], digits.data[:LABELLED], seed)
        result = cw.Adaptive().fit(crowd.annotations)
        right = cw.evaluate(result, crowd.truth_table()).accuracy
        assert right >= 0.96
        assert abs(result.mean_confidence - right) <= 0.05


@pytest.mark.slow
def test_copiers_cost_little_against_the_vote():
    gap = [
        accuracy("adaptive", "copiers", size, seed) - accuracy("majority_vote", "copiers", size, seed)
        for size in SIZES
        for seed in range(5)
    ]
    assert np.mean(gap) >= -0.03


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["one_coin", "dirichlet", "adversaries", "class_constant", "pairwise_flipper", "missing"]
)
def test_it_is_near_the_best_single_method_of_each_planted_crowd(name):
    cases = [(size, seed) for size in SIZES for seed in range(300, 304)]
    means = {m: np.mean([accuracy(m, name, *case) for case in cases]) for m in ("adaptive", *RIVALS)}
    assert means["adaptive"] >= max(means[m] for m in RIVALS) - 0.01


def test_the_doubt_bounds_the_confidence():
    for k in (2, 4):
        votes = planted(n=600, m=20, k=k, labels=10, low=0.7, high=0.95)[0]
        result = cw.Adaptive().fit(votes)
        share = result.extra["independence"]["share"]
        assert share > 0.5
        assert 0.8 < result.confidence.max() <= 1 - share * 0.6 / k**1.5 * (1 - 1 / k) + 1e-9


def test_names_of_workers_change_nothing():
    votes, _, _ = planted(n=200, m=10, k=3, labels=4)
    other = cw.Annotations.from_arrays(votes.task, 9 - votes.worker, votes.label)
    np.testing.assert_allclose(cw.Adaptive().fit(votes).posterior, cw.Adaptive().fit(other).posterior, atol=1e-7)


def test_vote_shares_alone_do_not_set_the_confidence(monkeypatch):
    # On two million labels of 40 classes the left-out labels were predicted best from the votes, and the confidence
    # was half the vote shares': .84 where .98 were right.
    crowd = simulate.scenario("one_coin", tasks=2000, workers=60, classes=10, labels=5, seed=1)
    monkeypatch.setattr(adaptive, "_weights", lambda scores: dict.fromkeys(scores, 0.0) | {"wawa": 1.0})
    result = cw.Adaptive().fit(crowd.annotations)
    right = cw.evaluate(result, crowd.truth_table()).accuracy
    assert abs(result.posterior.max(axis=1).mean() - right) < 0.05
