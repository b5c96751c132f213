"""Planted crowds on a ladder: biases, scales and spammers are found."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from tests.crowds.ordered import errors


def test_biases_and_scales_are_found_and_the_errors_fall():
    few, many = (np.mean([errors(tasks, seed) for seed in range(2)], axis=0) for tasks in (200, 3200))
    assert (many < 0.6 * few).all()
    assert many[0] < 0.1
    assert many[1] < 0.15


@pytest.mark.parametrize("name", ["ordered_constants", "ordered_random", "ordered_reversed"])
def test_who_does_not_climb_the_ladder_is_found(name):
    crowd = simulate.scenario(name, tasks=400, workers=30, labels=6, seed=1)
    spammer = cw.ordered.OrdinalTypes().fit(crowd.votes).extra["spammer"] > 0.5
    honest = np.array(crowd.kind) == "honest"
    assert spammer[~honest].mean() >= 0.8
    assert not spammer[honest].any()


@pytest.mark.parametrize("name", list(simulate.ORDERED_SCENARIOS))
def test_the_committee_is_above_the_vote(name):
    crowd = simulate.scenario(name, tasks=400, workers=30, seed=2)
    truth = crowd.truth_table()
    found = [cw.evaluate(cw.method(m).fit(crowd.votes), truth) for m in ("majority_vote", "ordinal_committee")]
    assert found[1].mae < found[0].mae
    assert found[1].kappa > found[0].kappa


def test_every_scenario_runs_at_every_size():
    for name in simulate.ORDERED_SCENARIOS:
        for tasks, workers, labels in ((30, 10, 3), (1, 1, 1), (3, 2, 2)):
            crowd = simulate.scenario(name, tasks=tasks, workers=workers, labels=labels, seed=1)
            assert crowd.votes.answers.order is not None
            assert crowd.worker_table().columns == ["worker", "kind", "bias", "scale"]
