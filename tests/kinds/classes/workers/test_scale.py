"""Whole numbers without a stated order: alpha at three levels side by side, as krippendorff computes it."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.workers.agreement import alpha_by_scale


def ratings(values=7, order=None, seed=1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, values + 1, 60)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 4)), 1, values).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    task, worker = np.nonzero(~np.isnan(table))
    labels = table[task, worker].astype(int)
    return cw.Annotations.from_arrays(task, worker, labels, order=order), table


def test_three_levels_are_those_of_krippendorff():
    votes, table = ratings()
    expected = {s: krippendorff.alpha(table.T, level_of_measurement=s) for s in ("nominal", "ordinal", "interval")}
    assert alpha_by_scale(votes) == pytest.approx(expected)
    study = cw.workers.study(votes, cw.MajorityVote().fit(votes))
    shown = {c.name: c.value for c in study.agreement}
    for level, value in expected.items():
        assert shown[f"Krippendorff's alpha, {level}"] == pytest.approx(value)
    assert "--order numbers" in next(c.note for c in study.agreement if c.name.endswith("nominal"))
    assert votes.describe()["alpha_by_level"] == pytest.approx(expected)


def test_a_stated_level_is_not_asked_for():
    votes, _ = ratings(order="numbers")
    assert alpha_by_scale(votes) == {}
    plain, _ = ratings()
    study = cw.workers.study(plain, cw.MajorityVote().fit(plain), level="nominal")
    assert sum("Krippendorff" in c.name for c in study.agreement) == 1
    assert alpha_by_scale(ratings(values=2)[0]) == {}
    assert alpha_by_scale(cw.Annotations.from_arrays([1, 1, 1], [1, 2, 3], ["a", "b", "c"])) == {}
    assert alpha_by_scale(cw.Annotations.from_arrays([1, 1, 1], [1, 2, 3], [10, 2000, 50])) == {}
