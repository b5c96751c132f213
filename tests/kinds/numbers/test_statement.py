"""Intervals of numbers after gold: they cover, they follow the tasks' own variance, and the sentence says how often."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.evaluation.statement import outlook, statement
from crowdwise.kinds.numbers.maths.intervals import rescaled


def crowd(seed=0, name="numbers_plain", tasks=300):
    return simulate.scenario(name, tasks=tasks, workers=20, labels=4, seed=seed)


def test_rescaled_intervals_cover_and_follow_the_variance():
    rng = np.random.default_rng(0)
    inside, stated, ratio = [], [], []
    for _ in range(200):
        variance = rng.choice([0.25, 4.0], size=260)
        error = rng.normal(size=260) * np.sqrt(variance + 1.0) * 1.0
        scale = rescaled(error[:60], variance[:60], others=200)
        covered = float((np.abs(error) <= scale.half(variance))[60:].mean())
        inside.append(covered)
        stated.append(scale.low <= covered <= scale.high)
        ratio.append(float(scale.half(np.array([4.0]))[0] / scale.half(np.array([0.25]))[0]))
    assert 0.885 <= np.mean(inside) <= 0.92
    assert 0.84 <= np.mean(stated) <= 0.99
    assert 1.6 < np.median(ratio) < 2.4  # sqrt(5 / 1.25) = 2


@pytest.mark.slow
def test_without_variance_all_intervals_are_alike():
    error = np.random.default_rng(1).normal(size=40)
    half = rescaled(error, np.full(40, np.nan)).half(np.full(5, np.nan))
    assert np.ptp(half) == 0
    assert 1.2 < half[0] < 2.6


@pytest.mark.slow
def test_intervals_that_are_too_narrow_are_widened_and_said_so():
    data = crowd(name="numbers_copiers")
    rng = np.random.default_rng(2)
    truth = data.truth_table()
    moved = truth.with_columns(truth["value"] + rng.normal(0, 15, len(truth)))  # not what the crowd aims at
    picked = rng.permutation(len(truth))[:60].tolist()
    before, after = cw.numbers.Combined().fit(data.votes), cw.numbers.Combined().fit(data.votes, gold=moved[picked])
    rest = ~after.gold
    value = moved["value"].to_numpy()
    held = [np.mean(((r.low[:, 0] <= value) & (value <= r.high[:, 0]))[rest]) for r in (before, after)]
    assert held[0] < 0.7
    assert 0.8 < held[1] < 0.98
    made = statement(after)
    assert made.low <= held[1] <= made.high
    assert made.n_checked == 60
    assert made.held[0] < 45
    assert "measured on 60 checked tasks" in outlook(after)
    assert "no task has been checked" in outlook(before)
    assert "(check.csv)" in outlook(before, written="check.csv")


def test_few_gold_tasks_and_methods_without_intervals():
    data = crowd()
    gold = data.truth_table()[:5]
    assert "5 checked tasks are too few" in outlook(cw.numbers.Combined().fit(data.votes, gold=gold))
    assert "no intervals" in outlook(cw.numbers.Median().fit(data.votes))
    assert "before gold: none" in outlook(cw.numbers.Median().fit(data.votes, gold=data.truth_table()[:40]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_coverage_on_planted_crowds(seed):
    data = crowd(seed, "numbers_heavy_tails")
    picked = np.random.default_rng(seed).permutation(300)[:50].tolist()
    result = cw.numbers.Combined().fit(data.votes, gold=data.truth_table()[picked])
    value = data.truth_table()["value"].to_numpy()
    inside = ((result.low[:, 0] <= value) & (value <= result.high[:, 0]))[~result.gold]
    assert 0.8 <= inside.mean() <= 0.99
