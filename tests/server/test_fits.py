"""What the fit in the background says of workers, against what was planted."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest

from crowdwise.core.errors import CrowdwiseError
from crowdwise.server import fitting
from crowdwise.server.config import Config
from crowdwise.server.fitting import Fitter
from crowdwise.server.live.baseline import summary_of, with_flags_of
from crowdwise.server.live.fits import FitInput, fit_arrays

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
    rows = FitInput(Config("Which?", classes=CLASSES), 300, *(np.array(x) for x in (task, worker, label)), gold={})
    return json.loads(fit_arrays(rows)["json"].tobytes())


def test_skills_are_those_that_were_planted(said):
    for w, skill in enumerate(SKILL):
        low, mean, high = said["skill"][str(w)]
        assert low < mean < high
        assert mean == pytest.approx(skill, abs=0.06)


def test_the_constant_worker_is_flagged_with_the_name_of_the_class(said):
    (flag,) = said["flags"]["5"]
    assert flag["flag"] == "constant"
    assert flag["evidence"].startswith('gave "per\'haps" in 300 of 300 labels')
    assert not {str(w) for w in range(4)} & set(said["flags"])


def rows_of(config, answers=None, gold=None):
    """Three workers, of whom the third says the first class always."""
    task, worker = np.divmod(np.arange(120), 3)
    label = np.where(worker == 2, 0, task % 3)
    return FitInput(config, 41, task, worker, label, gold or {}, answers, ("ann", "bob", "cy"))


@pytest.mark.parametrize("flags", [True, False])
def test_a_fit_in_another_process_says_the_same(monkeypatch, flags):
    rows = rows_of(Config("Which?", classes=CLASSES), gold={3: "yes", 4: "no"})
    here = Fitter().fit(rows, flags=flags)
    monkeypatch.setattr(fitting, "MANY", 0)
    there = Fitter().fit(rows, flags=flags)
    assert {name: array.tobytes() for name, array in here.items()} == {
        name: array.tobytes() for name, array in there.items()
    }
    assert ("flags" in summary_of(there)) is flags


def test_answers_of_other_kinds_go_to_another_process_and_back(monkeypatch):
    answers = [(f"t{i % 9}", f"w{i // 9}", float(i % 9), {}, 1.0, None, {}) for i in range(36)]
    empty = np.empty(0, np.int64)
    rows = FitInput(Config("How many?", kind="numbers"), 9, empty, empty, empty, {}, answers)
    here = Fitter().fit(rows)
    monkeypatch.setattr(fitting, "MANY", 0)
    assert Fitter().fit(rows)["json"].tobytes() == here["json"].tobytes()


def test_what_goes_wrong_in_another_process_is_said_in_one_line(monkeypatch):
    monkeypatch.setattr(fitting, "MANY", 0)
    with pytest.raises(CrowdwiseError, match=r"the fit ended with 2: .*no_such_method"):
        Fitter().fit(rows_of(Config("Which?", classes=CLASSES, method="no_such_method")))


def test_a_fit_that_is_given_up_ends(monkeypatch):
    monkeypatch.setattr(fitting, "MANY", 0)
    fitter, ended = Fitter(), []

    def fit():
        with pytest.raises(CrowdwiseError, match="the fit ended with -9"):
            fitter.fit(rows_of(Config("Which?", classes=CLASSES)))
        ended.append(True)

    thread = threading.Thread(target=fit)
    thread.start()
    while fitter._process is None:
        time.sleep(0.001)
    fitter.stop()
    thread.join(timeout=30)
    assert ended == [True]


def test_flags_of_an_earlier_fit_stay_until_others_are_looked_for():
    rows = rows_of(Config("Which?", classes=CLASSES))
    first, second = fit_arrays(rows), fit_arrays(rows, flags=False)
    assert summary_of(with_flags_of(first, second)) == summary_of(first)
    assert summary_of(with_flags_of(None, second)) == summary_of(second)
