"""Planted crowds of label sets: what is found of tasks and workers, and who is flagged."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.sets.simulate import PlantedSets, set_crowd
from tests.crowds.sets import ORACLE, one


@pytest.mark.parametrize("classes", [30, 10])
def test_the_joint_model_is_above_classes_by_themselves(classes):
    found = [one(classes, seed, {}) for seed in range(2)]
    mean = {name: np.mean([each[name] for each in found], axis=0) for name in found[0]}
    joint = mean["joint_sets (default)"]
    for other in ("binary_relevance, hierarchical", "binary_relevance, dawid_skene", "set_majority"):
        assert (joint > mean[other]).all(), other
    assert joint[0] > mean[ORACLE][0] - 0.1


def errors(tasks: int) -> float:
    crowd = PlantedSets(set_crowd(tasks, 20, 8, per_task=5, size=2.0, seed=3))
    found = cw.sets.JointSets().fit(crowd.votes).worker_summary
    return float(np.abs(found.hits - crowd.planted.hits).mean() + np.abs(found.alarms - crowd.planted.alarms).mean())


def test_rates_are_found_and_the_error_falls():
    few, many = errors(150), errors(2400)
    assert many < 0.6 * few
    assert many < 0.06


@pytest.mark.parametrize(("name", "kind", "flag"), [("sets_random", "random", "random"),
                                                    ("sets_constants", "constant", "constant")])  # fmt: skip
def test_who_does_not_look_is_flagged_and_nobody_else(name, kind, flag):
    crowd = simulate.scenario(name, tasks=400, workers=40, classes=12, labels=6, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        look = cw.workers.study(crowd.votes, cw.sets.JointSets().fit(crowd.votes))
    flagged = {f.worker for f in look.flags if f.name in ("constant", "random", "copying")}
    planted = {w for w, k in zip(crowd.votes.workers, crowd.kind, strict=True) if k == kind}
    assert len(flagged & planted) >= 0.7 * len(planted)
    assert not flagged - planted
    assert look.agreement[0].name == "Krippendorff's alpha (MASI)"
    assert flag in {f.name for f in look.flags}


def test_every_scenario_runs_at_every_size():
    for name in simulate.SET_SCENARIOS:
        for tasks, workers, labels in ((30, 10, 3), (1, 1, 1), (3, 2, 2)):
            crowd = simulate.scenario(name, tasks=tasks, workers=workers, classes=5, labels=labels, seed=1)
            assert (crowd.votes.kind.name, crowd.votes.n_tasks, crowd.votes.n_workers) == ("sets", tasks, workers)
            assert crowd.truth_table().columns == ["task", "labels"]
            assert cw.evaluate(cw.sets.JointSets().fit(crowd.votes), crowd.truth_table()).n == tasks
