"""Planted crowds come back through moments alone, better with more tasks."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate


def planted(n, k, seed=3):
    groups = [simulate.ClassCoins(3, low=0.9, high=0.98), simulate.DirichletConfusion(9, diagonal=6, off=1)]
    return simulate.crowd(n, k, groups, simulate.PerTask(8), seed=seed)


@pytest.mark.parametrize(
    ("method", "k"),
    [(cw.classes.SML(), 2), (cw.classes.CNMF(), 3), (cw.classes.Tensor(), 3), (cw.classes.SpectralDS(em_steps=0), 3)],
    ids=lambda x: getattr(x, "name", x),
)
def test_confusions_are_recovered_better_with_more_tasks(method, k):
    errors = []
    for n in (500, 2500, 12500):
        crowd = planted(n, k)
        result = method.fit(crowd.annotations)
        errors.append(float(((result.confusion - crowd.confusion) ** 2).sum() / (12 * k)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.001


def test_one_coin_skills_are_recovered_from_agreement():
    errors = []
    for n in (300, 3000, 30000):
        crowd = simulate.crowd(n, 3, [simulate.OneCoin(15, low=0.4, high=0.9)], simulate.PerTask(5), seed=1)
        weight = cw.classes.PGD().fit(crowd.annotations).extra["vote_weight"]
        accuracy = 1 / (1 + 2 * np.exp(-weight))
        errors.append(float(np.abs(accuracy - np.einsum("wkk->w", crowd.confusion) / 3).mean()))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


@pytest.mark.parametrize(
    "method", [cw.classes.MultiSPA(em_steps=0), cw.classes.SymNMF(em_steps=0)], ids=lambda x: x.name
)
def test_corners_come_close_where_experts_are_nearly_pure(method):
    """Not ever closer: with experts at .9 to .98 the corners themselves are a little off."""
    crowd = planted(12500, 3)
    result = method.fit(crowd.annotations)
    assert float(((result.confusion - crowd.confusion) ** 2).sum() / 36) < 0.01
