"""cw.fit: one fit for Python and the command line, calibrated on gold that may be a random sample."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.evaluation.fitting import ASSUMED, calibrated_on, sampling_of
from crowdwise.evaluation.statement import trust


@pytest.fixture(scope="module")
def crowd():
    return cw.simulate.scenario("dirichlet", tasks=400, workers=20, labels=5, seed=3)


@pytest.fixture(scope="module")
def gold(crowd):
    return crowd.truth_table().sample(80, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["dawid_skene", "majority_vote", "hierarchical", "adaptive", "auto"])
def test_gold_calibrates_every_method(crowd, gold, method):
    result = cw.fit(crowd.annotations, method, gold, sampling="random")
    check = result.extra["gold_check"]
    assert (check["n"], check["sampling"]) == (80, "random")
    assert trust(result).measured
    off = cw.fit(crowd.annotations, method, gold, calibrate=False)
    np.testing.assert_array_equal(result.labels, off.labels)
    assert "gold_check" not in off.extra
    others = ~np.asarray(result.gold)
    assert not np.allclose(result.confidence[others], off.confidence[others])


def test_the_method_may_be_named_given_or_left_to_the_votes(crowd, gold):
    named = cw.fit(crowd.annotations, "wawa", gold)
    given = cw.fit(crowd.annotations, cw.classes.Wawa(), gold)
    np.testing.assert_array_equal(named.posterior, given.posterior)
    assert cw.fit(crowd.annotations).method == cw.default_method(crowd.annotations)
    table = crowd.annotations.to_frame().select("task", "worker", "label")
    np.testing.assert_array_equal(cw.fit(table, "wawa", gold).posterior, named.posterior)
    assert cw.fit(crowd.annotations, "wawa", seed=5).params["seed"] == 5


@pytest.mark.parametrize("sampling", ["chosen", "weights"])
@pytest.mark.parametrize("method", ["adaptive", "dawid_skene"])
def test_gold_that_is_no_random_sample_only_teaches(crowd, gold, sampling, method):
    result = cw.fit(crowd.annotations, method, gold, sampling=sampling)
    plain = cw.fit(crowd.annotations, method, gold, calibrate=False)
    np.testing.assert_array_equal(result.posterior, plain.posterior)
    assert result.gold.sum() == 80
    assert result.extra["gold_check"]["sampling"] == sampling_of(result) == sampling
    assert "not drawn at random" in trust(result).sentence()
    with pytest.raises(cw.ParameterError, match="drawn at random"):
        cw.fit(crowd.annotations, method, gold, sampling=sampling, calibrate=True)


def test_what_nobody_states_is_tested_and_recorded_as_assumed(crowd, gold):
    result = cw.fit(crowd.annotations, "dawid_skene", gold)
    assert result.extra["gold_check"]["sampling"] == sampling_of(result) == ASSUMED
    blind = cw.DawidSkene().fit(crowd.annotations)
    least = blind.tasks.gather(np.argsort(blind.confidence)[:80])
    picked = crowd.truth_table().filter(pl.col("task").is_in(least.implode()))
    refuted = cw.fit(crowd.annotations, "dawid_skene", picked)
    assert "not a random sample" in refuted.extra["gold_check"]["reason"]
    assert sampling_of(refuted) == "refuted as random"
    with pytest.raises(cw.ParameterError, match="sampling must be one of"):
        cw.fit(crowd.annotations, "dawid_skene", gold, sampling="by hand")
    with pytest.raises(cw.ParameterError, match="is about gold"):
        cw.fit(crowd.annotations, sampling="random")


def test_a_method_that_needs_gold_is_not_measured_by_it():
    made = cw.simulate.scenario("judges_families", tasks=150, workers=5, seed=1)
    result = cw.fit(made.annotations, "judge_stack", made.truth_table().sample(70, seed=1), sampling="random")
    assert "temperature" not in result.extra
    assert result.extra["gold_check"]["reason"].startswith("judge_stack is fitted to the gold tasks")
    assert not trust(result).measured


@pytest.mark.slow
def test_gold_of_numbers_must_be_random():
    made = cw.simulate.scenario("numbers_plain", tasks=60, workers=8, seed=1)
    gold = made.truth_table().sample(20, seed=1)
    assert cw.fit(made.votes, gold=gold, sampling="random").extra["gold_check"]["sampling"] == "random"
    with pytest.raises(cw.ParameterError, match="gold sets the intervals of numbers"):
        cw.fit(made.votes, gold=gold, sampling="chosen")


@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["dirichlet", "sets_plain"])
def test_a_saved_result_is_calibrated_as_a_new_one(scenario):
    made = cw.simulate.scenario(scenario, tasks=300, workers=15, labels=4, seed=2)
    votes = made.annotations if scenario == "dirichlet" else made.votes
    gold = made.truth_table().sample(80, seed=2)
    blind = cw.fit(votes)
    result = calibrated_on(blind, votes, gold, "random")
    assert result.to_table().columns == blind.to_table().columns
    check = result.extra["gold_check"]
    direct = cw.fit(votes, gold=gold, sampling="random").extra["gold_check"]
    assert {name: check[name] for name in ("n", "slope", "shift", "sampling")} == {
        name: direct[name] for name in ("n", "slope", "shift", "sampling")
    }
    assert calibrated_on(result, votes, gold, "random") is result
    with pytest.raises(cw.ParameterError, match="fit it again"):
        calibrated_on(result, votes, gold, "chosen")
    reason = calibrated_on(blind, votes, gold, "chosen").extra["gold_check"]["reason"]
    assert "not drawn at random" in reason
