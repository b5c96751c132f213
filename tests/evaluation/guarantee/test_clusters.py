"""Estimates, differences and scores of tasks in clusters."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError
from crowdwise.io.about import attach_tables

NAMES = np.array(["bad", "good"])


def world(seed=0, sizes=(20,) * 60, correlation=0.5, error=0.12):
    """(votes, truth by task, clusters as a table, cluster codes)."""
    rng = np.random.default_rng(seed)
    strength = 1 / correlation - 1
    share = rng.beta(0.4 * strength, 0.6 * strength, len(sizes))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    truth = (rng.random(len(cluster)) < share[cluster]).astype(int)
    label = np.where(rng.random(len(cluster)) < error, 1 - truth, truth)
    tasks = [f"t{i:05}" for i in range(len(cluster))]
    votes = cw.Annotations.from_arrays(tasks, ["judge"] * len(tasks), NAMES[label])
    names = [f"doc{c}" for c in cluster]
    return votes, dict(zip(tasks, NAMES[truth], strict=True)), pl.DataFrame({"task": tasks, "doc": names}), cluster


def some(truth, n, seed=0):
    tasks = sorted(truth)
    return {tasks[i]: truth[tasks[i]] for i in np.random.default_rng(seed).permutation(len(tasks))[:n]}


OPTIONS = {"metric": "share:good", "sampling": "random", "population": "new"}


def width(figure):
    return figure.high - figure.low


def test_clusters_widen_the_interval_for_new_tasks():
    votes, truth, docs, _ = world()
    gold = some(truth, 400)
    plain = cw.estimate(votes, gold=gold, **OPTIONS)
    clustered = cw.estimate(votes, gold=gold, cluster=docs, **OPTIONS)
    assert clustered.value == plain.value
    assert clustered.notes == ("the interval is for tasks in 60 clusters, of which 60 have gold",)
    assert width(clustered) > 1.5 * width(plain)
    mapping = dict(zip(docs["task"], docs["doc"], strict=True))
    assert cw.estimate(votes, gold=gold, cluster=mapping, **OPTIONS) == clustered


def test_a_column_about_the_tasks_names_the_clusters():
    votes, truth, docs, _ = world()
    gold = some(truth, 400)
    with_column = attach_tables(votes, tasks=docs)
    by_column = cw.estimate(with_column, gold=gold, cluster="doc", **OPTIONS)
    assert by_column == cw.estimate(votes, gold=gold, cluster=docs, **OPTIONS)


def test_clusters_of_one_task_change_nothing_much():
    votes, truth, docs, _ = world()
    gold = some(truth, 400)
    alone = docs.with_columns(doc=pl.col("task"))
    assert width(cw.estimate(votes, gold=gold, cluster=alone, **OPTIONS)) == pytest.approx(
        width(cw.estimate(votes, gold=gold, **OPTIONS)), rel=0.05
    )


def test_tasks_drawn_one_by_one_have_the_same_interval_for_these_tasks():
    votes, truth, docs, _ = world()
    options = {**OPTIONS, "population": "these"}
    plain, clustered = (cw.estimate(votes, gold=some(truth, 400), cluster=given, **options) for given in (None, docs))
    assert (plain.low, plain.high) == (clustered.low, clustered.high)
    assert "drawn one by one" in clustered.notes[-1]


def test_gold_of_whole_clusters_must_be_stated():
    votes, truth, docs, cluster = world(seed=2)
    tasks = np.array(sorted(truth))
    drawn = np.random.default_rng(3).permutation(60)[:15]
    gold = {str(t): truth[t] for t in tasks[np.isin(cluster, drawn)]}
    with pytest.raises((ParameterError, DataError)):
        cw.estimate(votes, gold=gold, cluster=docs, **OPTIONS)
    options = {"metric": "share:good", "sampling": "clusters"}
    figure = cw.estimate(votes, gold=gold, cluster=docs, **options)
    assert figure.low < np.mean([label == "good" for label in truth.values()]) < figure.high
    assert set(figure.checks) == {"size", "confidence", "verdict"} - ({"size"} if len(figure.checks) < 3 else set())
    with pytest.raises(ParameterError, match="needs the clusters"):
        cw.estimate(votes, gold=gold, **options)
    part = dict(list(gold.items())[::2])
    with pytest.raises(DataError, match="have no gold label"):
        cw.estimate(votes, gold=part, cluster=docs, **options)


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ({"t00000": "a"}, None),
        ({"elsewhere": "a", "nowhere": "b"}, "no task has a cluster"),
        ("doc", "no column 'doc'"),
        (dict.fromkeys([f"t{i:05}" for i in range(1200)], "a"), "all tasks are in one cluster"),
    ],
)
def test_odd_clusters_get_one_line(cluster, message):
    votes, truth, _, _ = world()
    gold = some(truth, 200)
    if message is None:
        assert "1,199 tasks have no cluster" in cw.estimate(votes, gold=gold, cluster=cluster, **OPTIONS).notes[0]
        return
    with pytest.raises((ParameterError, DataError), match=message):
        cw.estimate(votes, gold=gold, cluster=cluster, **OPTIONS)


def test_numbers_in_clusters():
    rng = np.random.default_rng(5)
    cluster = np.repeat(np.arange(50), 10)
    y = rng.normal(size=50)[cluster] + rng.normal(size=500)
    votes = cw.numbers.number_votes(range(500), ["judge"] * 500, y + rng.normal(size=500))
    gold = pl.DataFrame({"task": range(0, 500, 3), "value": y[::3]})
    docs = pl.DataFrame({"task": range(500), "doc": cluster})
    options = {"metric": "mean", "sampling": "random", "population": "new"}
    plain, clustered = (cw.estimate(votes, gold=gold, cluster=given, **options) for given in (None, docs))
    assert clustered.value == plain.value
    assert width(clustered) > 1.3 * width(plain)


@pytest.mark.slow
def test_intervals_in_clusters_cover():
    hits = {True: 0, False: 0}
    for seed in range(60):
        votes, truth, docs, _ = world(seed=seed)
        for given in hits:
            figure = cw.estimate(votes, gold=some(truth, 300, seed), cluster=docs if given else None, **OPTIONS)
            hits[given] += figure.low < 0.4 < figure.high
    assert hits[True] >= 52
    assert hits[False] <= 50


def test_a_difference_of_systems_in_clusters():
    rng = np.random.default_rng(7)
    cluster = np.repeat(np.arange(60), 20)
    suits = (rng.random(60) < 0.5)[cluster]
    truth = rng.integers(2, size=1200)
    right = [rng.random(1200) < np.where(suits, *p) for p in ((0.95, 0.6), (0.6, 0.9))]
    pair = [
        cw.Annotations.from_arrays(range(1200), [name] * 1200, NAMES[np.where(r, truth, 1 - truth)])
        for name, r in zip("ab", right, strict=True)
    ]
    gold = {int(t): NAMES[truth[t]] for t in rng.permutation(1200)[:400]}
    options = {"gold": gold, "sampling": "random", "population": "new"}
    plain, clustered = (
        cw.difference(*pair, cluster=given, **options)
        for given in (None, pl.DataFrame({"task": range(1200), "doc": cluster}))
    )
    assert clustered.value == plain.value
    assert width(clustered) > 1.5 * width(plain)


def test_scores_and_comparisons_draw_clusters():
    votes, truth, docs, _ = world()
    labels = pl.DataFrame({"task": votes.tasks, "label": [NAMES[0]] * votes.n_tasks})
    plain, clustered = (cw.evaluate(labels, truth, resamples=200, cluster=given) for given in (None, docs))
    for name in ("accuracy", "macro_f1"):
        (a, b), (c, d) = plain.intervals[name], clustered.intervals[name]
        assert d - c > 1.5 * (b - a)
    table = cw.compare(votes, ["majority_vote"], truth=truth, folds=0, cluster=docs).methods
    own = cw.evaluate(cw.method("majority_vote").fit(votes), truth, resamples=1000, cluster=docs)
    assert (table["accuracy_low"][0], table["accuracy_high"][0]) == own.intervals["accuracy"]
    with pytest.raises(ParameterError, match="need the truth"):
        cw.compare(votes, ["majority_vote"], folds=0, cluster=docs)


def test_the_command_line(tmp_path, crowdwise_cli):
    votes, truth, docs, _ = world()
    votes.to_frame().select("task", "worker", "label").write_csv(tmp_path / "votes.csv")
    gold = some(truth, 400)
    pl.DataFrame({"task": list(gold), "label": list(gold.values())}).write_csv(tmp_path / "gold.csv")
    docs.write_csv(tmp_path / "docs.csv")
    given = (tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "--metric", "share:good", "--sampling", "random")
    expected = cw.estimate(votes, gold=gold, cluster=docs, **OPTIONS).sentence()
    for more in (
        ("--cluster", tmp_path / "docs.csv"),
        ("--cluster", "doc", "--about-tasks", tmp_path / "docs.csv"),
    ):
        code, out, err = crowdwise_cli("estimate", *given, "--population", "new", *more)
        assert (code, out.strip()) == (0, expected), err
    labels = votes.to_frame().select("task", "label")
    labels.write_csv(tmp_path / "labels.csv")
    scored = (tmp_path / "labels.csv", "--truth", tmp_path / "gold.csv", "--cluster")
    assert crowdwise_cli("evaluate", *scored, tmp_path / "docs.csv")[0] == 0
    code, _, err = crowdwise_cli("evaluate", *scored, "doc")
    assert (code, "--cluster is a table task,cluster" in err) == (2, True)
