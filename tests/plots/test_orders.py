"""Plots and notebook tables of comparisons and rankings."""

from __future__ import annotations

import pytest

import crowdwise as cw


@pytest.mark.parametrize("name", ["comparisons_ties", "rankings_plain"])
def test_plots_and_cards(name):
    pytest.importorskip("matplotlib")
    crowd = cw.simulate.scenario(name, tasks=30, workers=8, labels=4, seed=1)
    found = cw.method(crowd.votes.kind.default).fit(crowd.votes)
    assert found.plot.leaderboard(limit=5).get_xlabel() == "score"
    assert found.plot.workers().get_xlabel() in ("reliability", "agreement")
    assert "<table>" in found._repr_html_()
    assert "<table>" in crowd.votes._repr_html_()
    with pytest.raises(cw.ParameterError):
        found.plot.leaderboard(limit=0)
