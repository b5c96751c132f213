"""What was wrong on crowds that nobody had seen: each of these failed before."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.evaluation.intervals import jeffreys
from crowdwise.kinds.classes.workers.judgement import Judgement
from tests.conftest import planted, suits


def test_twenty_of_twenty_right_is_not_certainty():
    votes = cw.Annotations.from_arrays(range(20), ["a"] * 20, [0, 1] * 10)
    scores = cw.evaluate(cw.MajorityVote().fit(votes), {i: i % 2 for i in range(20)}, resamples=200)
    for name in ("accuracy", "expected_accuracy", "macro_f1"):
        low, high = scores.intervals[name]
        assert 0.85 < low < 0.95, name
        assert high == 1.0


def test_jeffreys_lies_around_the_share_and_reaches_the_ends():
    assert jeffreys(0.0, 10)[0] == 0.0
    low, high = jeffreys(0.5, 100)
    assert low < 0.42 < 0.58 < high


@pytest.mark.parametrize("name", ["pgd", "mmsr", "sml", "cnmf", "tensor"])
def test_gold_teaches(name):
    """With gold on a third of the tasks the answers on the others move."""
    k = 2 if "binary" in registry.card(name).needs else 3
    votes, truth, _ = planted(300, 8, k, 6, seed=2)
    assert suits(name, votes)
    gold = {t: int(truth[t]) for t in range(100)}
    bare, told = (registry.method(name).fit(votes, gold=g).posterior[100:] for g in (None, gold))
    assert np.abs(bare - told).max() > 1e-4


def test_certainty_is_not_gold():
    """A unanimous crowd makes a vote certain; nobody told it anything."""
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxyy"])
    assert not Judgement(votes, cw.MajorityVote().fit(votes)).is_gold.any()
    told = cw.DawidSkene().fit(votes, gold={1: "x"})
    assert Judgement(votes, told).is_gold.tolist() == [True, False]


def test_methods_that_have_not_settled_say_so():
    votes = planted(60, 6, 3, 4)[0]
    with pytest.warns(cw.errors.ConvergenceWarning):
        assert not cw.classes.ZeroBasedSkill(max_iter=1).fit(votes).converged


def test_kos_says_whether_its_messages_settled():
    """One round from random messages settles nothing, very many do; the flag and the number of rounds say which."""
    votes = planted(60, 6, 3, 4)[0]
    with pytest.warns(cw.errors.ConvergenceWarning, match="kos stopped after 1 iterations"):
        first = cw.classes.KOS(max_iter=1).fit(votes)
    last = cw.classes.KOS(max_iter=200).fit(votes)
    assert (first.converged, first.n_iter, last.converged, last.n_iter) == (False, 1, True, 200)
    alone = cw.Annotations.from_arrays([1, 2], ["a", "b"], ["x", "y"])  # no task has two labels: nothing to pass on
    assert (cw.classes.KOS().fit(alone).converged, cw.classes.KOS().fit(alone).n_iter) == (True, 1)


def test_auto_judges_leads_by_their_own_error():
    """Scores of the same annotations go up and down together: their difference is far surer than either."""
    from crowdwise.kinds.classes.methods.ensemble.auto import _preferred
    from crowdwise.kinds.classes.methods.held_out import HeldOut

    rng = np.random.default_rng(0)
    rows = np.arange(400)
    hard = rng.normal(-1, 1, 400)
    better, worse = (HeldOut(rows, rows, np.ones(400), hard + shift) for shift in (0.0, -0.03))
    scores = {"simple": worse, "rich": better}
    assert better.score - worse.score < better.standard_error
    assert _preferred(scores, "rich")[0] == "rich"


@pytest.mark.slow
@pytest.mark.parametrize("prior", [[0.9, 0.1], [0.95, 0.05]])
@pytest.mark.parametrize("labels", [3, 5])
def test_the_default_knows_uneven_classes(prior, labels):
    from tests.crowds.uneven import accuracies

    found = accuracies(prior, labels, seeds=3)
    assert found["committee"] >= max(found["majority_vote"], found["hierarchical"]) - 0.005


def test_open_tasks_leave_the_labels_alone():
    """200 labelled tasks of uneven classes among 20,000 that nobody labelled."""
    from dataclasses import replace

    import polars as pl

    votes = planted(200, 15, 2, 4, seed=5, prior=[0.9, 0.1])[0]
    more = pl.Series(range(10**6, 10**6 + 20_000), dtype=votes.tasks.dtype)
    open_ = replace(votes, tasks=pl.concat([votes.tasks, more]))
    for name in ("dawid_skene", "hierarchical", "pooled", "committee"):
        with_, without = (cw.method(name).fit(v).labels[:200] for v in (open_, votes))
        np.testing.assert_array_equal(with_, without)
