"""Links between tasks with like features on LabelMe and Music."""

from __future__ import annotations

import pytest

from tests.open_sets.graphs import scores

pytestmark = pytest.mark.data


@pytest.mark.parametrize(("name", "bar"), [("labelme", 0.87), ("music", 0.79)])
def test_neighbours_help(name, bar):
    found = scores("graph_field (strength 0.5)", name)
    assert found.accuracy >= bar
    assert found.accuracy > scores("dawid_skene", name).accuracy + 0.03


@pytest.mark.parametrize("name", ["labelme", "music"])
def test_the_chosen_strength_is_no_worse_than_none(name):
    assert scores("graph_field, strength chosen", name).accuracy >= scores("hierarchical", name).accuracy
