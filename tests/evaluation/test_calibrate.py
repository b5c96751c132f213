"""Temperature: labels never change, confidence becomes honest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.stats.temperature import best_temperature, soften
from crowdwise.stats.ties import break_ties
from tests.conftest import planted


@given(
    rows=st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=8),
    temperature=st.floats(0.1, 20),
    seed=st.integers(0, 5),
)
def test_no_label_changes_at_any_temperature(rows, temperature, seed):
    p = np.array(rows) + 1e-300
    p /= p.sum(axis=1, keepdims=True)
    p = np.vstack([p, [0.4, 0.4, 0.2], [0.5 + 1e-9, 0.5 - 1e-9, 0], [1, 0, 0], [0.5, 0.5 - 5e-10, 5e-10]])
    soft = soften(p, temperature)
    np.testing.assert_array_equal(break_ties(soft, seed), break_ties(p, seed))
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    np.testing.assert_array_equal(soft[-2], [1, 0, 0])  # certain stays certain: gold stays put


def test_one_is_the_identity_and_softer_is_softer():
    p = np.random.default_rng(0).dirichlet(np.ones(4), 50)
    np.testing.assert_array_equal(soften(p, 1.0), p)
    np.testing.assert_allclose(soften(soften(p, 3.0), 1 / 3), p, atol=1e-12)
    assert (soften(p, 2.0).max(axis=1) < p.max(axis=1)).all()


@pytest.mark.parametrize("planted_temperature", [0.5, 1.0, 3.0])
def test_a_planted_temperature_is_found(planted_temperature):
    rng = np.random.default_rng(1)
    honest = rng.dirichlet(np.ones(3), 4000)
    truth = np.array([rng.choice(3, p=row) for row in honest])
    # What a method shows that is too sure (or not sure enough) by the planted temperature.
    shown = soften(honest, 1 / planted_temperature)
    found = best_temperature(shown, np.eye(3)[truth], np.ones(4000), lowest=0.1)
    assert found == pytest.approx(planted_temperature, rel=0.1)


def test_no_rows_leave_it_at_one():
    assert best_temperature(np.empty((0, 3)), np.empty((0, 3)), np.empty(0), lowest=0.1) == pytest.approx(1, abs=0.01)


def correlated(n=300, m=12, copies=4, seed=0):
    """Workers in cliques who repeat each other: every model that thinks them independent is too sure."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    voices = np.where(rng.random((n, m // copies)) < 0.75, truth[:, None], 1 - truth[:, None])
    said = np.repeat(voices, copies, axis=1)
    noise = rng.random(said.shape) < 0.1
    said = np.where(noise, 1 - said, said)
    return cw.Annotations.from_arrays(np.repeat(np.arange(n), m), np.tile(np.arange(m), n), said.ravel()), truth


def test_gold_makes_an_overconfident_model_honest():
    votes, truth = correlated()
    result = cw.DawidSkene().fit(votes)
    gold = {i: int(truth[i]) for i in range(0, 300, 2)}
    rest = {i: int(truth[i]) for i in range(1, 300, 2)}
    calibrated = cw.calibrate(result, votes, gold)
    assert calibrated.extra["gold_check"]["shift"] < 0
    assert calibrated.extra["gold_check"]["n"] == 150
    np.testing.assert_array_equal(calibrated.labels, result.labels)
    assert cw.evaluate(calibrated, rest).log_loss < cw.evaluate(result, rest).log_loss
    assert cw.evaluate(calibrated, rest).ece < cw.evaluate(result, rest).ece
    taught = cw.calibrate(cw.DawidSkene().fit(votes, gold=gold), votes, gold)
    assert all(taught.posterior[i, t] == 1 for i, t in gold.items())  # gold that the fit has seen stays put
    assert taught.extra["gold_check"]["shift"] == pytest.approx(calibrated.extra["gold_check"]["shift"])


def test_held_out_annotations_never_sharpen_and_new_tasks_get_the_same_temperature():
    votes = planted(n=200, m=10, k=3)[0]
    result = cw.DawidSkene().fit(votes)
    calibrated = cw.calibrate(result, votes)
    assert calibrated.extra["temperature"] >= 1
    assert calibrated.mean_confidence <= result.mean_confidence
    np.testing.assert_array_equal(calibrated.labels, result.labels)
    np.testing.assert_allclose(calibrated.infer(votes).posterior, calibrated.posterior, atol=1e-9)


def test_what_cannot_be_calibrated_says_why():
    votes = planted(n=30, m=6, k=3)[0]
    result = cw.DawidSkene().fit(votes)
    with pytest.raises(cw.ParameterError, match="already"):
        cw.calibrate(cw.calibrate(result, votes), votes)
    with pytest.raises(cw.DataError, match="different tasks"):
        cw.calibrate(result, planted(n=31, m=6, k=3)[0])
    single = cw.Annotations.from_arrays([0, 1], ["a", "b"], [0, 1])
    with pytest.raises(cw.DataError, match="two workers"):
        cw.calibrate(cw.MajorityVote().fit(single), single)


@pytest.mark.data
@pytest.mark.parametrize("with_gold", [True, False])
def test_dawid_skene_on_bluebird(with_gold):
    data = cw.datasets.load("bluebird")
    result = cw.DawidSkene().fit(data.annotations)
    half = data.truth.sort("task").gather_every(2)
    rest = data.truth.sort("task").gather_every(2, offset=1)
    calibrated = cw.calibrate(result, data.annotations, half if with_gold else None)
    np.testing.assert_array_equal(calibrated.labels, result.labels)
    assert cw.evaluate(calibrated, rest).log_loss < 0.6 * cw.evaluate(result, rest).log_loss
