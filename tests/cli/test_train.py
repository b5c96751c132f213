"""crowdwise train and predict: what they write and print, and one line for every mistake."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch")

import crowdwise as cw
from crowdwise.learn import CrowdClassifier

FAST = ("--net", "linear", "--epochs", "6", "--lr", "0.1", "--batch-size", "32")
N = 80


@pytest.fixture(scope="module")
def crowd():
    """Tasks 001..080 with features of two kinds of files, votes with ids to be kept as they are, the truth."""
    rng = np.random.default_rng(3)
    tasks = [f"{i:03d}" for i in range(1, N + 1)]
    truth = rng.integers(3, size=N)
    x = (rng.normal(size=(N, 5)) + 3 * np.eye(3, 5)[truth]).astype(np.float32)
    rows = [
        (task, f"w{w}", "abc"[truth[i] if rng.random() < 0.75 else rng.integers(3)])
        for i, task in enumerate(tasks)
        for w in rng.choice(6, 3, replace=False)
    ]
    return tasks, x, rows, ["abc"[t] for t in truth]


@pytest.fixture
def files(crowd, tmp_path):
    tasks, x, rows, truth = crowd
    back = np.arange(N)[::-1]  # features may stand in any order
    np.savez(tmp_path / "x.npz", task=np.array(tasks)[back], x=x[back])
    np.save(tmp_path / "x.npy", x)
    pl.DataFrame({"task": tasks, **{f"f{j}": x[:, j] for j in range(5)}}).write_parquet(tmp_path / "x.parquet")
    pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row").write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"task": tasks, "label": truth}).write_csv(tmp_path / "truth.csv")
    return tmp_path


@pytest.fixture
def works(crowdwise_cli):
    def check(*arguments):
        code, out, err = crowdwise_cli(*arguments)
        assert code == 0, err
        return out, err

    return check


def parsed(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_train_writes_the_classifier_and_what_aggregate_writes(works, files, crowd):
    run = files / "run"
    out, err = works("train", files / "x.npz", files / "votes.csv", "-m", "ccem", *FAST, "-o", run)
    assert out == ""
    assert "240 annotations of 80 tasks by 6 workers, 3 classes, features 5; ccem with linear" in err
    assert "predicts held-out labels best" in err
    names = {path.name for path in run.iterdir()}
    assert {"labels.csv", "workers.csv", "confusion.csv", "history.csv", "ledger.json", "result.json"} <= names
    assert {"classifier.json", "model.safetensors"} <= names
    assert "checkpoints" not in names
    labels = parsed((run / "labels.csv").read_text())
    assert [row["task"] for row in labels] == crowd[0]  # "001" stays "001"
    assert list(labels[0]) == ["task", "label", "confidence", "entropy", "n_labels", "p_a", "p_b", "p_c"]
    history = parsed((run / "history.csv").read_text())
    assert [row["epoch"] for row in history] == ["1", "2", "3", "4", "5", "6"]
    assert set(history[0]) == {"epoch", "loss", "cross_entropy", "score"}
    assert len(parsed((run / "confusion.csv").read_text())) == 6 * 9
    scores = json.loads(works("evaluate", run, "--truth", files / "truth.csv", "--json")[0])
    assert scores["accuracy"] > 0.9
    assert "ccem" in works("show", run)[0] + works("show", run)[1]


def test_every_kind_of_features_file_gives_the_same(works, files):
    found = []
    for name in ("x.npz", "x.npy", "x.parquet"):
        works("train", files / name, files / "votes.csv", "-m", "vanilla", *FAST, "--validation", "0", "-o",
              files / name[2:])  # fmt: skip
        found.append((files / name[2:] / "labels.csv").read_text())
    # .npz holds the rows in another order: the same tasks, in other batches
    assert found[1] == found[2]
    assert [row["task"] for row in parsed(found[0])] == [row["task"] for row in parsed(found[1])]


def test_json_and_parameters(works, files):
    said = ("-p", "divergence=js", "-p", "prior=(0.3,0.3,0.4)", "--validation", "0", "--seed", "4")
    out, _ = works("train", files / "x.npz", files / "votes.csv", *FAST, *said, "-o", files / "run", "--json")
    found = json.loads(out)
    assert found["params"] == {"divergence": "js", "prior": [0.3, 0.3, 0.4], "seed": 4, "epochs": 6}
    assert (found["tasks"], found["features"], found["best_epoch"], found["net"]) == (80, [5], None, "linear")


def test_predict_prints_what_the_classifier_says(works, files, crowd):
    run = files / "run"
    works("train", files / "x.npz", files / "votes.csv", "-m", "agg_net", *FAST, "-o", run)
    clf = CrowdClassifier.load(run)
    rows = parsed(works("predict", run, files / "x.parquet")[0])
    assert list(rows[0]) == ["task", "label", "confidence", "p_a", "p_b", "p_c"]
    assert [row["task"] for row in rows] == crowd[0]
    want = clf.predict_proba(crowd[1])
    assert np.allclose([[float(row[f"p_{c}"]) for c in "abc"] for row in rows], want, atol=1e-6)
    assert [row["label"] for row in rows] == clf.predict(crowd[1]).tolist()
    # with votes: the forecaster, which on its own tasks is the saved result
    both = parsed(works("predict", run, files / "x.npz", "--votes", files / "votes.csv")[0])
    saved = {row["task"]: float(row["p_b"]) for row in parsed((run / "labels.csv").read_text())}
    assert np.allclose([float(row["p_b"]) for row in both], [saved[row["task"]] for row in both], atol=1e-6)
    out, err = works("predict", run, files / "x.npy", "-o", files / "said.csv")
    assert out == ""
    assert "80 tasks written" in err
    assert [row["task"] for row in parsed((files / "said.csv").read_text())] == [str(i) for i in range(N)]


def test_an_interrupted_run_is_resumed(works, files, monkeypatch):
    from crowdwise.learn.training import loop

    want = files / "whole"
    works("train", files / "x.npz", files / "votes.csv", "-m", "ccem", *FAST, "-o", want)
    write = loop.checkpoint.write

    def stop(folder, name, tensors, facts):
        write(folder, name, tensors, facts)
        if facts["epoch"] == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop.checkpoint, "write", stop)
    from crowdwise.cli import main

    with pytest.raises(SystemExit):
        main(["train", str(files / "x.npz"), str(files / "votes.csv"), "-m", "ccem", *FAST, "-o", str(files / "run")])
    monkeypatch.undo()
    assert (files / "run" / "checkpoints" / "last.json").exists()
    works("train", files / "x.npz", files / "votes.csv", "-m", "ccem", *FAST, "-o", files / "run", "--resume")
    for name in ("labels.csv", "history.csv", "model.safetensors"):
        assert (files / "run" / name).read_bytes() == (want / name).read_bytes()


def test_known_confusions_come_from_a_saved_result(works, files, fails):
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-o", files / "ds")
    works("train", files / "x.npz", files / "votes.csv", "-m", "known_confusion", "-p", f"confusion={files / 'ds'}",
          *FAST, "-o", files / "run")  # fmt: skip
    given, used = cw.Result.load(files / "ds").confusion, cw.Result.load(files / "run").confusion
    assert np.allclose(given, used, atol=1e-6)
    assert parsed(works("predict", files / "run", files / "x.npz")[0])
    fails("train", files / "x.npz", files / "votes.csv", "-m", "known_confusion", "-o", files / "no",
          words="needs -p confusion=DIR")  # fmt: skip


def test_mistakes(files, fails, works, crowd):
    x, votes, run = files / "x.npz", files / "votes.csv", files / "run"
    tasks, features, _, _ = crowd

    def wrong(*arguments, words):
        fails("train", *FAST, *arguments, "-o", files / "new", words=words)

    wrong(x, files / "none.csv", words="none.csv")
    wrong(files / "none.npz", votes, words="none.npz | no such file")
    wrong(votes, votes, words="votes.csv: features come as .npz, .npy or .parquet, not .csv")
    wrong(x, votes, "-m", "max_mag", words="no training method 'max_mag' | did you mean max_mig")
    wrong(x, votes, "-m", "dawid_skene", words="dawid_skene aggregates votes without features | crowdwise aggregate")
    wrong(x, votes, "-m", "ccem", "-p", "stat=eye", words="ccem has no parameter 'stat'; it has start")
    wrong(x, votes, "-m", "ccem", "-p", "scale=big", words="scale must be a number, got 'big'")
    wrong(x, votes, "-m", "instance_confusion", "-p", "rank=2.5", words="rank must be a whole number")
    wrong(x, votes, "-m", "two_stage", "-p", "params=1", words="params is a table of values")
    wrong(x, votes, "--device", "abacus", words="device 'abacus' cannot be used here")
    wrong(x, votes, "--validation", "1.5", words="validation must be at least 0 and below 1, got 1.5")
    np.savez(files / "huge.npz", task=tasks, x=np.sign(features) * 3e38)
    wrong(
        files / "huge.npz",
        votes,
        "-m",
        "ccem",
        "--net",
        "mlp",
        words="the loss term 'cross_entropy' | scale the features",
    )
    wrong(x, votes, "--lr", "-1", words="lr must be at least 0 and below 1e+30, got -1.0")
    fails("train", x, votes, "-o", files / "new", "--net", "mpl", words="there is no net 'mpl'")
    fails("train", x, votes, words="Missing option | --output")

    np.savez(files / "few.npz", task=tasks[4:], x=features[4:])
    wrong(
        files / "few.npz", votes, words="few.npz and votes.csv: 4 of 80 labelled tasks have no features: '001', '002'"
    )
    np.save(files / "few.npy", features[4:])
    wrong(files / "few.npy", votes, words="76 rows of features for 80 tasks")
    np.savez(files / "odd.npz", z=features)
    wrong(files / "odd.npz", votes, words="odd.npz holds 'z'; arrays `task` (or `item`) and `x` are needed")
    np.savez(files / "nan.npz", task=tasks, x=np.where(features == features[7, 2], np.nan, features))
    wrong(files / "nan.npz", votes, words="NaN or infinity, the first is row 7")
    np.savez(files / "pickle.npz", task=tasks, x=np.array([{}] * N, dtype=object), allow_pickle=True)
    wrong(files / "pickle.npz", votes, words="cannot be read as features")
    (files / "torn.npz").write_bytes(x.read_bytes()[:500])
    wrong(files / "torn.npz", votes, words="torn.npz cannot be read as features")
    assert not (files / "new").exists()

    works("train", x, votes, *FAST, "-o", run)
    fails("train", x, votes, *FAST, "-o", run, words="already | --force")
    works("train", x, votes, *FAST, "-o", run, "--force")


def test_mistakes_in_predicting(files, fails, works, crowd):
    run, x = files / "run", files / "x.npz"
    works("train", x, files / "votes.csv", "-m", "vanilla", *FAST, "-o", run)
    fails("predict", files, x, words="holds no readable classifier")
    np.savez(files / "wide.npz", task=crowd[0], x=np.zeros((N, 9)))
    fails("predict", run, files / "wide.npz", words="X has 9 features, but CrowdClassifier is expecting 5")
    fails("predict", run, x, "--votes", files / "votes.csv", words="vanilla has no forecaster")
    (files / "said.csv").write_text("here")
    fails("predict", run, x, "-o", files / "said.csv", words="exists already | --force")
    works("train", x, files / "votes.csv", "-m", "ccem", *FAST, "-o", run, "--force")
    (files / "new.csv").write_text("task,worker,label\n001,stranger,a\n")
    fails("predict", run, x, "--votes", files / "new.csv", words="worker 'stranger' was not seen in training")
    known = ("--unknown-workers", "average")
    assert len(parsed(works("predict", run, x, "--votes", files / "new.csv", *known)[0])) == N
    (files / "new.csv").write_text("task,worker,label\n001,w1,zebra\n")
    fails("predict", run, x, "--votes", files / "new.csv", words="class 'zebra' was not seen in training")


def test_methods_know_both_families(works):
    out, _ = works("methods")
    assert all(name in out for name in cw.registry.LEARNERS)
    about = json.loads(works("methods", "ccem", "--json")[0])
    assert about["parameters"] == {"start": "tanno", "scale": 1.0, "form": "softplus", "sparse": None}
    assert about["training"]["batch_size"] == 128
    assert "worker_lr" in works("methods", "ccem")[0]


def test_other_commands_do_not_import_torch():
    code = "import crowdwise.cli, sys; print([m for m in ('torch', 'polars', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


TAMPERED = {
    "a net of an exabyte": ({"input_shape": [10**15]}, "the weights do not fit the net"),
    "a strange net": ({"net": "gpt"}, "there is no net 'gpt'"),
    "a net that is a list": ({"net": [1]}, "net must be a name"),
    "no input": ({"input_shape": None}, "the saved classifier is damaged"),
    "a strange method": ({"method": "magic"}, "magic"),
    "a method that is a number": ({"method": 5}, "damaged"),
    "more tasks": ({"n_tasks": 10**12}, "80 rows for 1000000000000 tasks"),
    "no history": ({"history": []}, "damaged"),
    "params that are text": ({"params": "x"}, "damaged"),
    "another format": ({"format": "\x1b"}, "has format '\\x1b'; this version reads 2"),
}


def test_a_tampered_classifier(files, works, fails):
    run = files / "run"
    works("train", files / "x.npz", files / "votes.csv", "-m", "ccem", *FAST, "-o", run)
    good = json.loads((run / "classifier.json").read_text())
    for changes, words in TAMPERED.values():
        (run / "classifier.json").write_text(json.dumps(good | changes))
        fails("predict", run, files / "x.npy", words=words)
    (run / "classifier.json").write_text("[" * 99_999)
    fails("predict", run, files / "x.npy", words="classifier.json is damaged (nested too deeply)")
    (run / "classifier.json").write_text(json.dumps(good))
    pl.DataFrame({"task": [["001"]]}).write_parquet(run / "rows.parquet")
    fails("predict", run, files / "x.npy", words="rows.parquet: task holds List(String) values")
