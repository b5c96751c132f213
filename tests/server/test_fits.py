"""What the fit in the background says of workers, against what was planted."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.server.config import Config
from crowdwise.server.live.fits import Rows, fit_arrays

CLASSES = ("yes", "no", "per'haps")
SKILL = [0.95, 0.9, 0.85, 0.8, 0.7]


@pytest.fixture(scope="module")
def said():
    """300 tasks, five workers of these skills, a sixth who always says the third class."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=300)
    task, worker, label = [], [], []
    for t, true in enumerate(truth):
        for w, skill in enumerate(SKILL):
            task.append(t), worker.append(w)
            label.append(true if rng.random() < skill else (true + rng.integers(1, 3)) % 3)
        task.append(t), worker.append(5), label.append(2)
    rows = Rows(Config("Which?", classes=CLASSES), 300, *(np.array(x) for x in (task, worker, label)), gold={})
    return json.loads(fit_arrays(rows)["json"].tobytes())


def test_skills_are_those_that_were_planted(said):
    for w, skill in enumerate(SKILL):
        low, mean, high = said["skill"][str(w)]
        assert low < mean < high
        assert mean == pytest.approx(skill, abs=0.06)


def test_the_constant_worker_is_flagged_with_the_name_of_the_class(said):
    (flag,) = said["flags"]["5"]
    assert flag["flag"] == "constant"
    assert flag["evidence"].startswith('said "per\'haps" in 300 of 300 labels')
    assert not {str(w) for w in range(4)} & set(said["flags"])
