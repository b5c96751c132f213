"""aggregate over votes in parts: the command, its faults, a driver that is killed, and what others make of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import crowdwise as cw
from crowdwise.cli import main
from crowdwise.evaluation.statement import at_error
from tests.out_of_core.conftest import cut, messy


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    frame = messy(560)
    cut(frame, folder / "votes", 4)
    frame.write_csv(folder / "all.csv")
    pl.DataFrame({"task": ["t1", "t2", "t3"], "label": ["ant", "bee", "cat"]}).write_csv(folder / "truth.csv")
    return folder


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    said = capsys.readouterr()
    return end.value.code, said.out, said.err


@pytest.fixture(scope="module")
def made(place):
    with pytest.raises(SystemExit) as end:
        main(["aggregate", str(place / "votes" / "*.parquet"), "--out-of-core", "--duplicates", "first",
              "-m", "dawid_skene", "-p", "tol=1e-4", "-o", str(place / "run")])  # fmt: skip
    assert end.value.code == 0
    return place / "run"


def test_the_folder(made, place):
    names = {path.name for path in made.iterdir()}
    assert names >= {"labels.parquet", "labels.csv", "workers.csv", "confusion.parquet", "ledger.json", "result.json"}
    parts = made / "labels.parquet"
    assert len(list(parts.glob("part-*.parquet"))) == len(list(parts.glob("part-*")))
    assert (parts / "_SUCCESS").is_file()
    assert not (place / ".run.parts").exists()
    found = cw.Run.load(made)
    whole = cw.method("dawid_skene", tol=1e-4).fit(cw.read(place / "all.csv", duplicates="first"))
    assert found.result.to_table().sort("task")["label"].to_list() == whole.to_table()["label"].to_list()
    assert json.loads((made / "ledger.json").read_text())["rows_dropped"] == found.ledger.rows_dropped > 0


@pytest.mark.slow
def test_other_commands_take_it(made, place, capsys):
    code, out, _ = run(capsys, "evaluate", made, "--truth", place / "truth.csv", "--json")
    assert code == 0
    assert json.loads(out)["n"] == 3
    code, out, _ = run(capsys, "show", made)
    assert code == 0
    assert "562 tasks, 62 workers" in out
    assert "Least certain tasks" in out
    code, out, _ = run(capsys, "show", made, "--json")
    assert json.loads(out)["tasks"] == 562
    code, out, said = run(capsys, "workers", made, "--json")
    assert code == 0
    code, _, said = run(capsys, "report", made, "-o", place / "report.html")
    assert code == 0
    assert "560 of 562 tasks, drawn at random" in said
    assert "<html" in (place / "report.html").read_text()[:500]


@pytest.mark.slow
def test_several_files_that_fit_are_read_into_memory(place, capsys):
    code, out, _ = run(capsys, "aggregate", place / "votes" / "*.parquet", "--duplicates", "first", "-m", "wawa")
    assert code == 0
    whole = at_error(cw.method("wawa").fit(cw.read(place / "all.csv", duplicates="first")), 0.05)
    assert out.splitlines()[1:] == whole.to_table().write_csv().splitlines()[1:]


@pytest.mark.slow
def test_by_itself_where_the_memory_would_not_do(place, capsys, monkeypatch):
    monkeypatch.setattr("crowdwise.out_of_core.memory.free_memory", lambda: 800_000)
    code, _, said = run(capsys, "aggregate", place / "all.csv", "--duplicates", "first", "-m", "majority_vote",
                        "-o", place / "alone", "--work-dir", place / "kept")  # fmt: skip
    assert code == 0
    assert "working in parts on disk (--out-of-core)" in said
    assert (place / "kept" / "plan.json").is_file()
    assert cw.Result.load(place / "alone").n_tasks == 562


@pytest.mark.slow
def test_labels_are_printed_as_in_memory(place, capsys, monkeypatch):
    command = ["aggregate", place / "all.csv", "--duplicates", "first", "-m", "one_coin"]
    code, whole, _ = run(capsys, *command)
    assert code == 0
    _, whole_json, _ = run(capsys, *command, "--json")
    monkeypatch.setattr("crowdwise.out_of_core.memory.free_memory", lambda: 800_000)
    code, out, said = run(capsys, *command)
    assert code == 0
    assert "working in parts on disk (--out-of-core)" in said
    one, other = (pl.read_csv(text.encode()) for text in (whole, out))
    assert_frame_equal(one, other, abs_tol=1e-9)
    _, out_json, _ = run(capsys, *command, "--json")
    one, other = (json.loads(text) for text in (whole_json, out_json))
    assert set(other) - set(one) == {"parts", "silent"}
    assert_frame_equal(pl.DataFrame(one["labels"]), pl.DataFrame(other["labels"]), abs_tol=1e-9)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--duplicates", "first", "--dask", "local:1"), "--dask needs -o DIR"),
        (("-o", "x", "-m", "gibbs"), "gibbs needs all votes at once"),
        (("-o", "x", "--calibrate"), "(--calibrate) without gold needs all votes at once"),
        (("-o", "x", "--links", "y.csv"), "--links does not go with votes in parts"),
        (("-o", "x", "--grouped", "--duplicates", "first", "-m", "wawa"), "not grouped by task; leave --grouped out"),
        (("-o", "x", "-m", "wawa"), "contradictory labels"),
        (("-o", "x", "-m", "wawa", "--dask", "nonsense"), "nonsense"),
    ],
)
def test_faults_are_one_line(place, tmp_path, capsys, monkeypatch, more, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "aggregate", place / "votes" / "*.parquet", "--out-of-core", *more)
    assert code == 2
    last = [line for line in err.splitlines() if line.startswith("crowdwise: ")]
    assert len(last) == 1
    assert said in last[0]
    assert out == ""
    assert not (tmp_path / "x").exists()


@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_to_the_same_bits(place, tmp_path, capsys):
    """SIGKILL between two passes; the second run takes the parts and the passes of the first."""
    env = {**os.environ, "PYTHONPATH": str(Path(cw.__file__).parents[1])}

    def command(name):
        return ["aggregate", str(place / "votes" / "*.parquet"), "--out-of-core", "--duplicates", "first", "-m",
                "dawid_skene", "-p", "tol=0", "-p", "max_iter=25", "-o", str(tmp_path / name), "--work-dir",
                str(tmp_path / f"{name}.work")]  # fmt: skip

    kept = tmp_path / "killed.work" / "fit" / "loop-0001.npz"
    other = [sys.executable, "-m", "crowdwise.cli", *command("killed")]
    first = subprocess.Popen(other, env=env, stderr=subprocess.DEVNULL)
    for _ in range(6000):
        if kept.is_file() or first.poll() is not None:
            break
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    code, _, err = run(capsys, *command("killed"))
    assert code == 0
    assert "passes were made before and are taken from" in err
    assert run(capsys, *command("whole"))[0] == 0
    killed, whole = (cw.Result.load(tmp_path / name) for name in ("killed", "whole"))
    assert killed.to_table().equals(whole.to_table())
    assert killed.trace.tolist() == whole.trace.tolist()
    assert (tmp_path / "killed" / "workers.csv").read_bytes() == (tmp_path / "whole" / "workers.csv").read_bytes()


def test_how_long_it_will_take():
    from crowdwise.cli.progress import format_duration, passes_left

    values = [-1e6 - 1000 * 0.5**i for i in range(8)]
    # The last gain was 1000 / 2^7; it is halved ten times until it is below a hundred-millionth of a million.
    assert passes_left(values) == 10
    assert passes_left([1.0, 2.0]) is None
    assert passes_left([0.0, 1.0, 3.0, 6.0]) is None
    assert (format_duration(59), format_duration(61), format_duration(7300)) == ("59 s", "1 min 01 s", "2 h 01 min")
