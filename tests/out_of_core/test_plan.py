"""A plan holds just what reading into memory gives: rows, vocabularies, policies, ledger; whatever the files are."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.errors import DataError, ParameterError
from crowdwise.core.intake.coding import NUMBERS
from crowdwise.out_of_core import chunks as chunks_module
from crowdwise.out_of_core.files import expand
from crowdwise.out_of_core.gather import gold_by_part, in_memory
from crowdwise.out_of_core.options import PartitionOptions
from crowdwise.out_of_core.plan import PartitionPlan
from crowdwise.out_of_core.planning import n_parts, plan

from .conftest import cut, messy


def same(found, votes):
    for name in ("tasks", "workers", "classes"):
        assert getattr(found, name).to_list() == getattr(votes, name).to_list()
    for name in ("task", "worker", "label", *NUMBERS):
        a, b = getattr(found, name), getattr(votes, name)
        assert (a is None) == (b is None), name
        assert a is None or np.array_equal(a, b, equal_nan=True), name
    told, read = found.ledger.to_dict(), votes.ledger.to_dict()
    # The note on duplicates without times is given by the reader of one file only.
    read["notes"] = [note for note in read["notes"] if not note.startswith("there is no column of times")]
    assert {**told, "notes": sorted(told["notes"])} == {**read, "notes": sorted(read["notes"])}
    if votes.about_workers is not None:
        assert found.about_workers.to_dict(as_series=False) == votes.about_workers.to_dict(as_series=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("policy", ["first", "last", "keep"])
def test_a_plan_is_what_reading_gives(tmp_path, kind, policy):
    frame = messy(weight=True, time=True)
    pattern = cut(frame, tmp_path / "votes", kind=kind)
    frame.write_csv(tmp_path / "all.csv")
    options = PartitionOptions({"weight": "weight"}, duplicates=policy)
    found = plan(pattern, tmp_path / "work", options)
    assert len(found.parts) == 64
    same(in_memory(found), cw.read(tmp_path / "all.csv", columns={"weight": "weight"}, duplicates=policy))


def test_small_pieces_of_a_file_are_the_file(tmp_path, crowd):
    crowd = crowd.with_columns(pl.col("label").replace("ant", 'an "ant",\nor two'))
    crowd.write_csv(tmp_path / "v.csv")
    crowd.write_parquet(tmp_path / "v.parquet")
    for name in ("v.csv", "v.parquet"):
        (file,) = expand(tmp_path / name)
        some = list(chunks_module.read_chunks(file, PartitionOptions(), rows=1000, size=10_000))
        assert len(some) > 5
        read = pl.concat([pl.DataFrame({k: p.columns[k] for k in ("task", "worker", "label")}) for p in some])
        assert read.fill_null("").equals(crowd.fill_null(""))
        assert [p.first for p in some] == np.cumsum([0, *(len(p.columns["task"]) for p in some)])[:-1].tolist()


def test_whole_numbers_stay_numbers_unless_a_file_has_text(tmp_path):
    frame = pl.DataFrame({"task": [10, 9, 10, 9], "worker": [1, 1, 2, 2], "label": [0, 1, 0, 1]})
    cut(frame, tmp_path / "v", 2)
    assert in_memory(plan(tmp_path / "v", tmp_path / "w1")).tasks.to_list() == [9, 10]
    frame.cast(pl.String).write_csv(tmp_path / "v" / "z.csv")
    options = PartitionOptions(duplicates="keep")
    found = in_memory(plan(tmp_path / "v", tmp_path / "w2", options))
    assert found.tasks.to_list() == ["10", "9"]
    assert found.labels_per_task.tolist() == [4, 4]


@pytest.mark.slow
def test_missing_values_given_classes_and_order(tmp_path, crowd):
    pattern = cut(crowd, tmp_path / "votes")
    crowd.write_csv(tmp_path / "all.csv")
    options = PartitionOptions(duplicates="first", missing=("dog", "w003", "nowhere"), order=("cat", "bee", "ant"))
    found = in_memory(plan(pattern, tmp_path / "work", options))
    votes = cw.read(
        tmp_path / "all.csv", duplicates="first", missing=["dog", "w003", "nowhere"], order=["cat", "bee", "ant"]
    )
    same(found, votes)
    assert found.answers.order.tolist() == votes.answers.order.tolist()
    wider = plan(pattern, tmp_path / "work2", PartitionOptions(duplicates="first", classes=("bat", "ant")))
    assert wider.classes.to_list() == ["ant", "bat", "bee", "cat", "dog"]
    same(in_memory(wider), cw.read(tmp_path / "all.csv", duplicates="first").with_classes(["bat"]))


def test_contradictions_are_refused_by_name(tmp_path, crowd):
    pattern = cut(crowd, tmp_path / "votes")
    with pytest.raises(DataError, match=r"contradictory labels \(first: task 't\d+', worker 'w\d+'"):
        plan(pattern, tmp_path / "work")
    assert not (tmp_path / "work" / "plan.json").exists()
    assert not list((tmp_path / "work").glob("part-*"))


@pytest.mark.slow
def test_files_grouped_by_task_need_no_shuffle(tmp_path, crowd):
    known = crowd.filter(pl.col("task").str.starts_with("t")).sort("task", maintain_order=True)
    half = int((known["task"] < "t5").sum())
    (tmp_path / "votes").mkdir()
    known[:half].write_parquet(tmp_path / "votes" / "a.parquet")
    known[half:].write_parquet(tmp_path / "votes" / "b.parquet")
    options = PartitionOptions(duplicates="first", grouped=True)
    found = plan(tmp_path / "votes", tmp_path / "work", options)
    assert len(found.parts) == 2 or len(found.parts) == 4  # each file's last task is a piece of its own
    shuffled = plan(tmp_path / "votes", tmp_path / "work2", PartitionOptions(duplicates="first"))
    same(in_memory(found), in_memory(shuffled))
    crowd.write_parquet(tmp_path / "votes" / "b.parquet")
    with pytest.raises(DataError, match="not grouped by task; leave --grouped out"):
        plan(tmp_path / "votes", tmp_path / "work3", options)


@pytest.mark.slow
def test_a_plan_is_used_again_until_something_changes(tmp_path, crowd):
    pattern = cut(crowd, tmp_path / "votes")
    options = PartitionOptions(duplicates="first")
    first = plan(pattern, tmp_path / "work", options)
    when = (tmp_path / "work" / "plan.json").stat().st_mtime_ns
    assert plan(pattern, tmp_path / "work", options).parts == first.parts
    assert (tmp_path / "work" / "plan.json").stat().st_mtime_ns == when
    os.utime(tmp_path / "votes" / "v03.parquet", ns=(1, 1))
    plan(pattern, tmp_path / "work", options)
    assert (tmp_path / "work" / "plan.json").stat().st_mtime_ns > when
    assert len(plan(pattern, tmp_path / "work", PartitionOptions(duplicates="keep")).parts) == 64
    assert PartitionPlan.load(tmp_path / "work").options["duplicates"] == "keep"


@pytest.mark.slow
def test_gold_finds_its_parts(tmp_path, crowd):
    found = plan(cut(crowd, tmp_path / "votes"), tmp_path / "work", PartitionOptions(duplicates="first"))
    gold = {"t1": "ant", "t77": "dog", "t800": "bee", "open1": "cat"}
    parts = gold_by_part(found, gold)
    names = {
        found.source.mapped_part(i).tasks[int(c)]: found.classes[int(k)]
        for i, (at, label) in enumerate(parts)
        for c, k in zip(at, label, strict=True)
    }
    assert names == gold
    with pytest.warns(cw.errors.LedgerWarning, match="1 gold tasks have no annotations"):
        gold_by_part(found, {**gold, "nobody": "ant"})
    with pytest.raises(DataError, match="never given by a worker"):
        gold_by_part(found, {"t1": "eel"})


def test_the_number_of_parts_follows_from_the_rows_and_the_tables():
    assert [n_parts(n) for n in (0, 4095, 4096, 200_000_000, 10**9, 10**10)] == [1, 1, 64, 64, 256, 4096]
    assert [n_parts(200_000, cells) for cells in (10_000, 70_000, 10**9)] == [64, 16, 16]  # small tables cost nothing
    for rows in (10**6, 10**7, 5 * 10**7, 2 * 10**8, 10**10):
        for cells in (0, 10**5, 10**6, 10**7, 10**9):
            n = n_parts(rows, cells)
            assert 16 <= n <= 4096
            assert n & (n - 1) == 0
            assert rows <= n * 2**22 or n == 4096  # memory stays bounded, however large the tables
            assert n == n_parts(rows) or n == 16 or rows >= n * cells or 2 * rows > n * 2**22


def test_other_kinds_and_occasions_are_refused(tmp_path):
    pl.DataFrame({"task": ["a"], "worker": ["b"], "value": [1.5]}).write_csv(tmp_path / "n.csv")
    with pytest.raises(DataError, match="only classes are fitted in parts"):
        plan(tmp_path / "n.csv", tmp_path / "w")
    pl.DataFrame({"task": ["a"], "worker": ["b"], "label": ["c"], "repeat": [1]}).write_csv(tmp_path / "r.csv")
    with pytest.raises(DataError, match="several occasions"):
        plan(tmp_path / "r.csv", tmp_path / "w")
    with pytest.raises(ParameterError, match="not as numbers"):
        PartitionOptions(kind="numbers")
