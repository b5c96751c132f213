"""crowdwise train and predict on numbers: dispatched by the kind of votes and the method's card."""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch")

import crowdwise as cw
from crowdwise.learn import CrowdRegressor

FAST = ("--net", "linear", "--epochs", "8", "--lr", "0.1", "--batch-size", "16")
N = 40


@pytest.fixture
def numbers(tmp_path):
    """Features, and a file of numbers: task, worker, value."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2)).astype(np.float32)
    tasks = [f"{i:03d}" for i in range(N)]
    np.savez(tmp_path / "x.npz", task=np.array(tasks), x=x)
    frame = pl.DataFrame(
        {
            "task": np.repeat(tasks, 3),
            "worker": ["ann", "bob", "cy"] * N,
            "value": np.repeat(5 + 2 * x[:, 0], 3) + np.tile([-1.0, 0, 1], N) + 0.2 * rng.normal(size=3 * N),
        }
    )
    frame.write_csv(tmp_path / "numbers.csv")
    pl.DataFrame({"task": tasks, "value": 5 + 2 * x[:, 0]}).write_csv(tmp_path / "truth.csv")
    return tmp_path


def test_a_file_of_numbers_trains_a_regressor(numbers, crowdwise_cli):
    run = numbers / "run"
    code, out, err = crowdwise_cli("train", numbers / "x.npz", numbers / "numbers.csv", *FAST, "-o", run, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["method"], told["annotations"], told["numbers"]) == ("gaussian_net", 3 * N, ["value"])
    assert told["best_epoch"] >= 1
    values = pl.read_csv(run / "labels.csv", schema_overrides={"task": pl.String})
    assert values.columns == ["task", "value", "low", "high", "sd", "n_labels"]
    assert values["task"][7] == "007"
    workers = pl.read_csv(run / "workers.csv")
    assert workers.columns == ["worker", "n_labels", "bias", "spread", "slope", "weight"]
    bias = dict(workers.select("worker", "bias").iter_rows())
    assert bias["ann"] < bias["bob"] < bias["cy"]
    assert json.loads((run / "ledger.json").read_text())["rows_used"] == 3 * N
    assert not (run / "checkpoints").exists()

    code, out, err = crowdwise_cli("evaluate", run, "--truth", numbers / "truth.csv", "--json")
    assert code == 0, err
    scores = json.loads(out)
    assert scores["n"] == N
    assert scores["r2"]["value"] > 0.8

    code, out, err = crowdwise_cli("predict", run, numbers / "x.npz")
    assert code == 0, err
    said = pl.read_csv(io.StringIO(out), schema_overrides={"task": pl.String})
    assert said.columns == ["task", "value", "std"]
    x = np.load(numbers / "x.npz")["x"]
    np.testing.assert_allclose(said["value"], CrowdRegressor.load(run).predict(x), rtol=1e-6)

    code, out, err = crowdwise_cli("predict", run, numbers / "x.npz", "--votes", numbers / "numbers.csv")
    assert code == 0, err
    together = pl.read_csv(io.StringIO(out))
    assert (together["std"] < said["std"]).all()


@pytest.mark.parametrize("method", ["gaussian_net", "crowd_layer_sb", "mean_target"])
def test_workers_and_report_read_the_run_of_a_regressor(method, numbers, crowdwise_cli):
    run, page = numbers / "run", numbers / "page.html"
    code, _, err = crowdwise_cli("train", numbers / "x.npz", numbers / "numbers.csv", *FAST, "-m", method, "-o", run)
    assert code == 0, err
    code, out, err = crowdwise_cli("workers", run, "--json")
    assert code == 0, err
    quality = {row["worker"]: row for row in json.loads(out)["workers"]}
    assert quality["ann"]["bias"] < quality["bob"]["bias"] < quality["cy"]["bias"]
    assert all(row["correlation"] > 0.8 for row in quality.values())
    code, _, err = crowdwise_cli("report", run, "-o", page)
    assert code == 0, err
    text = page.read_text(encoding="utf-8")
    assert "Training: the network and the crowd" in text
    assert "Loss by epoch" in text
    assert "From the features alone, the predictions of the network" in text


def test_people_are_told_what_was_learnt(numbers, crowdwise_cli):
    run = numbers / "run"
    how = ("-m", "crowd_layer_b", "--validation", "0")
    code, out, err = crowdwise_cli("train", numbers / "x.npz", numbers / "numbers.csv", *FAST, *how, "-o", run)
    assert (code, out) == (0, "")
    assert "120 numbers for 40 tasks by 3 workers, features 2; crowd_layer_b with linear" in err
    assert "spread" in err
    code, out, _ = crowdwise_cli("predict", run, numbers / "x.npz")
    assert (code, out.splitlines()[0]) == (0, "task,value")


def test_mistakes_get_one_line(numbers, fails):
    x, file, run = numbers / "x.npz", numbers / "numbers.csv", numbers / "run"
    (numbers / "classes.csv").write_text("task,worker,label\n001,a,x\n001,b,y\n002,a,x\n")
    fails(
        "train",
        x,
        file,
        "-m",
        "max_mig",
        "-o",
        run,
        words="was read as numbers, but max_mig takes classes | gaussian_net",
    )
    fails("train", x, numbers / "classes.csv", "-m", "gaussian_net", "-o", run,
          words="was read as classes, but gaussian_net takes numbers | max_mig")  # fmt: skip
    fails("train", x, file, "--balance", "-o", run, words="--balance is for classes")
    fails("train", x, file, "-m", "gaussian_net", "-p", "slopes=maybe", "-o", run, words="slopes")
    run.mkdir()
    (run / "labels.csv").write_text("mine")
    fails("train", x, file, "-o", run, words="holds labels.csv already")


def test_methods_say_which_kind_they_take(crowdwise_cli):
    _, out, _ = crowdwise_cli("methods", "gaussian_net", "--json")
    assert json.loads(out)["kind"] == "numbers"
    _, out, _ = crowdwise_cli("methods", "ccem")
    assert "for: classes" in out
    assert {card.takes for card in cw.registry.LEARNERS.values()} >= {"classes", "numbers"}
