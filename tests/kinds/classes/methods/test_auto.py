"""Auto: which model is chosen, and what it says about it."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.methods.ensemble.auto import CANDIDATES
from tests.conftest import planted


def test_coins_are_enough_for_a_crowd_of_coins():
    votes, truth, _ = planted(n=600, m=15, k=3, labels=5, seed=2)
    result = cw.classes.Auto().fit(votes)
    assert result.extra["chosen"] == "one_coin_even"
    np.testing.assert_allclose(result.posterior, cw.OneCoin(prior_class=1e6).fit(votes).posterior)
    assert [row["method"] for row in result.extra["scores"]] == list(CANDIDATES)
    assert all(row["standard_error"] > 0 for row in result.extra["scores"])
    assert "one_coin_even" in result.extra["reason"]
    assert (result.labels == truth).mean() > 0.9


@pytest.mark.slow
def test_class_dependent_workers_ask_for_more_than_coins():
    crowd = simulate.scenario("class_constant", tasks=600, workers=30, labels=5, seed=1)
    assert cw.classes.Auto().fit(crowd.annotations).extra["chosen"] != "one_coin_even"


def test_of_two_equals_the_simpler_is_taken():
    votes = planted(n=200, m=10, k=2, seed=4)[0]
    assert cw.classes.Auto(candidates=("dawid_skene", "dawid_skene_even")).fit(votes).extra["chosen"] == "dawid_skene"
    assert (
        cw.classes.Auto(candidates=("dawid_skene_even", "dawid_skene")).fit(votes).extra["chosen"] == "dawid_skene_even"
    )


@pytest.mark.slow
def test_a_model_that_overturns_clear_majorities_is_passed_over():
    votes = simulate.scenario("class_constant", tasks=400, workers=30, labels=5, seed=1).annotations
    pair = ("mace", "majority_vote")
    assert cw.classes.Auto(candidates=pair).fit(votes).extra["chosen"] == "mace"
    strict = cw.classes.Auto(candidates=pair, overturn=0).fit(votes).extra
    assert strict["chosen"] == "majority_vote"
    assert "mace would overturn too many" in strict["reason"]
    assert strict["scores"][0]["upheld"] < strict["scores"][1]["upheld"] == 1


def test_with_one_label_per_task_it_falls_back_and_says_so():
    votes = cw.Annotations.from_arrays(range(30), [0, 1, 2] * 10, [0, 1, 1, 0, 2] * 6)
    result = cw.classes.Auto().fit(votes)
    assert result.extra["chosen"] == "hierarchical"
    assert "held out" in result.extra["reason"]


def test_a_prior_is_for_those_who_can_use_it():
    votes = planted(n=40, m=6, k=3, labels=3)[0]
    history = cw.DawidSkene().fit(planted(n=60, m=6, k=3, seed=3)[0])
    scored = cw.classes.Auto().fit(votes, prior=history).extra["scores"]
    assert [row["method"] for row in scored] == ["hierarchical", "dawid_skene"]
    with pytest.raises(cw.ParameterError, match="prior"):
        cw.classes.Auto(candidates=("mace",)).fit(votes, prior=history)


@pytest.mark.parametrize("candidates", [(), ("auto",), ("gold_majority_vote",), ("nobody",), ("wawa_even",)])
def test_candidates_are_checked(candidates):
    with pytest.raises(cw.ParameterError):
        cw.classes.Auto(candidates=candidates)
