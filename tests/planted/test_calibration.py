"""Where the model is right, its confidence is honest: calibration of labels and coverage of skill intervals."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate

SEEDS = 20


@pytest.fixture(scope="module", params=[3, 5, 10])
def runs(request):
    """1,000 tasks, 60 workers of accuracy .2 + .75 Beta(4, 2.5), uniform errors, four classes."""
    found = []
    for seed in range(SEEDS):
        group = simulate.OneCoin(60, low=0.2, high=0.95, beta=(4.0, 2.5))
        crowd = simulate.crowd(1000, 4, [group], simulate.PerTask(request.param), seed=seed)
        result = cw.classes.Hierarchical().fit(crowd.annotations)
        found.append((crowd, result, cw.evaluate(result, crowd.truth_table())))
    return request.param, found


def test_labels_are_calibrated(runs):
    _, found = runs
    assert np.mean([scores.ece for _, _, scores in found]) <= 0.05


def test_hierarchical_is_better_than_majority_vote_here(runs):
    _, found = runs
    majority = np.mean(
        [cw.evaluate(cw.MajorityVote().fit(c.annotations), c.truth_table()).expected_accuracy for c, _, _ in found]
    )
    assert np.mean([scores.expected_accuracy for _, _, scores in found]) > majority


def test_skill_intervals_cover_the_truth(runs):
    _, found = runs
    inside = []
    for crowd, result, _ in found:
        true = np.einsum("wkk->w", crowd.confusion) / 4
        inside.append(((result.skill_low <= true) & (true <= result.skill_high)).mean())
    assert 0.92 <= np.mean(inside) <= 0.98
