"""Comparisons on the open sets: the bars of the kind."""

from __future__ import annotations

from functools import cache

import pytest

import crowdwise as cw
from tests.open_sets.comparisons import item_truth, kendall, load, mean_tau, pair_truth, spammed

pytestmark = pytest.mark.data


@cache
def fit(method, name):
    return cw.method(method).fit(load(name))


def test_reading_difficulty():
    assert kendall(fit("tournament", "pair_reading"), item_truth("pair_reading")) >= 0.36
    assert kendall(fit("crowd_bt", "pair_reading"), item_truth("pair_reading")) == pytest.approx(0.372, abs=0.002)
    assert kendall(fit("bradley_terry", "pair_reading"), item_truth("pair_reading")) == pytest.approx(0.335, abs=0.002)


@pytest.mark.parametrize("method", ["tournament", "crowd_bt"])
def test_convincing_arguments(method):
    found = fit(method, "convarg")
    assert kendall(found, item_truth("convarg")) >= 0.764
    assert cw.evaluate(found, pair_truth("convarg")).accuracy >= 0.881
    assert len(set(found.component.tolist())) == 32


def test_spammed_arguments():
    clean = fit("bradley_terry", "convarg")
    for seed in range(2):
        votes = spammed(seed)
        assert mean_tau(cw.comparisons.Tournament().fit(votes).score, clean.score, clean.component) >= 0.86
        assert mean_tau(cw.comparisons.CrowdBT().fit(votes).score, clean.score, clean.component) >= 0.86
        assert mean_tau(cw.comparisons.BradleyTerry().fit(votes).score, clean.score, clean.component) < 0.82
