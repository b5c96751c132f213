"""crowdwise train and predict on comparisons, same or different and spans: dispatched by the kind of votes."""

from __future__ import annotations

import io
import json

import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch")

from crowdwise.learn import CrowdClusterer, CrowdRanker, CrowdTagger

FAST = ("--net", "linear", "--epochs", "25", "--lr", "0.05", "--batch-size", "8")
N = 24


def items(folder, rng):
    """Features of items i00 .. and two answers about every pair of neighbours and more."""
    x = rng.normal(size=(N, 3)).astype(np.float32)
    names = np.array([f"i{i:02d}" for i in range(N)])
    np.savez(folder / "x.npz", item=names, x=x)
    left = rng.integers(0, N, 300)
    right = (left + rng.integers(1, N, 300)) % N
    return x, names, left, right, rng.integers(0, 5, 300)


@pytest.fixture
def pairs(tmp_path):
    x, names, left, right, worker = items(tmp_path, np.random.default_rng(0))
    won = x[left, 0] > x[right, 0]
    said = {"left": names[left], "right": names[right], "winner": np.where(won, "left", "right"), "worker": worker}
    pl.DataFrame(said).write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"item": names, "score": x[:, 0]}).write_csv(tmp_path / "truth.csv")
    return tmp_path


@pytest.fixture
def alike(tmp_path):
    x, names, left, right, worker = items(tmp_path, np.random.default_rng(1))
    group = x[:, 0] > 0
    said = {"left": names[left], "right": names[right], "same": (group[left] == group[right]).astype(int)}
    pl.DataFrame({**said, "worker": worker}).write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"item": names, "cluster": group.astype(int)}).write_csv(tmp_path / "truth.csv")
    return tmp_path


@pytest.fixture
def marked(tmp_path):
    """Sentences of six words; the word with the large feature is a name. Spans count characters."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(N, 6, 3)).astype(np.float32)
    at = rng.integers(0, 6, N)
    x[np.arange(N), at, 0] += 6
    names = [f"s{i:02d}" for i in range(N)]
    start = np.tile(5 * np.arange(6), N)
    flat = x.reshape(-1, 3)
    np.savez(tmp_path / "x.npz", task=np.repeat(names, 6), x=flat, start=start, end=start + 4)
    columns = {f"f{j}": flat[:, j] for j in range(3)}
    pl.DataFrame({"task": np.repeat(names, 6), "start": start, "end": start + 4, **columns}).write_parquet(
        tmp_path / "x.parquet"
    )
    rows = [
        {"task": names[i], "worker": w, "spans": json.dumps([[5 * int(at[i]), 5 * int(at[i]) + 4, "PER"]])}
        for i in range(N)
        for w in ("ann", "bob")
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    pl.DataFrame(rows[::2]).select("task", "spans").write_csv(tmp_path / "truth.csv")
    return tmp_path


def trained(folder, cli, *more):
    code, out, err = cli("train", folder / "x.npz", folder / "votes.csv", *FAST, *more, "-o", folder / "run", "--json")
    assert code == 0, err
    return json.loads(out)


def said(folder, cli, *more):
    code, out, err = cli("predict", folder / "run", folder / "x.npz", *more)
    assert code == 0, err
    return pl.read_csv(io.StringIO(out))


def every_reader_knows(folder, cli):
    for command in (("show", folder / "run"), ("workers", folder / "run"), ("evaluate", folder / "run", "--truth",
                    folder / "truth.csv"), ("report", folder / "run", "-o", folder / "page.html")):  # fmt: skip
        code, _, err = cli(*command)
        assert code == 0, (command, err)


@pytest.mark.parametrize("method", ["reward_net", "majority_reward"])
def test_comparisons_train_a_ranker(pairs, crowdwise_cli, method):
    told = trained(pairs, crowdwise_cli, "-m", method)
    assert (told["method"], told["items"], told["workers"]) == (method, N, 5)
    frame = said(pairs, crowdwise_cli)
    x = np.load(pairs / "x.npz")["x"]
    assert frame.columns == ["item", "score"]
    np.testing.assert_allclose(frame["score"], CrowdRanker.load(pairs / "run").predict(x), rtol=1e-5, atol=1e-6)
    assert np.corrcoef(frame["score"], x[:, 0])[0, 1] > 0.8
    board = pl.read_csv(pairs / "run" / "items.csv")
    assert set(board["item"]) == set(frame["item"])
    assert board["low"].null_count() == N  # a net has no intervals
    every_reader_knows(pairs, crowdwise_cli)


def test_same_or_different_trains_a_clusterer(alike, crowdwise_cli):
    assert trained(alike, crowdwise_cli)["params"]["epochs"] == 25  # the number of clusters by the answers
    found = trained(alike, crowdwise_cli, "--clusters", "3", "--force")
    assert found["method"] == "similarity_net"
    frame = said(alike, crowdwise_cli)
    assert frame.columns == ["item", "cluster", "confidence", "p_1", "p_2", "p_3"]
    x = np.load(alike / "x.npz")["x"]
    proba = CrowdClusterer.load(alike / "run").predict_proba(x)
    np.testing.assert_allclose(frame.select("p_1", "p_2", "p_3").to_numpy(), proba, atol=1e-6)
    table = pl.read_csv(alike / "run" / "items.csv").join(frame, on="item")
    assert (table["cluster"] == table["cluster_right"]).all()  # one numbering for both
    every_reader_knows(alike, crowdwise_cli)


@pytest.mark.parametrize("method", ["sequence_confusion", "sequence_layer", "majority_tags"])
def test_spans_train_a_tagger(marked, crowdwise_cli, method):
    told = trained(marked, crowdwise_cli, "-m", method)
    assert told["tags"] == {"PER": told["spans"]}
    frame = said(marked, crowdwise_cli)
    assert frame.columns == ["task", "spans", "confidence"]
    truth = pl.read_csv(marked / "truth.csv")
    assert (frame["spans"] == truth["spans"]).mean() > 0.8
    given = {key: np.load(marked / "x.npz")[key] for key in ("x", "start", "end")}
    places = np.split(np.stack([given["start"], given["end"]], axis=1), N)
    spans = CrowdTagger.load(marked / "run").predict_spans(np.split(given["x"], N), places=places)
    assert [json.loads(each) for each in frame["spans"]] == [[list(s) for s in each] for each in spans]
    code, out, _ = crowdwise_cli("predict", marked / "run", marked / "x.parquet")
    assert code == 0
    assert pl.read_csv(io.StringIO(out)).equals(frame)
    every_reader_knows(marked, crowdwise_cli)
    code, _, err = crowdwise_cli("predict", marked / "run", marked / "x.npz", "--votes", marked / "votes.csv")
    assert (code, "no forecaster" in err) == ((2, True) if method == "majority_tags" else (0, False))


def refused(cli, words, *command):
    """One line of refusal after what was said of the file."""
    code, out, err = cli(*command)
    last = err.splitlines()[-1]
    assert (code, out, last.startswith("crowdwise: ")) == (2, "", True), err
    assert words in last


def test_votes_beside_the_features_of_a_tagger(marked, crowdwise_cli):
    trained(marked, crowdwise_cli)
    (marked / "new.csv").write_text('task,worker,spans\ns00,ann,"[[0, 4, ""PER""]]"\ns00,bob,"[[0, 4, ""PER""]]"\n')
    alone = said(marked, crowdwise_cli)
    both = said(marked, crowdwise_cli, "--votes", marked / "new.csv")
    assert both["spans"][1:].equals(alone["spans"][1:])
    assert [0, 4, "PER"] in json.loads(both["spans"][0])
    (marked / "new.csv").write_text('task,worker,spans\ns00,eve,"[[0, 4, ""PER""]]"\n')
    where = ("predict", marked / "run", marked / "x.npz", "--votes", marked / "new.csv")
    refused(crowdwise_cli, "worker 'eve' was not seen in training", *where)
    said(marked, crowdwise_cli, *where[3:], "--unknown-workers", "average")
    (marked / "new.csv").write_text('task,worker,spans\ns00,ann,"[[0, 4, ""LOC""]]"\n')
    refused(crowdwise_cli, "tag 'LOC' was not seen in training", *where)


def test_mistakes_get_one_line(pairs, fails, crowdwise_cli):
    x, votes, run = pairs / "x.npz", pairs / "votes.csv", pairs / "run"
    fails(
        "train", x, votes, "-m", "ccem", "-o", run, words="was read as comparisons, but ccem takes classes | reward_net"
    )
    fails("train", x, votes, "--clusters", "3", "-o", run, words="--clusters is for similarities")
    fails("train", x, votes, "--balance", "-o", run, words="--balance is for classes")
    np.save(pairs / "few.npy", np.zeros((3, 2)))
    refused(crowdwise_cli, "3 rows of features for 24 items", "train", pairs / "few.npy", votes, "-o", run)
    (pairs / "sets.csv").write_text('task,worker,labels\n1,a,"[""x""]"\n2,a,"[""y"",""x""]"\n')
    fails("train", x, pairs / "sets.csv", "-o", run, words="was read as sets; nets are trained on classes")
    trained(pairs, crowdwise_cli)
    refused(crowdwise_cli, "--votes applies to classes, numbers and spans", "predict", run, x, "--votes", votes)


def test_tokens_that_cannot_be_read_get_one_line(marked, fails, crowdwise_cli):
    votes, run = marked / "votes.csv", marked / "run"
    np.save(marked / "x.npy", np.zeros((N, 3)))
    fails("train", marked / "x.npy", votes, "-o", run, words="must name the task of each token")
    np.savez(marked / "y.npz", task=["a", "b", "a"], x=np.eye(3))
    fails("train", marked / "y.npz", votes, "-o", run, words="the tokens of task 'a' are not consecutive")
    np.savez(marked / "y.npz", task=["a", "a", "b"], x=np.eye(3), start=[0, 1, 2])
    fails("train", marked / "y.npz", votes, "-o", run, words="has only start of the tokens")
    np.savez(marked / "y.npz", task=["a", "a", "b"], x=np.eye(3), start=[0, 1, 2], end=[1.5, 2, 3])
    fails("train", marked / "y.npz", votes, "-o", run, words="end must hold one whole number")
    arrays = np.load(marked / "x.npz")
    np.savez(marked / "y.npz", task=arrays["task"], x=arrays["x"])
    refused(crowdwise_cli, "spans must count tokens", "train", marked / "y.npz", votes, "-o", run)
