"""fairness: gaps, workers, raters, labels, loads."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError
from crowdwise.evaluation.fairness.assignment import assign


def crowd(seed=0, n=800, workers=20, gap=0.3, biased=5):
    """(votes, truth, group of each task): the first workers miss class 1 of group b more often."""
    rng = np.random.default_rng(seed)
    truth, z = rng.integers(0, 2, n), rng.integers(0, 2, n)
    task = np.repeat(np.arange(n), 5)
    worker = np.concatenate([rng.choice(workers, 5, replace=False) for _ in range(n)])
    right = np.full(len(task), 0.8) - gap * ((worker < biased) & (z[task] == 1) & (truth[task] == 1))
    label = np.where(rng.random(len(task)) < right, truth[task], 1 - truth[task])
    names = np.array([f"t{i:04}" for i in range(n)])
    votes = cw.Annotations.from_arrays(names[task], [f"w{w:02}" for w in worker], label)
    gold = {names[i]: int(truth[i]) for i in range(n)}
    return votes, gold, {names[i]: "ab"[z[i]] for i in range(n)}


def half(gold, seed=0):
    names = sorted(gold)
    return {
        names[i]: gold[names[i]] for i in np.random.default_rng([seed, 99]).permutation(len(names))[: len(names) // 2]
    }


def test_a_gap_of_a_biased_crowd_is_seen():
    votes, gold, z = crowd(biased=20, gap=0.35)
    found = cw.fairness(cw.MajorityVote().fit(votes), votes=votes, gold=half(gold), groups=z)
    row = found.gaps.filter((pl.col("measure") == "recall") & (pl.col("class") == "1")).row(0, named=True)
    assert row["gap"] > 0.1
    assert row["low"] > 0
    assert row["low"] < row["low_alone"] < row["gap"] < row["high_alone"] < row["high"]
    assert set(found.largest["measure"]) == {"positive", "recall", "false", "accuracy"}
    assert found.rates.filter(pl.col("measure") == "accuracy").height == 2


def test_workers_who_treat_groups_differently():
    votes, gold, z = crowd(n=1600, gap=0.45)
    found = cw.fairness(votes, gold=gold, groups=z, sampling="random")
    flagged = set(found.workers.filter(pl.col("flag"))["worker"])
    biased = {f"w{i:02}" for i in range(5)}
    assert len(flagged & biased) >= 4
    assert len(flagged - biased) <= 2
    fair_crowd = crowd(n=800, gap=0.0, seed=3)
    none = cw.fairness(fair_crowd[0], gold=fair_crowd[1], groups=fair_crowd[2])
    assert none.workers.filter(pl.col("flag"))["worker"].n_unique() <= 2


def test_without_gold_only_shares():
    votes, _, z = crowd()
    found = cw.fairness(votes, groups=z)
    assert set(found.gaps.filter(pl.col("gap").is_not_null())["measure"]) == {"positive"}
    assert "lower bounds" in found.notes[0]
    these = cw.fairness(votes, groups=z, population="these").gaps.filter(pl.col("measure") == "positive")
    assert (these["low"] == these["gap"]).all()  # exact on these tasks


@pytest.mark.slow
@pytest.mark.parametrize("target", ["parity", "opportunity", "odds"])
def test_labels_that_close_the_gap(target):
    votes, gold, z = crowd(biased=20, gap=0.35, n=2000)
    result = cw.MajorityVote().fit(votes)
    found = cw.fairness(result, votes=votes, gold=gold, groups=z, target=target, within=0.02)
    measure = {"parity": "positive"}.get(target, "recall")
    before, after = (t.filter((pl.col("measure") == measure) & (pl.col("class") == "1"))["gap"].abs()[0]
                     for t in (found.gaps, found.after))  # fmt: skip
    assert after < 0.06
    assert after < before
    rows = found.labels.select("task", "label", "fair").rows()
    right = [np.mean([gold[row[0]] == int(row[i]) for row in rows]) for i in (1, 2)]
    assert right[1] > right[0] - 0.08
    assert found.expected[1] == pytest.approx(right[1], abs=0.03)
    same = cw.fairness(result, votes=votes, gold=gold, groups=z, target=target, within=0.02)
    assert same.labels.equals(found.labels)
    assert (found.labels["label"] != found.labels["fair"]).mean() < 0.4


def test_groups_of_raters():
    votes, gold, z = crowd()
    mine = {f"w{i:02}": "x" if i < 10 else "y" for i in range(20)}
    found = cw.fairness(votes, gold=gold, groups=z, worker_groups=mine)
    assert {"says 0", "says 1", "is right", "says 1 more often about a"} <= set(found.raters["question"])
    assert found.raters["p"].min() > 0
    with pytest.raises(DataError, match="at least two groups"):
        cw.fairness(votes, groups=z, worker_groups=dict.fromkeys(mine, "x"))
    with pytest.raises(DataError, match="no column 'age'"):
        cw.fairness(votes, groups=z, worker_groups="age")


def test_too_few_gold_in_a_group():
    votes, gold, z = crowd()
    z = {t: ("rare" if i < 6 else group) for i, (t, group) in enumerate(sorted(z.items()))}
    found = cw.fairness(votes, gold=half(gold), groups=z)
    rare = found.gaps.filter((pl.col("other") == "rare") & (pl.col("measure") == "recall"))
    assert rare["gap"].null_count() == len(rare)
    assert set(rare["note"]) == {"too few gold labels"}


def test_what_makes_no_sense():
    votes, gold, z = crowd(n=60)
    with pytest.raises(DataError, match="at least two groups"):
        cw.fairness(votes, groups=dict.fromkeys(z, "one"))
    for wrong in ({"within": 2}, {"target": "justice"}):
        with pytest.raises(ParameterError):
            cw.fairness(votes, groups=z, **wrong)
    with pytest.raises(ParameterError, match="works on classes"):
        cw.fairness(cw.numbers.number_votes([1, 2], ["a", "a"], [1.0, 2.0]), groups={1: "a", 2: "b"})
    with pytest.raises(ParameterError, match="needs the votes"):
        cw.fairness(cw.MajorityVote().fit(votes), groups=z, worker_groups={"w00": "x"})
    assert len(cw.fairness(cw.MajorityVote().fit(votes), groups=z, gold=gold).workers) == 0


def test_loads_that_treat_groups_alike():
    votes, gold, z = crowd(n=1500, gap=0.5, biased=10)
    found = assign(votes, gold=gold, groups=z, per_task=2, load=400, within=0.01)
    assert abs(found.accuracy["a"] - found.accuracy["b"]) <= max(0.01, found.smallest) + 1e-6
    per_group = found.table.group_by("group").agg(pl.col("labels").sum()).sort("group")["labels"]
    assert per_group.sum() == pytest.approx(3000)
    with pytest.raises(DataError, match="raise --load"):
        assign(votes, gold=gold, groups=z, per_task=2, load=10)
