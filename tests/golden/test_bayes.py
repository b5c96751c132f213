"""Checked accuracies of the Bayesian methods on real data."""

from __future__ import annotations

import pytest

import crowdwise as cw

pytestmark = pytest.mark.data

SETS = ("bluebird", "rte", "dog", "web", "trec", "music")
# None: no outside figure.
GOLDEN = {
    "ibcc": (cw.classes.IBCC(), (0.8889, 0.9275, 0.8389, 0.7497, 0.7051, 0.7900)),
    "bayes_gc": (cw.classes.BayesGC(), (0.8889, 0.9275, 0.8377, 0.7324, 0.7068, 0.7714)),
    "mean_field": (cw.classes.MeanField(), (0.8981, 0.9287, 0.8426, 0.8409, 0.7046, None)),
    "ebcc": (cw.classes.EBCC(n_init=1), (None, 0.9275, 0.8389, 0.7294, 0.7011, 0.7900)),
    # Our own, so that a change is seen: no outside source.
    "mean_field_one": (cw.classes.MeanField(coin="one"), (0.7222, 0.9250, 0.8302, 0.8379, 0.5705, None)),
    "gibbs": (cw.classes.Gibbs(), (0.8889, 0.9287, 0.8389, 0.7403, 0.7042, 0.7786)),
    "cbcc": (cw.classes.CBCC(), (0.8981, 0.9313, 0.8389, 0.8251, 0.7068, 0.7971)),
}


@pytest.fixture(scope="module")
def sets():
    return {name: cw.datasets.load(name) for name in SETS}


@pytest.mark.parametrize("row", GOLDEN)
def test_golden_accuracies(row, sets):
    method, expected = GOLDEN[row]
    for name, golden in zip(SETS, expected, strict=True):
        if golden is not None:
            scores = cw.evaluate(method.fit(sets[name].annotations), sets[name].truth)
            assert scores.expected_accuracy == pytest.approx(golden, abs=max(0.01, 1.5 / scores.n)), name


def test_ebcc_on_bluebird_depends_on_the_start(sets):
    """The published .8889 is one seed's: with 108 tasks the starts end between .84 and .90."""
    data = sets["bluebird"]
    found = [
        cw.evaluate(cw.classes.EBCC(n_init=1, seed=seed).fit(data.annotations), data.truth).accuracy
        for seed in range(12)
    ]
    assert min(found) <= 0.8889 <= max(found) + 1e-3
    assert min(found) > 0.82
