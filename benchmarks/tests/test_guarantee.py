"""Short forms of benchmarks.guarantee: intervals cover, promises hold, gold that is no sample is refused."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.guarantee import cascades, coverage, promise, refusal
from benchmarks.guarantee.peer import inputs, ours

RUNS = 200


@pytest.mark.parametrize("judge", coverage.JUDGES)
@pytest.mark.parametrize("n", [30, 100])
def test_intervals_of_a_share_cover(judge, n):
    rng = np.random.default_rng([1, n])
    found = np.mean([coverage.one(rng, *judge, n) for _ in range(RUNS)], axis=0)
    slack = 2.5 * np.sqrt(0.05 * 0.95 / RUNS)
    assert found[:2, 0].min() >= 0.95 - slack
    assert found[0, 1] < found[3, 1]  # narrower than the gold alone


@pytest.mark.parametrize("kind", promise.PLANTED)
def test_the_promise_of_accept_is_kept(kind):
    rng = np.random.default_rng(promise.PLANTED.index(kind))
    found = np.mean([promise.one(*promise.planted(kind, 1000, rng), 200, 0.05, rng) for _ in range(RUNS)], axis=0)
    assert found[0, 0] <= promise.RISK + 2 * np.sqrt(0.1 * 0.9 / RUNS)
    assert found[0, 1] <= found[1, 1]  # the naive threshold accepts more, and breaks its word


def test_the_naive_threshold_breaks_it():
    rng = np.random.default_rng(5)
    found = [promise.one(*promise.planted("72 % acceptable", 1000, rng), 200, 0.05, rng) for _ in range(100)]
    assert np.mean(found, axis=0)[1, 0] > 0.25


@pytest.mark.parametrize(("kind", "low", "high"), [(refusal.KINDS[0], 0.0, 0.03), (refusal.KINDS[1], 0.97, 1.0),
                                                   (refusal.KINDS[2], 0.97, 1.0)])  # fmt: skip
def test_gold_that_is_no_random_sample_is_refused(kind, low, high):
    from crowdwise.core.errors import DataError
    from crowdwise.evaluation.guarantee.gold import GoldSample
    from crowdwise.evaluation.guarantee.sampling import check_random

    rng, refused = np.random.default_rng(3), 0
    for _ in range(100):
        found, truth = refusal.world(rng)
        gold = refusal.pick(kind, found, truth, rng)
        try:
            check_random(GoldSample(gold, truth[gold]), found)
        except DataError:
            refused += 1
    assert low <= refused / 100 <= high


def test_a_cascade_pays_where_the_strong_judge_is_costly(monkeypatch):
    monkeypatch.setattr(cascades, "CASES", (((1, 40, 100), (0.14, 0.07), 0.1, 400),))
    (row,) = cascades.cascade_rows(runs=4)
    cheap, strong, both = (float(x) for x in row[1:4])
    assert both < min(cheap, strong)


def test_the_inputs_of_the_peer_can_be_worked_out():
    for i in range(20):
        value, low, high, _ = ours(*inputs(i))
        assert low <= value <= high
