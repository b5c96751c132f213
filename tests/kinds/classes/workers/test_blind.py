"""The fit without gold that gold may judge."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.workers.removal import blind_fit, blind_to


@pytest.fixture(scope="module")
def crowd():
    return cw.simulate.scenario("one_coin", tasks=200, workers=10, labels=4, seed=1)


def test_the_fit_with_gold_is_calibrated_and_the_other_has_not_seen_it(crowd):
    gold = crowd.truth_table().sample(60, seed=1)
    result, blind = blind_fit(cw.DawidSkene(), crowd.annotations, gold, sampling="random")
    assert "slope" in result.extra["gold_check"]
    assert blind.gold is None
    np.testing.assert_array_equal(blind.posterior, cw.DawidSkene().fit(crowd.annotations).posterior)
    assert blind_fit(cw.DawidSkene(), crowd.annotations, None)[1] is None
    assert blind_fit(cw.classes.JudgeStack(), crowd.annotations, gold)[1] is None


def test_a_saved_result_is_its_own_judgement_unless_it_was_given_the_gold(crowd):
    gold = crowd.truth_table().sample(60, seed=1)
    plain = cw.DawidSkene().fit(crowd.annotations)
    assert blind_to(plain, crowd.annotations, gold_in_fit=False) is plain
    again = blind_to(cw.fit(crowd.annotations, "dawid_skene", gold), crowd.annotations, gold_in_fit=True)
    np.testing.assert_array_equal(again.posterior, plain.posterior)
    assert blind_to(cw.fit(crowd.annotations, "judge_stack", gold), crowd.annotations, gold_in_fit=True) is None
