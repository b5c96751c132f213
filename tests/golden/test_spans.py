"""Spans on the open set: the baselines of its page, and the default."""

from __future__ import annotations

from functools import cache

import pytest

from tests.open_sets.spans import load, scored

pytestmark = pytest.mark.data


@cache
def scores(name):
    return scored(name)


def test_the_majority_is_the_published_one():
    found = scores("span_majority")
    assert found.f1 == pytest.approx(0.6922, abs=5e-4)
    assert found.exact_f1 == pytest.approx(0.4898, abs=5e-4)
    assert found.mean_f1 == pytest.approx(0.6912, abs=5e-4)


def test_the_default_is_above_the_majority_and_its_bar():
    found = scores("span_combined")
    assert found.f1 >= 0.71
    assert found.exact_f1 >= 0.519


def test_a_lower_cut_and_the_models():
    lower = scored("span_vote", cut=0.4)
    assert lower.f1 >= 0.746
    assert lower.exact_f1 >= 0.519
    assert scores("token_dawid_skene").f1 >= 0.746
    assert scores("bsc").f1 >= 0.74
    assert scores("bsc").exact_f1 >= 0.549


def test_the_set_is_whole():
    votes, truth = load()
    assert (len(votes), votes.n_tasks, votes.n_workers, len(truth)) == (28429, 4740, 312, 188)
