"""Run folders: one owner, whole or not at all, and those of version 0.1.0 load."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io import run_folder

OLD = Path(__file__).parents[1] / "runs_0_1_0"


@pytest.fixture
def votes():
    crowd = cw.simulate.scenario("one_coin", tasks=30, workers=6, seed=1)
    return crowd.annotations


@pytest.mark.parametrize("name", ["hierarchical", "ibcc", "glad", "wawa"])
def test_folders_of_0_1_0_load_and_judge(name, votes):
    run = cw.Run.load(OLD / name)
    fresh = cw.method(name).fit(votes)
    assert np.abs(run.result.posterior - fresh.posterior).max() < 1e-12
    assert run.votes.to_frame().equals(votes.to_frame())
    assert run.ledger.rows_in == len(votes)
    again = run.result.infer(votes)
    assert np.abs(again.posterior - fresh.infer(votes).posterior).max() < 1e-12


def test_what_python_saves_the_command_line_reads(votes, tmp_path, crowdwise_cli):
    cw.Run(cw.DawidSkene().fit(votes), votes).save(tmp_path / "run")
    for command in ("show", "workers"):
        code, _, err = crowdwise_cli(command, tmp_path / "run")
        assert code == 0, err
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    assert crowdwise_cli("aggregate", tmp_path / "votes.csv", "-m", "dawid_skene", "-o", tmp_path / "cli")[0] == 0
    ours, theirs = cw.Run.load(tmp_path / "run"), cw.Run.load(tmp_path / "cli")
    assert np.array_equal(ours.result.posterior, theirs.result.posterior)
    assert theirs.votes.to_frame().equals(votes.to_frame())


def test_side_tables_travel_with_the_run(votes, tmp_path):
    told = votes.about(
        workers=pl.DataFrame({"worker": votes.workers, "family": ["a", "b"] * 3}),
        tasks={"task": votes.tasks[:3], "text": ["x", "y", "z"]},
    )
    cw.Run(cw.MajorityVote().fit(told), told).save(tmp_path / "run")
    again = cw.Run.load(tmp_path / "run").votes
    assert again.about_workers.equals(told.about_workers)
    assert again.about_tasks["text"].to_list() == ["x", "y", "z"]


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_interrupted_save_leaves_the_old_run(votes, tmp_path, monkeypatch, fault):
    folder = tmp_path / "run"
    before = cw.MajorityVote().fit(votes)
    cw.Run(before, votes).save(folder)
    (folder / "notes.txt").write_text("mine", encoding="utf-8")

    def broken(*args, **kwargs):
        raise fault

    monkeypatch.setattr(run_folder, "to_csv", broken)
    with pytest.raises((cw.DataError, KeyboardInterrupt)):
        cw.Run(cw.DawidSkene().fit(votes), votes).save(folder, force=True)
    assert os.listdir(tmp_path) == ["run"], "nothing half-written lies about"
    assert cw.Run.load(folder).result.method == "majority_vote"
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_new_run_takes_the_place_of_the_old_and_leaves_other_files(votes, tmp_path):
    folder = tmp_path / "run"
    cw.Run(cw.DawidSkene().fit(votes), votes).save(folder)
    assert (folder / "confusion.csv").exists()
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    (folder / "pictures").mkdir()
    with pytest.raises(cw.DataError, match="already"):
        cw.Run(cw.MajorityVote().fit(votes)).save(folder)
    cw.Run(cw.MajorityVote().fit(votes)).save(folder, force=True)
    assert not (folder / "confusion.csv").exists(), "a file of the old run"
    assert not (folder / "votes.parquet").exists(), "votes of the old run"
    assert (folder / "notes.txt").exists()
    assert (folder / "pictures").is_dir()
    assert cw.Run.load(folder).votes is None


def test_a_link_to_a_folder_stays_a_link(votes, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    cw.Run(cw.MajorityVote().fit(votes), votes).save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "result.json").exists()
