"""A fit in memory and a fit in parts write the same tables: the output does not depend on how much memory is free."""

from __future__ import annotations

import shutil

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import crowdwise as cw
from crowdwise.io import run_folder
from crowdwise.out_of_core import output
from crowdwise.out_of_core.output import write_csv

from .conftest import messy

# Copies of the votes and of what their file says of workers: all of it in memory, a sample of a fit in parts. What a
# fit without gold says of each task is in arrays.npz in memory.
VOTES = {"votes.parquet", "votes_sample.parquet", "about_workers.parquet", "blind.parquet"}
GOLD = 60


@pytest.fixture(scope="module", params=["dawid_skene", "wawa", "glad", "adaptive"])
def runs(request, tmp_path_factory):
    """Run folders of the same votes and gold: in memory and in parts."""
    folder = tmp_path_factory.mktemp(request.param)
    messy(300).write_csv(folder / "votes.csv")
    votes = cw.read(folder / "votes.csv", duplicates="first")
    truth = dict(zip((f"t{i}" for i in range(300)), np.random.default_rng(0).integers(4, size=300), strict=True))
    names = ("ant", "bee", "cat", "dog")
    gold = {task: names[truth[task]] for task in np.random.default_rng(2).permutation(list(truth))[:GOLD].tolist()}
    result = cw.fit(votes, request.param, gold)
    assert "slope" in result.extra["gold_check"]
    memory = cw.Run(result, votes).save(folder / "memory")
    cw.fit_files(folder / "votes.csv", request.param, folder / "parts", gold=gold, duplicates="first")
    return memory, folder / "parts"


def test_the_same_files(runs):
    memory, parts = ({path.name for path in folder.iterdir()} - VOTES for folder in runs)
    assert memory == parts
    assert {"labels.parquet", "labels.csv", "workers.csv", "ledger.json"} <= memory


def test_the_same_columns_and_rows(runs):
    memory, parts = runs
    one, other = (pl.read_parquet(folder / "labels.parquet").sort("task") for folder in runs)
    assert one.schema == other.schema
    assert "gold" in one.columns
    assert one["gold"].sum() == GOLD
    same = ["task", "n_labels", "gold"]
    assert_frame_equal(one.select(same), other.select(same))
    assert_frame_equal(one.select("^p_.*$"), other.select("^p_.*$"), abs_tol=1e-9)
    for name in ("labels.csv", "workers.csv", "confusion.csv"):
        if (memory / name).is_file():
            tables = [pl.read_csv(folder / name, infer_schema=False) for folder in (memory, parts)]
            assert tables[0].columns == tables[1].columns
            assert tables[0][:, 0].to_list() == tables[1][:, 0].to_list()
    if (memory / "confusion.parquet").is_file():
        one, other = (pl.read_parquet(folder / "confusion.parquet") for folder in runs)
        assert_frame_equal(one, other, abs_tol=1e-6)


def test_the_csv_is_that_of_the_parquet(runs):
    _, parts = runs
    table = pl.read_parquet(parts / "labels.parquet").drop("gold").sort("task")
    assert (parts / "labels.csv").read_text(encoding="utf-8") == cw.Run.load(parts).result.to_table().sort(
        "task"
    ).write_csv()
    assert pl.read_csv(parts / "labels.csv", schema=table.schema).shape == table.shape


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7, 10_000])
def test_blocks_do_not_show_in_the_csv(runs, block, tmp_path):
    _, parts = runs
    write_csv(parts / "labels.parquet", tmp_path / "labels.csv", block)
    assert (tmp_path / "labels.csv").read_bytes() == (parts / "labels.csv").read_bytes()


def test_large_tables_are_parquet_alone_in_both(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "MOST_CSV_ROWS", 50)
    monkeypatch.setattr(output, "MOST_CSV_ROWS", 50)
    messy(300).write_csv(tmp_path / "votes.csv")
    votes = cw.read(tmp_path / "votes.csv", duplicates="first")
    memory = cw.Run(cw.method("dawid_skene").fit(votes), votes).save(tmp_path / "memory")
    cw.fit_files(tmp_path / "votes.csv", "dawid_skene", tmp_path / "parts", duplicates="first")
    for folder in (memory, tmp_path / "parts"):
        names = {path.name for path in folder.iterdir()}
        assert {"labels.parquet", "confusion.parquet", "workers.csv"} <= names
        assert not {"labels.csv", "confusion.csv"} & names
        assert cw.Run.load(folder).result.n_tasks == votes.n_tasks


def test_parts_under_the_old_name_are_read(runs, tmp_path):
    _, parts = runs
    old = shutil.copytree(parts, tmp_path / "old")
    before = cw.Result.load(parts).to_table()
    (old / "labels.parquet").rename(old / "labels")
    assert_frame_equal(cw.Result.load(old).to_table(), before)
    (old / "labels" / "_SUCCESS").unlink()
    with pytest.raises(cw.DataError, match="labels/_SUCCESS is missing"):
        cw.Result.load(old)


def test_a_fit_in_memory_replaces_one_in_parts(runs, tmp_path):
    memory, parts = runs
    folder = shutil.copytree(parts, tmp_path / "run")
    run = cw.Run.load(memory)
    with pytest.raises(cw.DataError, match=r"labels\.parquet"):
        run.save(folder)
    run.save(folder, force=True)
    assert {path.name for path in folder.iterdir()} == {path.name for path in memory.iterdir()}
    assert (folder / "labels.parquet").is_file()
