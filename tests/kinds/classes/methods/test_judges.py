"""Methods for judges: what the stack learns, symbols, families, predictions of others."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.methods.judges import judge_verdicts
from tests.crowds import judges as planted

pytestmark = pytest.mark.filterwarnings("ignore::crowdwise.core.errors.IdentifiabilityWarning")


def attracted(n=400, seed=0):
    truth, label = planted.attractor(n, np.random.default_rng(seed))
    return truth, planted.as_votes(label)


def some(truth, n):
    return {task: int(truth[task]) for task in range(n)}


def test_repeating_a_judges_rows_changes_nothing():
    truth, votes = attracted()
    table = votes.to_frame().with_columns(repeat=pl.lit(1))
    again = pl.concat([table, *(table.filter(pl.col("worker") == 3).with_columns(repeat=pl.lit(i)) for i in (2, 3))])
    one, three = cw.Annotations.from_frame(table), cw.Annotations.from_frame(again)
    for method in (cw.classes.JudgeStack(), cw.DawidSkene(), cw.classes.FamilyVote(), cw.MajorityVote()):
        gold = some(truth, 60) if method.name == "judge_stack" else None
        np.testing.assert_allclose(
            method.fit(one, gold=gold).posterior, method.fit(three, gold=gold).posterior, atol=1e-9
        )


def test_the_order_of_gold_does_not_matter():
    truth, votes = attracted()
    gold = some(truth, 60)
    backwards = dict(reversed(gold.items()))
    one, other = (cw.classes.JudgeStack().fit(votes, gold=g).posterior for g in (gold, backwards))
    np.testing.assert_array_equal(one, other)


def test_too_little_gold_is_refused_and_little_warned_of():
    truth, votes = attracted()
    with pytest.raises(cw.DataError, match="at least 10 gold labels"):
        cw.classes.JudgeStack().fit(votes, gold=some(truth, 9))
    with pytest.warns(cw.errors.IdentifiabilityWarning, match="are few"):
        cw.classes.JudgeStack().fit(votes, gold=some(truth, 20))


def test_a_class_that_gold_lacks_is_warned_of_and_kept():
    truth, votes = attracted()
    gold = {task: int(truth[task]) for task in range(150) if truth[task] != 2}
    with pytest.warns(cw.errors.IdentifiabilityWarning, match="no gold task is 2"):
        result = cw.classes.JudgeStack().fit(votes, gold=gold)
    assert len(result.classes) == 3


def test_workers_with_little_gold_share_a_weight():
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=300)
    rows = [(t, f"p{rng.integers(100)}", int(truth[t] if rng.random() < 0.8 else 1 - truth[t])) for t in range(300)]
    rows += [(t, "model", int(truth[t] if rng.random() < 0.6 else 1 - truth[t])) for t in range(300)]
    task, worker, label = map(list, zip(*rows, strict=True))
    votes = cw.Annotations.from_arrays(task, worker, label)
    result = cw.classes.JudgeStack().fit(votes, gold=some(truth, 100))
    weight = dict(zip(votes.workers, result.extra["weight"], strict=True))
    assert len({round(w, 9) for name, w in weight.items() if name != "model"}) < 20
    assert (result.labels[100:] == truth[100:]).mean() > 0.7


def test_gold_tasks_have_out_of_fold_beliefs():
    truth, votes = attracted()
    result = cw.classes.JudgeStack().fit(votes, gold=some(truth, 100))
    held = result.extra["gold_posterior"]
    assert np.isfinite(held[:100]).all()
    assert np.isnan(held[100:]).all()
    assert (result.posterior[:100].max(axis=1) == 1).all()


def test_the_stack_judges_new_tasks_and_survives_saving(tmp_path):
    rng = np.random.default_rng(3)
    truth, label, stated = planted.confident(600, rng)
    votes = planted.as_votes(label, stated)
    result = cw.classes.JudgeStack().fit(votes.select(tasks=range(400)), gold=some(truth, 200))
    result.save(tmp_path / "run")
    new = cw.Result.load(tmp_path / "run").infer(votes.select(tasks=range(400, 600)))
    assert (new.labels == truth[400:]).mean() > 0.85


def test_confidence_makes_a_stack_better_and_can_be_left_out():
    truth, label, stated = planted.confident(1_500, np.random.default_rng(4))
    votes = planted.as_votes(label, stated)
    right = [
        (cw.classes.JudgeStack(confidence=use).fit(votes, gold=some(truth, 200)).labels[200:] == truth[200:]).mean()
        for use in (True, False)
    ]
    assert right[0] > right[1] + 0.05


def test_voices_pool_rows_and_forget_rows_of_no_weight():
    votes = cw.Annotations.from_arrays(
        [1, 1, 1], ["a", "a", "b"], ["x", "y", "x"], weight=[1, 3, 0], duplicates="keep", confidence=[0.5, 0.9, 0.7]
    )
    said = judge_verdicts(votes)
    assert said.share.tolist() == [[0.25, 0.75]]
    assert said.confidence.tolist() == [pytest.approx(0.7)]


def test_families_come_from_the_table_about_workers():
    votes = cw.Annotations.from_arrays([1] * 4, [*"abcd"], [*"xxyy"])
    about = pl.DataFrame({"worker": [*"abcd"], "family": ["f", "f", None, None], "kind": ["model"] * 4})
    result = cw.classes.FamilyVote(smoothing=0).fit(votes.about(workers=about))
    np.testing.assert_allclose(result.posterior, [[1 / 3, 2 / 3]])
    assert "4 judges and no gold: they may err together" in result.extra["warning"]
    assert "warning" not in cw.classes.FamilyVote().fit(votes.about(workers=about), gold={1: "x"}).extra


def test_symbols_without_strengths_are_dawid_skene():
    _, votes = attracted(seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = cw.classes.JudgeSymbols(smoothing=0.1, diagonal=0.0).fit(votes)
        other = cw.DawidSkene(smoothing=0.1).fit(votes)
    np.testing.assert_allclose(one.posterior, other.posterior, atol=1e-3)


def test_predictions_are_needed_and_checked():
    votes = cw.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    with pytest.raises(cw.DataError, match="predicted_share"):
        cw.classes.SurprisinglyPopular().fit(votes)
    rows = {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"], "predicted_share": [60, 40]}
    with pytest.raises(cw.DataError, match="from 0 to 1"):
        cw.classes.TruthSerum().fit(cw.Annotations.from_frame(pl.DataFrame(rows)))
    with pytest.raises(cw.DataError, match="none of the classes"):
        cw.classes.SurprisinglyPopular(predicted_class="z").fit(
            cw.Annotations.from_frame(pl.DataFrame(rows | {"predicted_share": [0.6, 0.4]}))
        )
    three = {"task": [1] * 3, "worker": [*"abc"], "label": [*"xyz"], "predicted_share": [0.5] * 3}
    with pytest.raises(cw.DataError, match="for each class"):
        cw.classes.SurprisinglyPopular().fit(cw.Annotations.from_frame(pl.DataFrame(three)))


@pytest.mark.parametrize("method", ["surprisingly_popular", "truth_serum"])
def test_predictions_of_several_classes(method):
    label = ["x"] * 5 + ["y"] * 4 + ["z"]
    expected = {"predicted_share_x": 0.8, "predicted_share_y": 0.1, "predicted_share_z": 0.1}
    rows = pl.DataFrame({"task": [1] * 10, "worker": list(range(10)), "label": label}).with_columns(
        **{name: pl.lit(share) for name, share in expected.items()}
    )
    assert cw.method(method).fit(cw.Annotations.from_frame(rows)).to_table()["label"].to_list() == ["y"]


@pytest.mark.parametrize("method", ["surprisingly_popular", "truth_serum"])
def test_whose_share_is_predicted_can_be_said(method):
    rows = {"task": [1] * 4, "worker": [*"abcd"], "label": [*"yyyn"]}
    last = cw.Annotations.from_frame(pl.DataFrame(rows | {"predicted_share": [0.9] * 4}))
    first = cw.Annotations.from_frame(pl.DataFrame(rows | {"predicted_share": [0.1] * 4}))
    one, other = cw.method(method).fit(last), cw.method(method, predicted_class="n").fit(first)
    np.testing.assert_allclose(one.posterior, other.posterior)


def test_a_subjective_result_says_so():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    result = cw.classes.Subjective().fit(votes)
    assert result.extra["subjective"]
    assert result.posterior[0].max() < 0.8
