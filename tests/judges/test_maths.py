"""The maths of judges: exact values, and what must hold whatever the data."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.judges.maths import (
    best_variance,
    effective_interval,
    effective_number,
    error_correlation,
    kish,
    labels_per_task,
    pareto,
    position_both,
    position_once,
    regression,
    shrunk,
    smallest_visible,
    squared_correlation,
    subsets,
    unknown_pairs,
    variance,
    worth_up_to,
)
from crowdwise.kinds.classes.maths.judges import (
    BIAS,
    NONE,
    RaterRows,
    choose_strength,
    divergence,
    fit_stack,
    group_difference,
    held_out,
    learn_stack,
    log_loss,
    normalised_votes,
    soft_labels,
    terciles,
)
from crowdwise.stats.platt import fit_platt, why_ignored


def test_exact_values():
    assert kish(9, 0.37) == pytest.approx(2.2727, abs=5e-5)
    found = position_both(40, 16)
    assert (found.value, found.se, found.p) == pytest.approx((0.4490, 0.1460, 0.00184), abs=5e-5)
    assert labels_per_task(0.504, 0.5, 20) == pytest.approx(0.1569, abs=5e-5)
    assert worth_up_to(0.5) == pytest.approx(0.17, abs=0.005)
    assert worth_up_to(0.17) == pytest.approx(0.047, abs=0.0005)


def test_independent_errors_are_all_voices_and_copies_are_one():
    rng = np.random.default_rng(0)
    wrong = (rng.random((20_000, 8)) < 0.3).astype(float)
    assert effective_number(error_correlation(wrong).r) == pytest.approx(8, rel=0.05)
    copies = np.repeat(wrong[:, :1], 8, axis=1)
    assert effective_number(error_correlation(copies).r) == pytest.approx(1)


def test_the_effective_number_is_kishs_for_equal_correlations():
    r = np.full((9, 9), 0.37)
    np.fill_diagonal(r, 1)
    assert effective_number(r) == pytest.approx(kish(9, 0.37))


def test_absent_verdicts_count_for_nothing():
    rng = np.random.default_rng(1)
    wrong = (rng.random((400, 3)) < 0.4).astype(float)
    gone = wrong.copy()
    gone[200:, 2] = np.nan
    found = error_correlation(gone)
    assert found.common[0, 2] == 200
    assert found.common[0, 1] == 400
    assert found.r[0, 1] == pytest.approx(error_correlation(wrong).r[0, 1])


def test_block_shrinkage_keeps_the_effective_number_and_halves_the_error_of_pairs():
    rng = np.random.default_rng(2)
    family = np.array([0, 0, 0, 1, 1, 1])
    raw, better = [], []
    for _ in range(40):
        hidden = rng.standard_normal((100, 2))[:, family] * 0.8 + rng.standard_normal((100, 6)) * 0.6
        found = error_correlation((hidden > 0.5).astype(float))
        table, lam = shrunk(found, family)
        assert 0 <= lam <= 1
        assert effective_number(table) == pytest.approx(effective_number(found.r))
        off = np.triu_indices(6, 1)
        raw.append(found.r[off])
        better.append(table[off])
    assert np.std(better, axis=0).mean() < 0.7 * np.std(raw, axis=0).mean()


def test_a_pair_with_few_errors_or_little_gold_is_unknown():
    wrong = np.zeros((100, 3))
    wrong[:20, 0] = wrong[:2, 1] = wrong[10:40, 2] = 1
    unknown = unknown_pairs(wrong, error_correlation(wrong).common)
    assert unknown[0, 1]
    assert not unknown[0, 2]
    assert unknown_pairs(wrong[:25], error_correlation(wrong[:25]).common).all()


def test_the_interval_of_the_effective_number_holds_it():
    rng = np.random.default_rng(3)
    common = rng.random((150, 1)) < 0.3
    wrong = np.where(rng.random((150, 6)) < 0.5, common, rng.random((150, 6)) < 0.3).astype(float)
    value = effective_number(error_correlation(wrong).r)
    low, high = effective_interval(wrong, 0.95)
    assert low < value < high
    narrow = effective_interval(np.tile(wrong, (8, 1)), 0.95)
    assert narrow[1] - narrow[0] < (high - low) / 2


def test_the_stack_is_at_its_minimum():
    from scipy.optimize import minimize

    rng = np.random.default_rng(4)
    voices = np.eye(3)[rng.integers(3, size=(80, 5))] - 1 / 3
    truth = rng.integers(3, size=80)

    def loss(x):
        z = np.einsum("nmk,m->nk", voices, x[:5]) + x[5:]
        z = z - z.max(axis=1, keepdims=True)
        logs = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        return -logs[np.arange(80), truth].sum() + (x[:5] ** 2).sum() * 1.5 + BIAS / 2 * (x[5:] ** 2).sum()

    found = fit_stack(voices, truth, 3.0)
    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(np.r_[found.weight, found.bias], best.x, atol=1e-5)


def test_copies_share_a_weight_and_a_constant_judge_gets_none():
    rng = np.random.default_rng(5)
    truth = rng.integers(2, size=300)
    good = np.where(rng.random(300) < 0.9, truth, 1 - truth)
    voices = np.eye(2)[np.stack([good, good, np.zeros(300, dtype=int)], axis=1)] - 0.5
    found, held_out_ = learn_stack(voices, truth, np.random.default_rng(0))
    assert found.weight[0] == pytest.approx(found.weight[1])
    assert log_loss(held_out_, truth).mean() < 0.45
    assert found.weight[0] > 3 * abs(found.weight[2])


def test_platt_moves_a_shifted_judge_and_never_turns_confidence_round():
    rng = np.random.default_rng(6)
    stated = rng.choice([0.8, 0.9, 0.95, 0.99], size=500)
    right = (rng.random(500) < 0.6).astype(float)
    found = fit_platt(stated, right)
    assert np.abs(found(stated).mean() - 0.6) < 0.02
    backwards = fit_platt(stated, (rng.random(500) < 1.7 - stated).astype(float))
    assert backwards.slope == 0
    assert why_ignored(stated[:10])
    assert why_ignored(np.full(40, 0.9)) == "the stated confidence never varies"
    assert why_ignored(stated) == ""


def test_terciles_are_each_judges_own():
    judge = np.array([0] * 6 + [1] * 6)
    strength = np.array([1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, np.nan])
    found = terciles(judge, strength, 2)
    assert found[:6].tolist() == [0, 0, 1, 1, 2, 2]
    assert found[-1] == NONE


def test_position_without_pairs_says_nothing():
    assert position_both(0, 0).p == 1
    assert position_once(0, 0).p == 1
    assert position_once(60, 100).value == pytest.approx(0.1)
    assert smallest_visible(50, 50) == pytest.approx(0.28)


def test_the_regression_is_least_squares_with_robust_errors():
    rng = np.random.default_rng(7)
    x = rng.standard_normal((400, 1))
    y = 2 * x[:, 0] + rng.standard_normal(400) * (1 + np.abs(x[:, 0]))
    found = regression(y, x)[0]
    assert found.low < 2 < found.high
    assert found.value == pytest.approx(np.polyfit(x[:, 0], y, 1)[0])
    assert found.se > np.sqrt(((y - found.value * x[:, 0]) ** 2).mean() / (x[:, 0] ** 2).sum())  # not the plain one


def test_money():
    assert variance(0.5, 100, 1e12) == pytest.approx(0.005)
    split = labels_per_task(0.5, 1, 50)
    judged = 1_000 / (1 + 50 * split)
    assert best_variance(0.5, 1, 50, 1_000) == pytest.approx(variance(0.5, judged * split, judged))
    assert len(subsets(4)) == 15
    assert pareto(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.6, 0.4, 0.4])).tolist() == [True, False, True, False]
    truth = np.array([0, 1, 0, 1, 1])
    p = np.array([0.2, 0.7, 0.4, 0.9, 0.6])
    assert squared_correlation(np.column_stack([1 - p, p]), truth) == pytest.approx(np.corrcoef(p, truth)[0, 1] ** 2)


def test_prediction_normalised_votes_of_two_classes_are_the_ratio_of_expectations():
    task, label = np.zeros(10, dtype=np.int64), np.array([1] * 6 + [0] * 4)
    prediction = np.column_stack([np.full(10, 0.1), np.full(10, 0.9)])
    found = normalised_votes(task, label, prediction, np.ones(10), 1)
    assert found[0, 0] > found[0, 1]  # 40 % say 0, 10 % were expected


def test_held_out_raters_are_not_in_what_predicts_them():
    task, rater = np.repeat(np.arange(50), 4), np.tile(np.arange(4), 50)
    label = np.random.default_rng(8).integers(2, size=200)
    counts = np.bincount(task * 2 + label, minlength=100).reshape(50, 2).astype(float)
    rows = RaterRows(task, rater, label, np.ones(200), counts)
    # Labels are coins, so the more the pool counts, the better; a rater predicted by themselves would turn it round.
    losses = [held_out(rows, a) for a in (0.5, 2.0, 8.0)]
    assert losses[0] > losses[1] > losses[2]
    assert choose_strength(rows)[0] == 8.0
    np.testing.assert_allclose(soft_labels(counts, 2.0)[0].sum(axis=1), 1)


def test_divergence_is_zero_for_equals_and_log_two_for_opposites():
    p, q = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.5, 0.5], [0.0, 1.0]])
    np.testing.assert_allclose(divergence(p, q), [0, np.log(2)])


def test_groups_that_differ_are_found_by_permuting_raters():
    rng = np.random.default_rng(9)
    task, rater = np.repeat(np.arange(60), 20), np.tile(np.arange(20), 60)
    group = (np.arange(20) < 8).astype(np.int64)
    label = (rng.random(1200) < np.where(group[rater] == 1, 0.7, 0.3)).astype(np.int64)
    counts = np.bincount(task * 2 + label, minlength=120).reshape(60, 2).astype(float)
    rows = RaterRows(task, rater, label, np.ones(1200), counts)
    gap, p, _, _ = group_difference(rows, group, np.eye(2), np.random.default_rng(0), 199)
    assert gap[1] == pytest.approx(0.4, abs=0.06)
    assert p[1] == pytest.approx(1 / 200)
