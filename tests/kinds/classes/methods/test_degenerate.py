"""Sizes at which formulas divide by nothing: every method survives them."""

from __future__ import annotations

import warnings
from dataclasses import fields

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from tests.conftest import ready, suits

every = pytest.mark.parametrize("name", sorted(registry.METHODS))


def lenient(name):
    """The method with its defaults, but content with one task in common, or with one gold label."""
    known = {field.name for field in fields(registry.get(name))}
    return registry.method(name, **{key: 1 for key in ("min_overlap", "min_gold") if key in known})


CASES = {
    "one row": ([0], [0], [0], {}),
    "one worker": (range(5), [0] * 5, [0, 1, 0, 1, 1], {}),
    "one class": ([0, 0, 1], [0, 1, 0], [0, 0, 0], {}),
    "one class of one row": ([0], [0], ["only"], {}),
    "a worker without labels": ([0, 1], [0, 0], [0, 1], {"workers": [0, 1, 2]}),
    "a task without labels": ([0, 0], [0, 1], [0, 1], {"tasks": [0, 1, 2]}),
    "a class never observed": ([0, 0, 1], [0, 1, 1], [0, 0, 1], {"classes": [0, 1, 2, 3]}),
    "all agree": (np.repeat(range(6), 3), [0, 1, 2] * 6, [0] * 18, {"classes": [0, 1]}),
    "all disagree": (np.repeat(range(3), 3), [0, 1, 2] * 3, [0, 1, 2] * 3, {}),
    "one label per task": (range(9), [0, 1, 2] * 3, [0, 1, 2, 2, 1, 0, 0, 1, 2], {}),
    "more classes than rows": ([0, 0], [0, 1], [0, 7], {"classes": range(8)}),
    "two islands": ([0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 1, 1], {}),
    "zero weight": ([0, 0, 1], [0, 1, 1], [0, 1, 1], {"weight": [0.0, 0.0, 1.0]}),
    "no rows at all": ([], [], [], {"tasks": ["a", "b"], "workers": ["x"], "classes": ["0", "1"]}),
}


@pytest.mark.slow
@every
@pytest.mark.parametrize("case", CASES)
def test_degenerate_sizes(name, case):
    task, worker, label, extra = CASES[case]
    votes = cw.Annotations.from_arrays(list(task), list(worker), list(label), **extra)
    gold = None
    if "gold" in registry.card(name).needs:
        gold = {votes.tasks[int(votes.task[0]) if len(votes) else 0]: votes.classes[0]}
        if not len(votes) or case == "zero weight":
            with pytest.raises(cw.DataError, match="no worker labelled a gold task"):
                registry.get(name)().fit(votes, gold=gold)
            return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        if not suits(name, votes):
            with pytest.raises(cw.DataError, match=r"two classes|the same tasks"):
                lenient(name).fit(votes, gold=gold)
            return
        result = lenient(name).fit(ready(name, votes), gold=gold)
    assert np.isfinite(result.posterior).all()
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    for values in (result.skill, result.skill_low, result.skill_high, result.class_prior):
        assert np.isfinite(values).all()
    if result.confusion is not None:
        assert np.isfinite(result.confusion).all()
        np.testing.assert_allclose(result.confusion.sum(axis=2), 1)
    result.to_table()
    result.worker_table()


@every
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.IdentifiabilityWarning")
def test_a_task_without_labels_gets_the_class_prior(name):
    votes = cw.Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], tasks=[0, 1, 2])
    gold = {0: 0} if "gold" in registry.card(name).needs else None
    result = lenient(name).fit(ready(name, votes), gold=gold)
    np.testing.assert_allclose(result.posterior[2], result.class_prior, atol=1e-6)


def test_nothing_at_all_is_refused():
    with pytest.raises(cw.DataError, match="no annotations"):
        cw.MajorityVote().fit(cw.Annotations.from_arrays([], [], []))
