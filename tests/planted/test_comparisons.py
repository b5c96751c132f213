"""Planted crowds that compare: reliabilities, flags, intervals, speed."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.stats import kendalltau

import crowdwise as cw
from crowdwise.kinds.comparisons.maths.models import PairRows
from crowdwise.kinds.comparisons.simulate import PlantedComparisons, comparison_crowd
from crowdwise.kinds.comparisons.workers import flag_comparisons
from tests.crowds.comparisons import large


def flagged(seed, shares):
    """Flagged workers, and what each was planted as."""
    crowd = PlantedComparisons(comparison_crowd(300, 30, per_task=8, slope=0.4, **shares, seed=seed))
    found = flag_comparisons(crowd.votes, cw.comparisons.Tournament().fit(crowd.votes))
    planted = dict(zip(crowd.votes.workers.to_list(), crowd.kind, strict=True))
    return {flag.worker for flag in found if flag.name != "unknown"}, planted


def mixture(seed, n=3000, k=30, m=10):
    """Eight reliable workers, a coin (.5) and an adversary (.1), drawn from crowd_bt's own model."""
    rng = np.random.default_rng(seed)
    score, trust = rng.normal(size=k), np.r_[np.full(8, 0.9), 0.5, 0.1]
    left, worker = rng.integers(0, k, n), rng.integers(0, m, n)
    right = (left + rng.integers(1, k, n)) % k
    p = 1 / (1 + np.exp(score[right] - score[left]))
    outcome = (rng.random(n) > trust[worker] * p + (1 - trust[worker]) * (1 - p)).astype(np.int8)
    return PairRows(left, right, outcome, worker, None, k, m), score, trust


def test_crowd_bt_finds_the_coin_and_the_adversary():
    gains = []
    for seed in range(5):
        rows, score, _ = mixture(seed)
        found = cw.comparisons.CrowdBT().solve(rows, None)
        assert found.reliability[9] < 0.25
        assert 0.3 < found.reliability[8] < 0.7
        assert found.reliability[:8].min() > 0.7
        plain = cw.comparisons.BradleyTerry().solve(rows, None).score
        gains.append(kendalltau(found.score, score).statistic - kendalltau(plain, score).statistic)
        assert kendalltau(found.score, score).statistic > 0.8
    assert np.mean(gains) > 0.02


def test_errors_fall_with_more_answers():
    errors = []
    for n in (1000, 4000, 16000):
        rows, score, trust = mixture(0, n=n)
        found = cw.comparisons.CrowdBT(strength=0.1).solve(rows, None)
        errors.append((np.abs(found.score - score + score.mean()).mean(), np.abs(found.reliability - trust).mean()))
    assert errors[0][0] > errors[1][0] > errors[2][0]
    assert errors[0][1] > errors[2][1]


def test_a_crowd_in_which_most_are_reversed_is_read_the_way_most_see_it():
    crowd = cw.simulate.scenario("comparisons_plain", tasks=300, workers=20, seed=3)
    found = cw.comparisons.CrowdBT().fit(crowd.votes)
    assert np.mean(found.reliability > 0.5) > 0.9


@pytest.mark.parametrize("name", ["comparisons_plain", "comparisons_ties", "comparisons_reversed"])
def test_intervals_and_places_hold(name):
    inside, places = [], []
    for seed in range(8):
        crowd = cw.simulate.scenario(name, tasks=400, workers=30, labels=5, seed=seed)
        found = cw.comparisons.Tournament().fit(crowd.votes)
        true = crowd.truth - crowd.truth.mean()
        inside.append(np.mean((found.score_low <= true) & (true <= found.score_high)))
        rank = np.argsort(np.argsort(-true)) + 1
        places.append(np.all((found.rank_low <= rank) & (rank <= found.rank_high)))
    assert np.mean(inside) > 0.85
    assert np.mean(places) >= 0.75


def test_bad_workers_are_flagged_and_honest_ones_are_not():
    honest = accused = 0
    hits = {"random": [], "reversed": [], "constant": []}
    for seed in range(12):
        for shares in ({}, {"random": 0.2, "reversed": 0.1, "constant": 0.1}):
            found, planted = flagged(seed, shares)
            honest += sum(kind == "honest" for kind in planted.values())
            accused += sum(planted[worker] == "honest" for worker in found)
            for worker, kind in planted.items():
                if kind in hits:
                    hits[kind].append(worker in found)
    assert accused / honest <= 0.005
    assert np.mean(hits["reversed"]) > 0.8
    assert np.mean(hits["constant"]) > 0.95
    assert np.mean(hits["random"]) > 0.35


def test_a_million_answers_take_seconds():
    cw.comparisons.CrowdBT(max_iter=1).solve(large(False), None)
    cw.comparisons.Davidson(max_iter=1).solve(large(True), None)
    for method, ties in ((cw.comparisons.CrowdBT(), False), (cw.comparisons.Davidson(), True)):
        data = large(ties)
        floor = min(_spent(lambda: np.bincount(data.left, data.left * 0.5, 10_000)) for _ in range(5))  # noqa: B023
        began = time.process_time()
        assert method.solve(data, None).converged
        # Some tens of passes, each some tens of times a bare sum over the rows.
        assert time.process_time() - began < 4000 * floor


def _spent(job):
    began = time.process_time()
    job()
    return time.process_time() - began
