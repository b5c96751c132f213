"""Annotations: coding, views, verbs, policies, ledger."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from tests.conftest import build, crowds, planted


def rows(votes):
    return sorted(votes.to_frame().select("task", "worker", "label").rows())


@given(crowd=crowds())
def test_names_come_back_and_views_agree_with_the_rows(crowd):
    task, worker, label, n, m, k = crowd
    votes = build(crowd)
    assert rows(votes) == sorted(zip(task.tolist(), worker.tolist(), label.tolist(), strict=True))
    assert (np.diff(votes.task) >= 0).all()
    for i in range(n):
        span = slice(votes.task_offsets[i], votes.task_offsets[i + 1])
        assert (votes.task[span] == i).all()
        assert (np.diff(votes.worker[span]) > 0).all()
    by_worker = votes.worker[votes.worker_order]
    for w in range(m):
        assert (by_worker[votes.worker_offsets[w] : votes.worker_offsets[w + 1]] == w).all()
    np.testing.assert_array_equal(votes.votes, np.bincount(task * k + label, minlength=n * k).reshape(n, k))
    assert votes.labels_per_task.sum() == votes.labels_per_worker.sum() == len(task)
    np.testing.assert_array_equal(votes.cell, votes.worker * k + votes.label)


@given(crowd=crowds(), n=st.integers(1, 6))
def test_shards_are_the_whole(crowd, n):
    votes = build(crowd)
    parts = votes.shards(n)
    assert sum(len(part) for part in parts) == len(votes)
    assert [t for part in parts for t in part.tasks] == votes.tasks.to_list()
    assert sorted(row for part in parts for row in rows(part)) == rows(votes)
    assert all(part.n_workers == votes.n_workers for part in parts)


@given(crowd=crowds(), fraction=st.floats(0, 1), by=st.sampled_from(["annotation", "task"]))
def test_a_split_loses_nothing(crowd, fraction, by):
    votes = build(crowd)
    kept, held = votes.split(fraction, by=by, seed=1)
    assert sorted(rows(kept) + rows(held)) == rows(votes)
    assert kept.n_tasks == held.n_tasks == votes.n_tasks
    if by == "task":
        assert not set(kept.task) & set(held.task)


@given(crowd=crowds())
def test_select_and_append_are_inverse(crowd):
    votes = build(crowd)
    some = votes.workers.to_list()[::2]
    others = votes.workers.to_list()[1::2]
    again = votes.select(workers=some).append(votes.select(workers=others))
    assert rows(again) == rows(votes)
    assert again.workers.to_list() == votes.workers.to_list()


def test_select_by_name_shrinks_the_vocabulary_and_refuses_strangers():
    votes = cw.Annotations.from_arrays(["a", "a", "b"], ["x", "y", "y"], ["1", "2", "1"])
    part = votes.select(tasks=["a"], workers=["y"])
    assert (part.tasks.to_list(), part.workers.to_list(), part.classes.to_list()) == (["a"], ["y"], ["1", "2"])
    assert rows(part) == [("a", "y", "2")]
    with pytest.raises(cw.DataError, match=r"1 workers are not in the annotations: 'z'"):
        votes.select(workers=["z"])


def test_append_keeps_count_in_the_ledger_and_asks_about_contradictions():
    one = cw.Annotations.from_arrays(["a"], ["x"], ["1"])
    same = one.append(one)
    assert len(same) == 1
    assert same.ledger.to_dict()["rows_in"] == 2
    assert same.ledger.rows_dropped == 1
    other = cw.Annotations.from_arrays(["a"], ["x"], ["2"])
    with pytest.raises(cw.DataError, match="contradictory"):
        one.append(other)
    assert len(one.append(other, duplicates="keep")) == 2
    assert rows(one.append(other, duplicates="last")) == [("a", "x", "2")]


def test_ids_keep_their_looks_and_sort_as_text():
    votes = cw.Annotations.from_arrays(["007", "7", "é", "😀"], ["w"] * 4, ["01", "1", "1.0", " 1"])
    assert votes.tasks.to_list() == ["007", "7", "é", "😀"]
    assert votes.classes.to_list() == [" 1", "01", "1", "1.0"]


def test_integers_stay_integers_and_whole_floats_become_them():
    votes = cw.Annotations.from_arrays(np.array([10.0, 9.0]), [1, 2], [np.int8(1), np.int8(0)])
    assert votes.tasks.to_list() == [9, 10]
    assert votes.classes.dtype == pl.Int64


def test_mixed_types_are_refused():
    with pytest.raises(cw.DataError, match="label mixes the types int, str"):
        cw.Annotations.from_arrays([1, 2], [1, 2], [1, "a"])


def test_nulls_are_dropped_and_counted_by_reason():
    votes = cw.Annotations.from_arrays(
        ["a", None, "b", "c", None, "d"], ["x", "x", None, "x", None, "x"], ["1", "1", "1", None, None, " "]
    )
    assert dict(votes.ledger.dropped) == {"no task": 1, "no worker": 1, "no label": 2, "blank row": 1}
    assert (votes.ledger.rows_in, votes.ledger.rows_used) == (6, 1)
    assert votes.tasks.to_list() == ["a", "b", "c", "d"]


def test_exact_repeats_count_once_and_are_counted():
    votes = cw.Annotations.from_arrays(["a", "a", "a"], ["x", "x", "y"], ["1", "1", "1"])
    assert len(votes) == 2
    assert votes.ledger.rows_dropped == 1


@pytest.mark.parametrize(("policy", "label", "exact", "contradicted"), [("first", "1", 1, 2), ("last", "2", 1, 2)])
def test_first_and_last_go_by_row_order(policy, label, exact, contradicted):
    votes = cw.Annotations.from_arrays(["a"] * 4, ["x"] * 4, ["1", "2", "1", "2"], duplicates=policy)
    assert rows(votes) == [("a", "x", label)]
    assert sorted(votes.ledger.dropped.values()) == sorted([exact, contradicted])


def test_last_goes_by_time_when_there_is_one():
    time = [5.0, 1.0, 3.0]
    votes = cw.Annotations.from_arrays(["a"] * 3, ["x"] * 3, ["1", "2", "3"], time=time, duplicates="last")
    assert rows(votes) == [("a", "x", "1")]
    votes = cw.Annotations.from_arrays(["a"] * 3, ["x"] * 3, ["1", "2", "3"], time=time, duplicates="first")
    assert rows(votes) == [("a", "x", "2")]


@given(seed=st.integers(0, 20))
def test_kept_repeats_do_not_depend_on_row_order(seed):
    rng = np.random.default_rng(seed)
    task, worker, label = (rng.integers(3, size=30) for _ in range(3))
    order = rng.permutation(30)
    one = cw.Annotations.from_arrays(task, worker, label, duplicates="keep")
    other = cw.Annotations.from_arrays(task[order], worker[order], label[order], duplicates="keep")
    np.testing.assert_array_equal(one.label, other.label)
    np.testing.assert_array_equal(one.worker, other.worker)
    assert len(one) == 30


def test_unknown_classes_follow_the_policy():
    with pytest.raises(cw.DataError, match=r"not among the given classes: 'c'.*unknown_classes='drop'"):
        cw.Annotations.from_arrays(["a", "b"], ["x", "x"], ["1", "c"], classes=["1", "2"])
    votes = cw.Annotations.from_arrays(["a", "b"], ["x", "x"], ["1", "c"], classes=["1", "2"], unknown_classes="drop")
    assert len(votes) == 1
    assert votes.ledger.rows_dropped == 1
    assert votes.classes.to_list() == ["1", "2"]


def test_with_classes_adds_and_keeps():
    votes = cw.Annotations.from_arrays(["a", "b"], ["x", "x"], ["c", "a"]).with_classes(["b"])
    assert votes.classes.to_list() == ["a", "b", "c"]
    assert rows(votes) == [("a", "x", "c"), ("b", "x", "a")]


def test_arrays_are_read_only():
    votes = planted(n=5, m=3)[0]
    with pytest.raises(ValueError, match="read-only"):
        votes.label[0] = 1


def test_the_users_own_arrays_stay_theirs():
    weight = np.array([1.0, 2.0, 3.0])
    table = pd.DataFrame({"task": [1, 2, 3], "worker": [*"aab"], "label": [*"xyx"], "weight": weight})
    for votes in (
        cw.Annotations.from_arrays([1, 2, 3], [*"aab"], [*"xyx"], weight=weight),
        cw.Annotations.from_arrays([1, 2, 3], [*"aab"], [*"xyx"], weight=table["weight"]),
        cw.Annotations.from_frame(table, columns={"weight": "weight"}),
    ):
        weight[0] = 9.0  # raises where the array was frozen
        assert votes.weight.tolist() == [1.0, 2.0, 3.0]
        weight[0] = 1.0
    codes = np.array([0, 0], dtype=np.int32)
    votes = cw.Annotations(codes, np.array([0, 1], dtype=np.int32), codes, *(pl.Series([7, 8]) for _ in range(3)))
    codes[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        votes.task[0] = 0


def test_rows_carry_as_many_numbers_as_there_are_rows():
    votes = cw.Annotations.from_arrays([1, 2, 3], [*"aab"], [*"xyx"], duration=[1.0, 2.0, 3.0])
    with pytest.raises(cw.DataError, match="duration has 3 rows but task has 2"):
        replace(votes, task=votes.task[:2], worker=votes.worker[:2], label=votes.label[:2])


@pytest.mark.parametrize("weighted_first", [True, False])
def test_append_keeps_what_only_one_side_carries(weighted_first):
    plain = cw.Annotations.from_arrays([1], ["a"], ["x"])
    rich = cw.Annotations.from_arrays(
        [2, 3], [*"aa"], [*"xy"], weight=[0.5, 3], time=[5, 6], duration=[7, 8], confidence=[1, 0]
    )
    both = rich.append(plain) if weighted_first else plain.append(rich)
    assert both.weight.tolist() == [1.0, 0.5, 3.0]  # a row without a weight weighs 1, as where nobody has one
    for name in ("time", "duration", "confidence"):
        assert np.isnan(both.numbers[name][0])
        assert both.numbers[name][1:].tolist() == rich.numbers[name].tolist()
    assert both.votes.sum() == 4.5
    assert plain.append(plain.select(tasks=[])).numbers == {}


def test_columns_must_be_equally_long():
    with pytest.raises(cw.DataError, match="task has 2 rows but worker has 1"):
        cw.Annotations.from_arrays([1, 2], [1], [1, 2])


@pytest.mark.parametrize("weight", [[-1.0], [np.nan], [np.inf]])
def test_weights_must_be_numbers_from_zero_up(weight):
    with pytest.raises(cw.DataError, match="weight of row 1"):
        cw.Annotations.from_arrays([1], [1], [1], weight=weight)


def test_large_inputs_are_sorted_by_the_compiled_order(monkeypatch):
    monkeypatch.setattr("crowdwise.core.order.COMPILED_FROM", 10)
    rng = np.random.default_rng(0)
    task, worker = np.divmod(rng.permutation(2000), 40)
    label = rng.integers(3, size=2000)
    votes = cw.Annotations.from_arrays(task, worker, label)
    assert rows(votes) == sorted(zip(task.tolist(), worker.tolist(), label.tolist(), strict=True))
    assert (np.diff(votes.task * 40 + votes.worker) > 0).all()


def test_describe_counts_what_is_there():
    votes = cw.Annotations.from_arrays(["a", "a", "b", "c"], ["x", "y", "x", "z"], ["1", "1", "2", "1"])
    facts = votes.describe()
    assert facts["components"] == 2
    assert facts["tasks_with_one_label"] == 2
    assert facts["tasks_unanimous"] == 1
    assert facts["pairwise_agreement"] == 1.0
    assert facts["class_counts"] == {"1": 3, "2": 1}


def test_a_million_distinct_labels_are_refused_politely():
    n = 1_000_000
    votes = cw.Annotations.from_arrays(np.arange(n), np.zeros(n, int), np.arange(n))
    with pytest.raises(cw.DataError, match=r"1,000,000 distinct labels.*label column"):
        cw.MajorityVote().fit(votes)
