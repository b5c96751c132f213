"""cw.compare as a library function: the same for any number of processes, agreement and disputes by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import crowdwise as cw
from crowdwise.core import method_registry as registry
from tests.conftest import planted

FEW = ["majority_vote", "dawid_skene", "one_coin"]


@pytest.mark.slow
def test_processes_change_nothing_but_the_times():
    votes, truth, _ = planted(n=120, m=9, k=3, labels=4)
    answers = dict(enumerate(truth.tolist()))
    one = cw.compare(votes, [*FEW, "sml"], truth=answers, resamples=50)
    two = cw.compare(votes, [*FEW, "sml"], truth=answers, resamples=50, jobs=2)
    assert_frame_equal(one.methods.drop("cpu_seconds"), two.methods.drop("cpu_seconds"))
    assert_frame_equal(one.agreement, two.agreement)
    assert_frame_equal(one.tasks, two.tasks)


def test_agreement_and_disputes_are_what_the_labels_say():
    votes, _, _ = planted(n=150, m=9, k=3, labels=3, low=0.4, high=0.7)
    found = cw.compare(votes, FEW, folds=0)
    labels = {name: cw.method(name).fit(votes).labels for name in FEW}
    for row in found.agreement.to_dicts():
        for other in FEW:
            assert row[other] == pytest.approx((labels[row["method"]] == labels[other]).mean())
    pairs = [labels[a] != labels[b] for a, b in (FEW[:2], FEW[1:], FEW[::2])]
    by_hand = dict(enumerate(np.mean(pairs, axis=0)))
    assert dict(found.tasks.select("task", "disagreement").iter_rows()) == pytest.approx(by_hand)
    assert found.tasks["disagreement"].is_sorted(descending=True)
    assert (found.disputed(5)["disagreement"] > 0).all()
    assert found.methods["held_out"].is_null().all()


def test_held_out_and_truth_see_who_is_better():
    """Where some workers are spammers, the one-coin model predicts and decides better than the vote."""
    votes, truth, _ = planted(n=600, m=20, k=2, labels=5, low=0.5, high=0.95)
    found = cw.compare(votes, ["majority_vote", "one_coin"], truth=dict(enumerate(truth.tolist()))).methods
    vote, coin = found.to_dicts()
    assert coin["held_out"] > vote["held_out"] + 2 * coin["held_out_error"] / 10
    assert coin["accuracy"] > vote["accuracy"]
    assert vote["n"] == 600


def test_truth_of_some_tasks_and_what_nobody_can():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "y", "y", "y"])
    found = cw.compare(votes, ["majority_vote", "wawa"], truth={1: "x"})
    assert found.tasks.filter(pl.col("task") == 1)["true"].to_list() == ["x"]
    assert found.tasks.filter(pl.col("task") == 2)["true"].to_list() == [None]
    with pytest.raises(cw.DataError, match="needs gold"):
        cw.compare(votes, ["gold_majority_vote"])
    with pytest.raises(cw.DataError, match="do the task ids match"):
        cw.compare(votes, FEW, truth={"elsewhere": "x"})
    single = cw.Annotations.from_arrays([1, 2], ["a", "b"], ["x", "y"])
    alone = cw.compare(single, ["majority_vote"])
    assert "no held-out score" in alone.notes[0]


def test_gold_is_not_scored():
    votes, truth, _ = planted(n=120, m=9, k=3, labels=4)
    answers = dict(enumerate(truth.tolist()))
    gold = {task: answers[task] for task in range(30)}
    found = cw.compare(votes, FEW, truth=answers, gold=gold, folds=0, resamples=0)
    assert found.n_gold_left_out == 30
    assert found.methods["n"].to_list() == [90] * 3
    alone = cw.evaluate(cw.DawidSkene().fit(votes, gold=gold), {t: answers[t] for t in range(30, 120)})
    assert found.methods["accuracy"][1] == alone.accuracy
    with pytest.raises(cw.DataError, match="all 30 tasks in the truth were gold"):
        cw.compare(votes, FEW, truth=gold, gold=gold)


# ------------------------------------------------------------------------------------------------ plug-ins, progress
class Fragile(cw.MajorityVote):
    """A plug-in that fits all labels and stumbles over a part of them, or gives back what cannot be scored."""

    fault = "fold"

    def fit(self, annotations, gold=None, **more):
        result = super().fit(annotations, gold, **more)
        if self.fault == "fold" and len(annotations) < 480:
            raise ZeroDivisionError("too few\nrows")
        return (
            replace(result, estimate=replace(result.estimate, posterior=result.posterior[:3]))
            if self.fault == "scores"
            else result
        )


@pytest.mark.parametrize("fault", ["fold", "scores"])
def test_a_plug_in_that_fails_ends_nothing(monkeypatch, fault):
    votes, truth, _ = planted(n=120, m=9, k=3, labels=4)
    monkeypatch.setattr(Fragile, "fault", fault)
    plain = registry.method
    monkeypatch.setattr(registry, "method", lambda name, **p: Fragile(**p) if name == "wawa" else plain(name, **p))
    found = cw.compare(votes, ["majority_vote", "wawa"], truth=dict(enumerate(truth.tolist())), resamples=0)
    rows = {row["method"]: row for row in found.methods.to_dicts()}
    assert rows["majority_vote"]["held_out"] is not None
    if fault == "fold":
        assert rows["wawa"]["accuracy"] == rows["majority_vote"]["accuracy"]
        assert rows["wawa"]["held_out"] is None
        said = "wawa: no held-out score: the fit failed on a part of the labels (ZeroDivisionError: too few rows)"
        assert said in found.notes
    else:
        assert rows["wawa"]["reason"].startswith("its result cannot be scored: ")


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_progress_is_told(jobs):
    votes, _, _ = planted(n=60, m=6, k=3, labels=4)
    seen = []
    cw.compare(votes, FEW, jobs=jobs, watch=lambda *now: seen.append(now))
    assert seen
    assert all(0 <= done < of == 3 and name in FEW for done, of, name in seen)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
    if jobs == 1:
        assert seen == [(0, 3, FEW[0]), (1, 3, FEW[1]), (2, 3, FEW[2])]


def test_why_the_default_stands_low_is_said():
    votes, _, _ = planted(n=200, m=12, k=3, labels=5)
    found = cw.compare(votes, ["adaptive", "one_coin", "majority_vote"], folds=2)
    scores = dict(found.methods.select("method", "held_out").iter_rows())
    place = 1 + sum(score > scores["adaptive"] for score in scores.values())
    told = [note for note in found.notes if note.startswith("adaptive, the default, is number")]
    assert (
        told == [] if place == 1 else told[0].startswith(f"adaptive, the default, is number {place} of 3 by held-out")
    )
    assert place > 1  # a one-coin crowd is the one-coin model's own
    assert "--truth" in told[0]
    assert not [n for n in cw.compare(votes, ["adaptive", "one_coin"], folds=0).notes if "the default" in n]
