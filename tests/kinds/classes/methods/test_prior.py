"""prior=: what earlier projects say of the workers."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from tests.conftest import planted

ABLE = sorted(name for name, card in registry.METHODS.items() if "prior" in card.can)
having_prior = pytest.mark.parametrize("name", ABLE)

# The class prior pinned to uniform: gold tasks that are appended teach it, a prior does not.
PINNED = {
    "dawid_skene": cw.DawidSkene(prior_class=1e9, max_iter=100, tol=0),
    "hierarchical": cw.classes.Hierarchical(prior_class=1e9, tol=1e-6),
    "ibcc": cw.classes.IBCC(prior_class=1e9, max_iter=100, tol=0),
    "bayes_gc": cw.classes.BayesGC(prior_class=1e9, max_iter=100, tol=0),
    "mean_field": cw.classes.MeanField(max_iter=100, tol=0),
    "mean_field_one": cw.classes.MeanField(coin="one", max_iter=100, tol=0),
    "maximum_likelihood": cw.DawidSkene(smoothing=0, prior_class=1e9, max_iter=100, tol=0),
    "ebcc": cw.classes.EBCC(n_groups=1, n_init=1, prior_class=1e9, max_iter=100, tol=0),
    "cbcc": cw.classes.CBCC(n_init=1, prior_class=1e9, max_iter=90, tol=0),
}


def history():
    """An old project of the same workers with its truth, and its counts as a table."""
    votes, truth, _ = planted(n=40, m=6, k=3, labels=3, seed=5)
    frame = votes.to_frame().with_columns(true=pl.Series(truth[votes.task]))
    table = frame.group_by("worker", "true", pl.col("label").alias("observed")).agg(n=pl.len())
    return votes, truth, table


@pytest.mark.parametrize("row", PINNED)
@pytest.mark.parametrize("copies", [1, 3])
def test_a_prior_is_the_same_as_the_old_tasks_with_their_gold(row, copies):
    now = planted(n=30, m=6, k=3, labels=3, seed=1)[0]
    old, truth, table = history()
    parts, gold = [now.to_frame()], {}
    for copy in range(1, copies + 1):
        parts.append(old.to_frame().with_columns(pl.col("task") + 1000 * copy))
        gold |= {1000 * copy + i: int(t) for i, t in enumerate(truth)}
    both = cw.Annotations.from_frame(pl.concat(parts), classes=range(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
        expected = PINNED[row].fit(both, gold=gold)
        found = PINNED[row].fit(now, prior=pl.concat([table] * copies))
    np.testing.assert_allclose(found.posterior, expected.posterior[:30], atol=2e-5)
    np.testing.assert_allclose(found.confusion, expected.confusion, atol=2e-5)


@having_prior
def test_history_decides_between_two_workers_who_contradict_each_other(name):
    votes = cw.Annotations.from_arrays([0, 0, 1, 1, 2, 2], ["good", "bad"] * 3, [0, 1, 1, 0, 0, 1])
    rows = [("good", 0, 0, 50), ("good", 1, 1, 50), ("bad", 0, 0, 25), ("bad", 0, 1, 25), ("bad", 1, 0, 25)]
    table = pl.DataFrame(rows, schema=["worker", "true", "observed", "n"], orient="row")
    result = registry.get(name)().fit(votes, prior=table)
    assert result.labels.tolist() == [0, 1, 0]
    assert result.confidence.min() > 0.6
    np.testing.assert_array_equal(result.counts.sum(axis=(1, 2)).round(6), [3, 3])  # of this project alone


@pytest.mark.slow
@having_prior
def test_a_result_is_a_prior_and_strangers_in_it_do_not_matter(name):
    method = registry.get(name)()
    before = method.fit(planted(n=60, m=8, k=3, seed=3)[0])
    votes = planted(n=20, m=5, k=3, labels=2, seed=4)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
        one = method.fit(votes, prior=before)
        other = method.fit(votes, prior=before.confusion_table())
        none = method.fit(votes, prior=before.confusion_table().with_columns(n=pl.lit(0.0)))
        plain = method.fit(votes)
    np.testing.assert_array_equal(one.posterior, other.posterior)
    np.testing.assert_allclose(none.posterior, plain.posterior, atol=1e-6)
    assert np.abs(one.posterior - plain.posterior).max() > 1e-3
    if "monotone" in registry.card(name).can:
        steps = np.diff(one.trace)[np.diff(one.stage) == 0]
        assert (steps >= -1e-9 * np.abs(one.trace).max()).all()


def test_what_is_wrong_with_a_prior_is_said():
    votes = planted(n=20, m=5, k=3)[0]
    _, _, table = history()
    with pytest.raises(cw.ParameterError, match="majority_vote cannot use prior="):
        cw.MajorityVote().fit(votes, prior=table)
    with pytest.raises(cw.DataError, match="no column 'n'; it has worker, true, observed"):
        cw.classes.IBCC().fit(votes, prior=table.drop("n"))
    with pytest.raises(cw.DataError, match="numbers from 0 up"):
        cw.classes.IBCC().fit(votes, prior=table.with_columns(n=-1.0))
    with pytest.raises(cw.DataError, match="none of the prior's workers"):
        cw.classes.IBCC().fit(votes, prior=table.with_columns(pl.col("worker") + 100))
    with pytest.raises(cw.DataError, match="majority_vote holds no counts"):
        cw.classes.IBCC().fit(votes, prior=cw.MajorityVote().fit(votes))
    with pytest.warns(cw.errors.LedgerWarning, match="classes that these annotations do not have"):
        cw.classes.IBCC().fit(votes, prior=table.with_columns(true=pl.col("true") + 1))


def test_single_labels_of_known_workers_need_no_warning():
    votes = cw.Annotations.from_arrays([0, 1, 2], [0, 1, 0], [0, 1, 1])
    table = pl.DataFrame({"worker": [0, 0, 1], "true": [0, 1, 1], "observed": [0, 1, 1], "n": [9, 9, 9]})
    assert cw.classes.IBCC().fit(votes, prior=table).labels.tolist() == [0, 1, 1]
