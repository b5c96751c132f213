"""--at-least and --at-most: the confidence bound decides, and a broken bound is exit code 3."""

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.errors import ParameterError
from crowdwise.evaluation.bounds import bounds_of


@pytest.fixture
def verdicts(tmp_path):
    """One judge's verdicts on 400 tasks, and gold of 100 of them; the options of the estimate of their share."""
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(400) < 0.7, "good", "bad")
    label = np.where(rng.random(400) < 0.9, truth, np.where(truth == "good", "bad", "good"))
    names = [f"t{i:03}" for i in range(400)]
    pl.DataFrame({"task": names, "worker": "judge", "label": label}).write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"task": names[::4], "label": truth[::4]}).write_csv(tmp_path / "gold.csv")
    return [tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "--sampling", "random", "--metric", "share:good"]


def interval(verdicts):
    votes, gold = cw.read(verdicts[0]), cw.read_truth(verdicts[2])
    figure = cw.estimate(votes, gold=gold, metric="share:good", sampling="random")
    return figure.low, figure.value, figure.high


def test_the_end_of_the_interval_decides(crowdwise_cli, verdicts):
    low, value, high = interval(verdicts)
    for option, limit, code in [
        ("--at-least", low - 1e-6, 0), ("--at-least", low + 1e-6, 3), ("--at-least", value, 3),
        ("--at-most", high + 1e-6, 0), ("--at-most", high - 1e-6, 3), ("--at-most", value, 3),
    ]:  # fmt: skip
        ended, out, _ = crowdwise_cli("estimate", *verdicts, option, repr(limit))
        assert ended == code, (option, limit)
        assert ("does not hold:" in out) == (code == 3)
        assert "share of" in out


def test_both_bounds_and_json(crowdwise_cli, verdicts):
    low, _, high = interval(verdicts)
    code, out, _ = crowdwise_cli("estimate", *verdicts, "--at-least", ".5", "--at-most", ".6", "--json")
    assert code == 3
    first, second = json.loads(out)["bounds"]
    assert first == {"metric": "share:good", "at_least": 0.5, "end": low, "level": 0.95, "holds": True}
    assert second == {"metric": "share:good", "at_most": 0.6, "end": high, "level": 0.95, "holds": False}


def test_a_narrower_level_has_a_closer_bound(crowdwise_cli, verdicts):
    low, value, _ = interval(verdicts)
    limit = low + 0.1 * (value - low)
    assert crowdwise_cli("estimate", *verdicts, "--at-least", repr(limit))[0] == 3
    assert crowdwise_cli("estimate", *verdicts, "--at-least", repr(limit), "--level", ".8")[0] == 0


def test_differences_may_have_negative_limits(crowdwise_cli, verdicts):
    options = [*verdicts[:-1], "difference:good,bad"]
    assert crowdwise_cli("estimate", *options, "--at-least", "-.05")[0] == 0
    assert crowdwise_cli("estimate", *options, "--at-most", "-.05")[0] == 3


def test_percents_and_missing_intervals_are_refused(crowdwise_cli, verdicts, fails):
    fails("estimate", *verdicts, "--at-least", "70", words="between 0 and 1 | write 0.7")
    code, _, err = crowdwise_cli("estimate", *verdicts[:4], "unknown", *verdicts[5:], "--force", "--at-least", ".5")
    assert code == 2
    assert "no interval" in err


def test_scores_of_evaluate(crowdwise_cli, tmp_path, fails):
    rng = np.random.default_rng(4)
    truth = rng.integers(2, size=300)
    label = np.where(rng.random(300) < 0.85, truth, 1 - truth)
    pl.DataFrame({"task": range(300), "label": label}).write_csv(tmp_path / "labels.csv")
    pl.DataFrame({"task": range(300), "label": truth}).write_csv(tmp_path / "truth.csv")
    options = ["evaluate", tmp_path / "labels.csv", "--truth", tmp_path / "truth.csv"]
    scores = json.loads(crowdwise_cli(*options, "--json")[1])
    low, high = scores["intervals"]["accuracy"]
    assert crowdwise_cli(*options, "--at-least", f"accuracy={low - 1e-6}")[0] == 0
    assert crowdwise_cli(*options, "--at-least", f"accuracy={low + 1e-6}")[0] == 3
    assert crowdwise_cli(*options, "--at-least", "accuracy=.5", "--at-most", f"accuracy={high - 1e-6}")[0] == 3
    code, out, _ = crowdwise_cli(*options, "--at-least", "accuracy=.5", "--json")
    assert (code, json.loads(out)["bounds"][0]["holds"]) == (0, True)
    fails(*options, "--at-least", "acc=.5", words="no score 'acc' | accuracy")
    fails(*options, "--at-least", ".5", words="SCORE=X")
    fails(*options, "--at-least", "accuracy=high", words="SCORE=X")
    fails(*options, "--at-least", "accuracy=.5", "--resamples", "0", words="no interval")


def test_a_bound_belongs_to_its_limit():
    assert [b.holds for b in bounds_of("x", "x", (0.5, 0.7), at_least=0.5, at_most=0.7)] == [True, True]
    assert bounds_of("x", "x", None) == []
    with pytest.raises(ParameterError, match="no interval"):
        bounds_of("x", "x", (float("nan"), 1.0), at_least=0.5)
