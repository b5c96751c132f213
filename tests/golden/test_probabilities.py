"""Probabilities on the open set: the default and its members against the published mean."""

from __future__ import annotations

import pytest

from tests.open_sets.probabilities import load, scored

pytestmark = pytest.mark.data


def test_the_mean_is_the_published_one():
    assert scored("mean_probability", *load())[0] == pytest.approx(0.1710, abs=1e-4)


BARS = [("pooled_probabilities", 0.105, 0.865), ("signals", 0.085, 0.885)]


@pytest.mark.parametrize(("name", "brier", "accuracy"), BARS)
def test_the_default_is_far_ahead(name, brier, accuracy):
    found = scored(name, *load())
    assert found[0] <= brier
    assert found[1] >= accuracy


@pytest.mark.parametrize("k", [3, 5, 10])
def test_with_few_answers_the_default_is_not_behind_the_mean(k):
    votes, truth = load(k, seed=1)
    assert scored("pooled_probabilities", votes, truth)[0] <= scored("mean_probability", votes, truth)[0] + 0.002
