"""The committee: who sits, what it returns."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.methods.ensemble.committee import MEMBERS, variant
from crowdwise.kinds.classes.methods.ensemble.confidence import AVERAGE, ConfidenceTable, shipped
from crowdwise.kinds.classes.methods.ensemble.confidence import skill as skill_of
from crowdwise.kinds.classes.methods.ensemble.pool import leaning
from crowdwise.kinds.classes.methods.held_out import held_out
from tests.conftest import planted


def test_it_is_the_average_of_its_members_and_a_little_doubt():
    votes = planted(n=120, m=10, k=3)[0]
    members = ("dawid_skene", "majority_vote")
    together = cw.classes.Committee(members=members, calibrated=False, doubt=0.1).fit(votes)
    mean = (cw.DawidSkene().fit(votes).posterior + cw.MajorityVote().fit(votes).posterior) / 2
    np.testing.assert_allclose(together.posterior, 0.9 * mean + 0.1 / 3)
    assert set(together.extra["weight"]) == set(members)
    assert set(together.extra["agreement"]) == {*members, "hierarchical"}
    assert together.expected_accuracy is None


def test_calibration_changes_no_label_and_is_read_off_the_table():
    votes = planted(n=300, m=10, k=3, labels=4)[0]
    bare, told = (cw.classes.Committee(calibrated=calibrated, doubt=0.0).fit(votes) for calibrated in (False, True))
    np.testing.assert_array_equal(bare.labels, told.labels)
    skill = told.extra["skill"]
    np.testing.assert_allclose(told.posterior, shipped().calibrate(bare.posterior, np.full(300, 4.0), skill))
    order = np.argsort(bare.posterior[0])
    assert (np.diff(told.posterior[0][order]) >= 0).all()
    mean, low, high = told.expected_accuracy
    assert mean == pytest.approx(told.mean_confidence)
    assert 0 < low < mean < high < 1


def test_expected_accuracy_leaves_gold_out():
    votes, truth, _ = planted(n=200, m=10, k=2, labels=3)
    result = cw.classes.Committee().fit(votes, gold={t: int(truth[t]) for t in range(100)})
    assert result.expected_accuracy[0] == pytest.approx(result.confidence[100:].mean())


def test_many_labels_say_more_than_few():
    table, pool = ConfidenceTable(0.15, 0.0, 0.1, 1.0), np.array([[0.8, 0.2], [0.8, 0.2]])
    p = table.calibrate(pool, np.array([3.0, 30.0]))
    assert p[0, 0] < p[1, 0]


def test_a_lone_label_of_a_crowd_that_agrees_is_worth_more():
    pool, lone, many = np.array([[0.9, 0.1]]), np.array([1.0]), np.array([50.0])
    weak, strong = (shipped().calibrate(pool, lone, at)[0, 0] for at in (0.55, 0.95))
    assert weak + 0.02 < strong
    assert abs(np.subtract(*(shipped().calibrate(pool, many, at)[0, 0] for at in (0.55, 0.95)))) < 0.01
    found = {}
    for level in (0.5, 0.9):
        votes, truth, _ = planted(n=2000, m=30, k=3, labels=3, seed=2, low=level, high=level)
        votes = votes.take(np.random.default_rng(1).random(len(votes)) < 0.5)
        result = cw.classes.Committee().fit(votes)
        assert result.extra["skill"] == pytest.approx(level, abs=0.08)
        alone = votes.labels_per_task == 1
        found[level] = result.confidence[alone].mean() - (result.labels == truth)[alone].mean()
    assert max(map(abs, found.values())) < 0.2


@pytest.mark.parametrize("k", [2, 3, 20])
def test_skill_is_what_agreement_tells(k):
    for right in (1 / k, 0.5 + 0.5 / k, 0.9, 1.0):
        agree = right**2 + (1 - right) ** 2 / (k - 1)
        assert skill_of(agree * 1e9, 1e9, k) == pytest.approx(right, abs=1e-3)
    assert skill_of(0.0, 1e9, k) == pytest.approx(1 / k, abs=1e-6)
    assert skill_of(0.0, 0.0, 1) == AVERAGE
    assert 0.7 < skill_of(0.0, 0.0, k) < 0.8


def test_a_model_that_takes_another_class_for_the_commonest_has_drifted():
    votes = np.array([0.67, 0.33])
    assert leaning(votes, np.array([0.95, 0.05])) == 1
    assert leaning(votes, np.array([0.05, 0.95])) == 0
    assert leaning(np.array([1.0]), np.array([1.0])) == 0
    tied, model = np.array([0.45, 0.45, 0.05, 0.05]), np.array([0.04, 0.9, 0.03, 0.03])
    assert leaning(tied, model) == leaning(tied[::-1], model[::-1]) == 1


def test_the_model_speaks_where_classes_are_uneven():
    votes = planted(n=600, m=20, k=2, labels=3, seed=1, prior=[0.95, 0.05])[0]
    even = planted(n=600, m=20, k=2, labels=3, seed=1)[0]
    assert cw.classes.Committee().fit(votes).extra["lean"] > 0.9
    assert cw.classes.Committee().fit(even).extra["lean"] == 0


def test_every_default_member_sits_and_the_workers_are_described():
    votes, truth, skill = planted(n=800, m=12, k=3, labels=6)
    result = cw.classes.Committee().fit(votes)
    assert tuple(result.extra["weight"]) == MEMBERS
    assert (result.labels == truth).mean() > 0.9
    np.testing.assert_allclose(np.einsum("wkk->w", result.confusion) / 3, skill, atol=0.1)
    np.testing.assert_allclose(result.skill, skill, atol=0.1)
    assert result.extra["speaker"] in (*MEMBERS, "hierarchical")


def test_with_one_label_per_task_only_those_sit_who_keep_it():
    votes = cw.Annotations.from_arrays(range(30), [0, 1, 2] * 10, [0, 1, 1, 0, 2] * 6)
    seated = cw.classes.Committee().fit(votes).extra["agreement"]
    assert "mace_once" not in seated
    assert "hierarchical_early" in seated


@pytest.mark.parametrize("members", [(), ("committee",), ("gold_majority_vote",), ("nobody",)])
def test_members_are_checked(members):
    with pytest.raises(cw.ParameterError):
        cw.classes.Committee(members=members)


def test_weights_follow_what_the_members_predict():
    votes = planted(n=400, m=12, k=3, labels=5, seed=3)[0]
    members = ("majority_vote", "dawid_skene", "one_coin_even")
    score = np.array(
        [held_out(variant(m, seed=0).fit, votes, enough=1).score for m in members]  # one fold, as the committee does
    )
    expected = np.exp(10 * (score - score.max()))
    weight = cw.classes.Committee(members=members, evidence=10).fit(votes).extra["weight"]
    np.testing.assert_allclose([weight[m] for m in members], expected / expected.sum())
    assert set(cw.classes.Committee(members=members).fit(votes).extra["weight"].values()) == {1 / 3}


def test_few_held_out_labels_hardly_move_the_weights():
    votes = cw.Annotations.from_arrays([0, 0, 0, 1, 1], list("abcab"), [0, 0, 1, 1, 1])
    weight = np.array(list(cw.classes.Committee(evidence=10).fit(votes).extra["weight"].values()))
    np.testing.assert_allclose(weight, 1 / len(weight), atol=0.05)


def test_a_prior_is_for_those_who_can_use_it():
    votes = planted(n=40, m=6, k=3, labels=3)[0]
    history = cw.DawidSkene().fit(planted(n=60, m=6, k=3, seed=3)[0])
    seated = cw.classes.Committee().fit(votes, prior=history).extra["weight"]
    assert set(seated) == {"hierarchical_early", "hierarchical_tempered"}
