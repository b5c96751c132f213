"""Confusion matrices agree with the expected counts beside them.

p = confusion[worker, true, observed] is the estimate, n / N the share of the expected counts. Where the model has a
free row for every class they differ by shrinkage only, which is within sampling error plus a few pseudo-labels. In what
is shown (tables, files, plots) p agrees with n for every method, also for models with fewer parameters.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate as sim
from crowdwise.cli.demo import LABELLED, _crowd, load_digits
from crowdwise.core import method_registry as registry

# Standard errors, and pseudo-labels of a prior, by which p may differ from n / N.
ERRORS, PSEUDO = 4.0, 2.0
LEAST_LABELS, LEAST_ROW = 30, 10
# In what is shown: rows of any worker with so many observations.
SHOWN_ROW = 30
# Models with fewer parameters than a confusion matrix, by definition; `auto` may choose one of them.
FEWER = {"one_coin", "zencrowd", "confusion_vector", "pooled", "mace", "auto"}
REQUIRED = {"adaptive", "hierarchical", "dawid_skene", "ibcc", "committee"}
METHODS = [n for n in registry.names() if "confusion" in registry.card(n).can and not registry.card(n).needs]
CROWDS = ("adversaries", "adversaries, more classes", "constant", "demo")


@cache
def votes_of(name: str) -> cw.Annotations:
    if name == "demo":
        digits = load_digits()
        return _crowd(digits.target[:LABELLED], digits.data[:LABELLED], 0).annotations
    if name == "constant":
        groups = [sim.OneCoin(8, low=0.7, high=0.95), sim.Constant(4)]
        return sim.crowd(400, 4, groups, sim.PerTask(6), seed=0).annotations
    more = {"workers": 40, "classes": 6} if name.endswith("classes") else {}
    return sim.scenario("adversaries", seed=1, **more).annotations


def contradictions(result: cw.Result) -> int:
    """Cells of workers with enough labels whose p is not what the counts show."""
    p, n = result.confusion, result.counts
    total = n.sum(axis=2, keepdims=True)
    enough = (total >= LEAST_ROW) & (result.labels_per_worker >= LEAST_LABELS)[:, None, None]
    assert enough.any()
    total = np.maximum(total, 1e-9)
    bound = ERRORS * np.sqrt(p * (1 - p) / total) + PSEUDO / total
    return int((enough & (np.abs(p - n / total) > bound)).sum())


def test_the_default_and_the_usual_methods_are_under_the_law():
    assert registry.DEFAULT in REQUIRED
    assert set(METHODS) - FEWER >= REQUIRED
    assert set(METHODS) >= FEWER
    for name in REQUIRED:
        result = cw.method(name).fit(votes_of("adversaries"))
        assert result.confusion is not None
        assert result.counts is not None


@pytest.mark.slow
@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("name", [name for name in METHODS if name not in FEWER])
def test_confusion_matrices_agree_with_their_counts(name, crowd):
    result = cw.method(name).fit(votes_of(crowd))
    if result.confusion is None or result.counts is None:
        assert name not in REQUIRED
        return
    assert contradictions(result) == 0


@pytest.mark.parametrize("name", sorted(FEWER))
def test_models_with_fewer_parameters_are_told_apart(name):
    """The bound is strict enough to see what a restricted model cannot represent."""
    assert any(contradictions(cw.method(name).fit(votes_of(crowd))) for crowd in ("constant", "adversaries"))


def shown_contradictions(result: cw.Result) -> int:
    """Cells of rows with enough observations whose shown p is not what the counts show."""
    table, k = result.confusion_table(), len(result.classes)
    p, n = (table[name].to_numpy().reshape(-1, k, k) for name in ("p", "n"))
    np.testing.assert_allclose(p.sum(axis=2), 1)
    total = n.sum(axis=2, keepdims=True)
    assert (total >= SHOWN_ROW).any()
    size = np.maximum(total, 1e-9)
    bound = ERRORS * np.sqrt(p * (1 - p) / size) + PSEUDO / size
    return int(((total >= SHOWN_ROW) & (np.abs(p - n / size) > bound)).sum())


def check_what_is_shown(name: str, votes: cw.Annotations) -> None:
    try:
        result = cw.method(name).fit(votes)
    except cw.CrowdwiseError:
        pytest.skip(f"{name} does not take this crowd")
    if result.confusion is None or result.counts is None:
        assert name not in REQUIRED | FEWER
        return
    own = result.confusion.copy()
    assert shown_contradictions(result) == 0
    np.testing.assert_array_equal(result.confusion, own)  # the model's own parameter stays


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_what_is_shown_agrees_with_the_counts(name):
    check_what_is_shown(name, votes_of("demo"))


@pytest.mark.data
@pytest.mark.parametrize("name", METHODS)
def test_what_is_shown_of_a_real_crowd_agrees_with_the_counts(name):
    check_what_is_shown(name, cw.datasets.load("bluebird").annotations)


def test_a_swap_that_the_model_cannot_represent_is_shown(tmp_path):
    """The adversaries of this crowd rename the classes; mace has no parameter for that, its counts show it."""
    votes = votes_of("adversaries, more classes")
    result = cw.MACE().fit(votes)
    shares = result.counts / np.maximum(result.counts.sum(axis=2, keepdims=True), 1e-9)
    often = result.counts.sum(axis=2) >= SHOWN_ROW
    gap = {name: np.abs(p - shares).max(axis=2)[often].max() for name, p in
           (("own", result.confusion), ("shown", result.shown_confusion))}  # fmt: skip
    assert gap["own"] > 0.3
    assert gap["shown"] < 0.1
    result.save(tmp_path / "run")
    np.testing.assert_array_equal(cw.Result.load(tmp_path / "run").shown_confusion, result.shown_confusion)


def test_a_free_model_shows_its_own_matrices():
    result = cw.DawidSkene().fit(votes_of("demo"))
    assert result.shown_confusion is result.confusion


@pytest.mark.parametrize("model", ["one_coin", "mace", "pooled"])
def test_a_committee_of_restricted_models_is_under_the_law_too(model):
    chosen = cw.classes.Committee(members=("majority_vote", "one_coin"), model=model)
    assert contradictions(chosen.fit(votes_of("adversaries"))) == 0
