"""Quality, class and confusion tables, timing, drift, tasks: against what can be counted by hand or by refitting."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate, workers
from crowdwise.kinds.classes.workers.judgement import Judgement
from tests.conftest import planted


@pytest.fixture(scope="module")
def crowd():
    return simulate.crowd(300, 3, [simulate.OneCoin(12, low=0.6, high=0.9)], simulate.PerTask(5), seed=3)


@pytest.fixture(scope="module")
def fitted(crowd):
    return cw.DawidSkene(smoothing=0.5).fit(crowd.annotations)


def test_others_is_the_e_step_without_the_workers_own_label(crowd, fitted):
    votes, others = crowd.annotations, Judgement(crowd.annotations, fitted).others
    for w in (0, 5, 11):
        rest = votes.take(votes.worker != w)
        without = fitted.infer(rest).posterior
        rows = np.flatnonzero(votes.worker == w)
        assert others[rows] == pytest.approx(without[votes.task[rows]], abs=1e-9)


@pytest.mark.parametrize("method", ["majority_vote", "committee", "hierarchical", "group_aware"])
def test_others_confirms_good_workers_for_every_kind_of_method(crowd, method):
    votes = crowd.annotations
    judged = Judgement(votes, cw.method(method).fit(votes))
    assert judged.others.sum(axis=1) == pytest.approx(1)
    assert (judged.others.argmax(axis=1) == crowd.truth[votes.task]).mean() > 0.85
    table = workers.quality(votes, judged.result)
    true = np.einsum("k,wkk->w", crowd.class_prior, crowd.confusion)
    assert np.corrcoef(table["consensus_agreement"], true)[0, 1] > 0.75


def test_two_answers_of_one_worker_go_together(crowd, fitted):
    votes = cw.Annotations.from_arrays([1, 1, 1], ["a", "a", "b"], ["x", "x", "y"], duplicates="keep")
    result = cw.DawidSkene(smoothing=0.5).fit(votes)
    others = Judgement(votes, result).others
    assert others[0] == pytest.approx(others[1])


def test_gold_stays_certain_whoever_is_left_out(crowd):
    votes = crowd.annotations
    gold = dict(zip(votes.tasks[:20], votes.classes.gather(crowd.truth[:20]), strict=True))
    judged = Judgement(votes, cw.DawidSkene().fit(votes, gold=gold))
    rows = votes.task < 20
    assert judged.others[rows] == pytest.approx(np.eye(3)[crowd.truth[votes.task[rows]]])
    table = workers.quality(votes, judged.result, gold=gold)
    right = np.bincount(votes.worker[rows], weights=votes.label[rows] == crowd.truth[votes.task[rows]], minlength=12)
    n = np.bincount(votes.worker[rows], minlength=12)
    assert table["n_gold"].to_list() == n.tolist()
    assert table["gold_accuracy"].to_numpy() == pytest.approx(right / n)
    assert (table["gold_low"] <= table["gold_accuracy"]).all()


def test_the_result_must_belong_to_the_votes(crowd, fitted):
    with pytest.raises(cw.DataError, match="different workers"):
        workers.quality(crowd.annotations.select(workers=crowd.annotations.workers[:5]), fitted)


def test_class_and_confusion_tables_add_up(crowd, fitted):
    votes = crowd.annotations
    cells = workers.confusion_table(votes, fitted)
    assert cells["n"].sum() == pytest.approx(len(votes))
    assert (cells["n_effective"] <= cells.group_by("worker", "true", maintain_order=True).agg(pl.col("n").sum()).join(
        cells, on=["worker", "true"], maintain_order="right")["n"] + 1e-9).all()  # fmt: skip
    assert (cells["low"] <= cells["p"]).all()
    assert (cells["p"] <= cells["high"]).all()
    rows = cells.group_by("worker", "true").agg(pl.col("p").sum())["p"].to_numpy()
    assert rows == pytest.approx(np.ones(len(rows)))
    classes = workers.class_table(votes, fitted)
    assert classes["n_said"].sum() == pytest.approx(len(votes))
    assert classes["n_true"].sum() == pytest.approx(len(votes))
    lean = classes.group_by("worker").agg(pl.col("bias").sum())["bias"].to_numpy()
    assert lean == pytest.approx(np.zeros(12), abs=1e-9)
    diagonal = cells.filter(pl.col("true") == pl.col("observed"))
    assert diagonal["p"].to_numpy() == pytest.approx(classes["recall"].to_numpy())


def test_with_certain_truth_intervals_are_those_of_counts():
    votes, truth, _ = planted(n=200, m=6, k=2, labels=6, low=0.9, high=0.98, seed=5)
    gold = {int(t): int(truth[t]) for t in range(200)}
    result = cw.DawidSkene().fit(votes, gold=gold)
    table = workers.class_table(votes, result)
    hits = np.array([[((votes.worker == w) & (votes.label == c) & (truth[votes.task] == c)).sum() for c in (0, 1)]
                     for w in range(6)])  # fmt: skip
    n = np.bincount(truth, minlength=2)
    assert table["recall"].to_numpy().reshape(6, 2) == pytest.approx(hits / n, abs=0.02)
    assert table["recall_n"].to_numpy().reshape(6, 2) == pytest.approx(np.tile(n, (6, 1)), rel=1e-6)


@pytest.mark.slow
def test_skill_and_score_intervals_hold_the_truth():
    """A smaller version of what the benchmark prints."""
    from tests.crowds.coverage import skill_coverage

    inside = skill_coverage(range(12), "hierarchical")
    assert 0.90 <= np.mean(inside["skill"]) <= 0.99
    assert 0.90 <= np.mean(inside["recall"]) <= 0.99
    for name in ("spammer score, 2 to 4 classes", "spammer score, 10 or 20 classes"):
        assert np.mean(inside[name]) >= 0.85


# ---------------------------------------------------------------- time
def timed(shift_at=None, n=120, seed=0, m=10):
    """A crowd whose first worker turns from right to guessing after `shift_at` labels; a label every 10 seconds."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    right = rng.random((n, m)) < 0.85
    if shift_at is not None:
        right[shift_at:, 0] = rng.random(n - shift_at) < 0.33
    label = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, size=(n, m))) % 3)
    task, worker = np.indices((n, m)).reshape(2, -1)
    time = task * 10.0 + worker
    time[(worker == 1) & (task >= n // 2)] += 5000.0  # one long break
    return cw.Annotations.from_arrays(task, worker, label.ravel(), time=time)


def test_time_per_label_leaves_breaks_out():
    votes = timed()
    table = workers.quality(votes, cw.DawidSkene().fit(votes))
    assert table["seconds_median"].to_numpy() == pytest.approx(np.full(10, 10.0))
    assert table["n_idle"].to_list() == [0, 1, *[0] * 8]
    no_cap = workers.quality(votes, cw.DawidSkene().fit(votes), idle=1e9)
    assert no_cap["n_idle"].sum() == 0


def test_drift_is_found_and_false_alarms_are_rare():
    votes = timed(shift_at=60)
    result = cw.DawidSkene().fit(votes)
    flags = workers.drift_flags(votes, result)
    assert [f.worker for f in flags] == [0]
    assert "fell" in flags[0].evidence
    assert flags[0].p_value < 0.01
    quiet = [len(workers.drift_flags(v, cw.DawidSkene().fit(v))) for v in (timed(seed=s) for s in range(1, 16))]
    assert sum(quiet) <= 2  # 150 workers tested at 1 % of false discoveries


def test_learning_curve_is_a_rolling_mean():
    votes = timed(shift_at=60)
    result = cw.DawidSkene().fit(votes)
    curve = workers.learning_curve(votes, result, window=20).filter(pl.col("worker") == 0)
    confirmed = Judgement(votes, result).confirmed[votes.worker == 0]  # their tasks are in time order
    assert curve["accuracy"][0] == pytest.approx(confirmed[:20].mean())
    assert curve["accuracy"][-1] == pytest.approx(confirmed[-20:].mean())
    assert curve["position"].to_list() == list(range(20, 121))
    without = replace(votes, time=None)
    assert workers.learning_curve(without, result).is_empty()
    assert workers.drift_flags(without, result) == []


# ---------------------------------------------------------------- tasks
def test_contested_tasks_come_first_with_a_reason():
    easy = [t for t in range(10, 30) for _ in range(4)]  # where all agree, so that a vote is seen to tell something
    votes = cw.Annotations.from_arrays(
        [1, 1, 1, 1, 2, 2, 2, 2, 3, *easy], [*"abcdabcda", *"abcd" * 20], [*"xxyyxxxxx", *("xy"[t % 2] for t in easy)],
        tasks=[1, 2, 3, 4, *range(10, 30)],
    )  # fmt: skip
    full = cw.tasks.contested(votes, cw.MajorityVote().fit(votes)).row(by_predicate=pl.col("task") == 1, named=True)
    assert (full["todo"], full["why"]) == ("expert", "every worker has answered it")
    votes = cw.Annotations.from_arrays(
        [1, 1, 1, 1, 2, 2, 2, 2, 3, *easy, 10], [*"abcdabcda", *"abcd" * 20, "e"],
        [*"xxyyxxxxx", *("xy"[t % 2] for t in easy), "x"], tasks=[1, 2, 3, 4, *range(10, 30)],
    )  # fmt: skip
    vote = cw.MajorityVote().fit(votes)
    table = cw.tasks.contested(votes, vote)
    assert table["task"].to_list()[:2] == [4, 1]
    why = dict(zip(table["task"], table["why"], strict=True))
    assert (why[2], why[3], why[4]) == ("", "", "nobody has labelled it")
    assert re.fullmatch(r"a tie; \d+ more votes should raise the probability that it is right by 0\.\d\d", why[1])
    assert table["todo"].to_list() == ["vote", "vote", *[""] * 22]
    assert table["n_agree"].sum() == 2 + 4 + 1 + 81
    other = replace(vote, estimate=replace(vote.estimate, posterior=vote.posterior[:, ::-1].copy()))
    torn = cw.tasks.contested(votes, vote, [other])
    two = torn.row(by_predicate=pl.col("task") == 2, named=True)
    assert (two["disagreeing"], two["todo"], two["why"]) == (1, "look", "1 of 1 other methods disagree")


def test_suspected_gold_and_confused_classes(crowd, fitted):
    votes = crowd.annotations
    truth = votes.classes.gather(crowd.truth).to_list()
    gold = dict(zip(votes.tasks, truth, strict=True))
    sure = int(fitted.posterior.max(axis=1).argmax())
    name = votes.tasks[sure]
    wrong = next(c for c in votes.classes if c != votes.classes[int(fitted.labels[sure])])
    table = cw.tasks.suspected_gold(votes, fitted, {**gold, name: wrong})
    assert table["task"][0] == name
    assert table["p_gold"].is_sorted()
    pairs = cw.tasks.confused_classes(votes, fitted)
    assert len(pairs) == 3
    both = pairs["n"].sum()
    assert both == pytest.approx(len(votes) - fitted.posterior[votes.task, votes.label].sum(), rel=1e-6)
