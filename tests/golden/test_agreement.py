"""Agreement coefficients against krippendorff, statsmodels, scikit-learn, and frozen values of irrCAC."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.stats import agreement as chance
from crowdwise.workers import agreement, krippendorff_alpha, pair_table
from tests.data import ROOT

# Made with irrCAC 0.4.4 in an environment of its own (it cannot live beside numba): tables of 1..K, 0 = no label.
FROZEN = json.loads((ROOT / "tests" / "golden" / "irrcac.json").read_text(encoding="utf-8"))


def votes_of(table, k=None):
    """Annotations from a task × worker table whose empty cells are zero or NaN."""
    table = np.nan_to_num(np.asarray(table, dtype=float)).astype(int)
    task, worker = np.nonzero(table)
    classes = None if k is None else range(1, k + 1)
    return cw.Annotations.from_arrays(task, worker, table[task, worker], classes=classes)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_is_krippendorffs_on_random_tables(level):
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(["nominal", "ordinal", "interval", "ratio"].index(level))
    compared = 0
    for _ in range(50):
        n, m, k = rng.integers(2, 40), rng.integers(2, 8), rng.integers(2, 7)
        table = rng.integers(1, k + 1, size=(n, m)).astype(float)
        table[rng.random((n, m)) < rng.uniform(0, 0.6)] = np.nan
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = krippendorff.alpha(reliability_data=table.T, level_of_measurement=level)
        except ValueError:
            expected = np.nan
        found = krippendorff_alpha(votes_of(table), level=level)
        if np.isfinite(expected):
            assert found == pytest.approx(expected, abs=1e-10)
            compared += 1
        else:
            assert found is None
    assert compared > 40


WEIGHTS = {"identity": "nominal", "quadratic": "interval", "ordinal": "ordinal", "ratio": "ratio"}


@pytest.mark.parametrize("case", range(len(FROZEN)))
@pytest.mark.parametrize("weights", WEIGHTS)
def test_fleiss_and_gwet_are_irrcacs(case, weights):
    known, level = FROZEN[case], WEIGHTS[weights]
    found = {c.name.partition(",")[0]: c.value for c in agreement(votes_of(known["table"], known["k"]), level=level)}
    assert found["Fleiss' kappa"] == pytest.approx(known["values"][f"fleiss/{weights}"], abs=1e-9)
    gwet = "Gwet's AC1" if level == "nominal" else "Gwet's AC2"
    assert found[gwet] == pytest.approx(known["values"][f"gwet/{weights}"], abs=1e-9)
    if weights == "identity":
        assert found["raw agreement"] == pytest.approx(known["values"]["pa/identity"], abs=1e-9)


def test_fleiss_kappa_is_that_of_statsmodels():
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    rng = np.random.default_rng(3)
    table = rng.integers(1, 5, size=(40, 6))
    counts, _ = inter_rater.aggregate_raters(table)
    found = {c.name: c.value for c in agreement(votes_of(table))}
    assert found["Fleiss' kappa"] == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-12)


@pytest.mark.parametrize("weights", [None, "quadratic"])
def test_cohens_kappa_is_that_of_scikit_learn(weights):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(4)
    for _ in range(10):
        table = rng.integers(1, 5, size=(50, 2))
        level = "nominal" if weights is None else "interval"
        expected = metrics.cohen_kappa_score(table[:, 0], table[:, 1], weights=weights)
        found = {c.name.partition(",")[0]: c for c in agreement(votes_of(table), level=level)}["Cohen's kappa"]
        assert found.value == pytest.approx(expected, abs=1e-12)
        assert found.low <= found.value <= found.high
    assert pair_table(votes_of(table))["cohen_kappa"][0] == pytest.approx(
        metrics.cohen_kappa_score(table[:, 0], table[:, 1]), abs=1e-12
    )


def test_scotts_pi_of_two_is_fleiss_kappa():
    rng = np.random.default_rng(5)
    found = {c.name: c.value for c in agreement(votes_of(rng.integers(1, 4, size=(60, 2))))}
    assert found["Scott's pi"] == pytest.approx(found["Fleiss' kappa"], abs=1e-12)


@pytest.mark.slow
def test_intervals_over_tasks_hold_the_population_value():
    """A smaller version of what the benchmark prints."""
    from tests.crowds.coverage import agreement_coverage

    inside = agreement_coverage(range(30))
    assert set(inside) >= {"raw agreement", "Krippendorff's alpha", "Fleiss' kappa", "Gwet's AC1", "Cohen's kappa"}
    for name, hits in inside.items():
        assert np.mean(hits) >= 0.87, name
    # Intervals that always held it would be too wide.
    assert 0.9 <= np.mean([hit for hits in inside.values() for hit in hits]) < 1.0


def test_the_prevalence_paradox_is_explained_where_it_bites():
    rows = [("x", "x")] * 92 + [("x", "y"), ("y", "x")] * 4
    task = np.repeat(np.arange(100), 2)
    votes = cw.Annotations.from_arrays(task, np.tile([0, 1], 100), [label for row in rows for label in row])
    found = {c.name: c for c in agreement(votes)}
    assert found["raw agreement"].value == pytest.approx(0.92)
    assert found["Fleiss' kappa"].value < 0
    assert "prevalence paradox" in found["Fleiss' kappa"].note
    assert found["Gwet's AC1"].value > 0.9
    assert found["Gwet's AC1"].note is None


def test_what_does_not_exist_is_none_with_a_reason():
    one_class = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxxx"], classes=["x", "y"])
    alone = cw.Annotations.from_arrays([1, 2, 3], [*"aaa"], [*"xyx"])
    found = {c.name.partition(",")[0]: c for c in agreement(one_class)}
    for name in ("Krippendorff's alpha", "Fleiss' kappa"):
        assert found[name].value is None
        assert "one class" in found[name].reason
    assert found["raw agreement"].value == 1.0
    for c in agreement(alone):
        assert c.value is None
        assert c.reason


def test_an_order_of_classes_matters_to_ordinal_levels_only():
    rng = np.random.default_rng(6)
    names = np.array(["bad", "good", "poor"])[rng.integers(3, size=90)]
    votes = cw.Annotations.from_arrays(np.repeat(np.arange(30), 3), np.tile([0, 1, 2], 30), names)
    order = ["bad", "poor", "good"]
    assert krippendorff_alpha(votes, order=order) == pytest.approx(krippendorff_alpha(votes), abs=1e-12)
    graded = krippendorff_alpha(votes, level="ordinal", order=order)
    numbered = cw.Annotations.from_arrays(votes.task, votes.worker, np.array([1, 3, 2])[votes.label])
    assert graded == pytest.approx(krippendorff_alpha(numbered, level="ordinal"), abs=1e-12)
    assert graded != pytest.approx(krippendorff_alpha(votes, level="ordinal", order=sorted(order)), abs=1e-6)
    backwards = krippendorff_alpha(votes, level="ordinal", order=order[::-1])
    assert graded == pytest.approx(backwards, abs=1e-12)
    with pytest.raises(cw.DataError, match="numbers"):
        agreement(votes, level="interval")
    with pytest.raises(cw.ParameterError, match="every class once"):
        agreement(votes, order=["bad"])


def test_text_has_no_order_of_its_own():
    """Steps in words have a meaning that the alphabet does not know; numbers have theirs, also as text."""
    steps = cw.Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], ["bad", "good", "fair", "fair", "bad", "bad"])
    for find in (agreement, krippendorff_alpha):
        with pytest.raises(cw.DataError, match=r"needs the order of the classes.*--order.*'bad', 'fair', 'good'"):
            find(steps, level="ordinal")
    numbers = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], ["2", "10", "2", "2"])
    assert krippendorff_alpha(numbers, level="ordinal") is not None
    two = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], ["no", "yes", "no", "no"])
    assert krippendorff_alpha(two, level="ordinal") == krippendorff_alpha(two)


def test_an_order_may_hold_steps_that_nobody_used():
    labels = ["bad", "good", "fair", "fair", "bad", "bad", "good", "good"]
    votes = cw.Annotations.from_arrays([1, 1, 2, 2, 3, 3, 4, 4], [*"abababab"], labels)
    full = ["awful", "bad", "fair", "good", "great"]
    used = {c.name: c.value for c in agreement(votes, level="ordinal", order=full[1:4])}
    wide = {c.name: c.value for c in agreement(votes, level="ordinal", order=full)}
    assert wide["Krippendorff's alpha, ordinal"] == pytest.approx(used["Krippendorff's alpha, ordinal"])
    assert wide["Gwet's AC2, ordinal"] != pytest.approx(used["Gwet's AC2, ordinal"])
    for order, said in ((["bad", "good"], "'fair' is missing"), ([*full, "bad"], "'bad' is listed twice")):
        with pytest.raises(cw.ParameterError, match=said):
            agreement(votes, level="ordinal", order=order)


def test_folding_tasks_into_blocks_changes_no_sum():
    rng = np.random.default_rng(8)
    counts = rng.integers(0, 4, size=(300, 3)).astype(float)
    whole = chance.terms(counts, np.arange(300), 300).sum(axis=0)
    folded = chance.terms(counts, rng.permutation(300) % 7, 7).sum(axis=0)
    assert folded == pytest.approx(whole, abs=1e-9)
