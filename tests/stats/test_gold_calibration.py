"""Confidence calibrated on gold: recovers planted miscalibration, keeps labels and order, intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.stats.gold_calibration import LAPSES, GoldCalibration, logit, share_right, shippable


def crowd(n, slope, shift, seed):
    """Confidences, and which labels are right where the log odds of being right are a line of those claimed."""
    rng = np.random.default_rng(seed)
    confidence = np.clip(rng.beta(6, 1.5, n), 0.34, 0.995)
    x = logit(confidence)
    chance = 1 / (1 + np.exp(-(x + slope * (x - x.mean()) + shift)))
    return confidence, (rng.random(n) < chance).astype(float), chance


@pytest.mark.parametrize(("slope", "shift"), [(0.0, 0.0), (0.5, 1.0), (-0.4, -1.0), (0.3, -0.8)])
def test_planted_miscalibration_is_recovered(slope, shift):
    confidence, right, chance = crowd(6000, slope, shift, 0)
    learnt = GoldCalibration.fit(confidence, confidence[:3000], right[:3000])
    assert learnt.slope == pytest.approx(slope, abs=0.15)
    assert learnt.shift == pytest.approx(shift, abs=0.15)
    assert np.abs(learnt.of(confidence) - chance).mean() < 0.02


def test_labels_ties_and_the_order_of_tasks_stay():
    rng = np.random.default_rng(1)
    posterior = rng.dirichlet([0.7, 0.7, 0.7], 500)
    posterior[0] = [0.4, 0.4, 0.2]
    for slope, shift in ((2.0, -3.0), (-0.9, -2.0), (0.0, 2.0)):
        out = GoldCalibration(slope, shift, 1.0).apply(posterior)
        np.testing.assert_allclose(out.sum(axis=1), 1)
        np.testing.assert_array_equal(out[1:].argmax(axis=1), posterior[1:].argmax(axis=1))
        assert out[0, 0] == pytest.approx(out[0, 1])
        claimed = np.linspace(0.35, 0.99, 60)
        assert (np.diff(GoldCalibration(slope, shift, 1.0).of(claimed)) >= 0).all()


@pytest.mark.slow
def test_the_interval_of_the_share_covers():
    inside, width = 0, []
    for seed in range(150):
        confidence, right, _ = crowd(800, -0.2, -0.7, seed)
        checked, rest = slice(0, 50), slice(50, None)
        learnt = GoldCalibration.fit(confidence, confidence[checked], right[checked])
        share = share_right(confidence[rest], confidence[checked], right[checked], learnt.of(confidence[rest]))
        inside += share.low <= right[rest].mean() <= share.high
        width.append(share.high - share.low)
        assert share.low <= share.mean <= share.high
    assert inside >= 0.85 * 150
    assert np.mean(width) < 0.25


@pytest.mark.slow
def test_what_ships_rarely_breaks_its_bound():
    broken, shipped = 0, []
    for seed in range(60):
        confidence, right, _ = crowd(1500, 0.4, 0.4, seed)
        checked, rest = np.arange(40), np.arange(40, 1500)
        learnt = GoldCalibration.fit(confidence, confidence[checked], right[checked])
        n = shippable(confidence[rest], confidence[checked], right[checked], learnt, 0.05)
        best = rest[np.argsort(-confidence[rest], kind="stable")[:n]]
        broken += n > 0 and 1 - right[best].mean() > 0.05
        shipped.append(n / len(rest))
    assert broken <= 0.25 * 60
    assert np.mean(shipped) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("lapses", "fewest", "most"), [(LAPSES, 0, 6), (((0.0, 1.0),), 16, 30)])
def test_decisions_that_are_wrong_however_sure(monkeypatch, lapses, fewest, most):
    """Nine in a hundred are wrong at any confidence: a curve that rises to one ships them in most of 30 draws."""
    monkeypatch.setattr("crowdwise.stats.gold_calibration.LAPSES", lapses)
    broken = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        odds = rng.normal(1.5, 1.5, 600)
        confidence = 1 / (1 + np.exp(-odds))
        right = (rng.random(600) < 0.91 / (1 + np.exp(-2.5 * odds - 1))).astype(float)
        learnt = GoldCalibration.fit(confidence, confidence[:100], right[:100])
        n = shippable(confidence[100:], confidence[:100], right[:100], learnt, 0.05, realised=True)
        best = 100 + np.argsort(-confidence[100:], kind="stable")[:n]
        broken += int(n > 0 and 1 - right[best].mean() > 0.05)
    assert fewest <= broken <= most
