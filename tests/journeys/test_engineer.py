"""An engineer with Parquet files: five lines of Python from votes to labels that train a classifier."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

N_ITEMS, N_ANNOTATORS, PER_ITEM = 4_000, 80, 4
CLASSES = np.array(["bug", "docs", "feature", "question", "spam"])
# Five lines: read, fit, look at the classes, take the targets, save. The files name their columns as databases do.
SCRIPT = """
import crowdwise as cw
votes = cw.read("votes.parquet", duplicates="last")
result = cw.fit(votes, gold=cw.read_truth("gold.parquet"), sampling="random")
result.class_table().write_parquet("classes.parquet")
result.soft_labels().to_table().write_parquet("targets.parquet")
result.save("run")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes with times, some corrected; a quarter of the annotators guess, `question` and `feature` are mixed up."""
    rng = np.random.default_rng(7)
    truth = rng.choice(5, N_ITEMS, p=[0.35, 0.15, 0.25, 0.15, 0.1])
    item = np.repeat(np.arange(N_ITEMS), PER_ITEM)
    person = np.concatenate([rng.choice(N_ANNOTATORS, PER_ITEM, replace=False) for _ in range(N_ITEMS)])
    skill = np.where(np.arange(N_ANNOTATORS) < N_ANNOTATORS // 4, 0.2, rng.uniform(0.7, 0.95, N_ANNOTATORS))
    wrong = np.where(np.isin(truth[item], (2, 3)), 5 - truth[item], rng.integers(0, 5, len(item)))
    label = np.where(rng.random(len(item)) < skill[person], truth[item], wrong)
    guessing = person < N_ANNOTATORS // 4
    label[guessing] = rng.integers(0, 5, guessing.sum())
    start = datetime.datetime(2026, 1, 5, 9)
    stamps = [start + datetime.timedelta(seconds=int(s)) for s in rng.integers(0, 10**6, len(item))]
    table = pl.DataFrame(
        {
            "item_id": [f"issue-{i:05}" for i in item],
            "annotator_id": [f"u{a:03}" for a in person],
            "answer": CLASSES[label],
            "ts": stamps,
        }
    )
    # Hasty first answers, which their annotators corrected: the rows come later in the file, the times earlier.
    hasty = table.sample(300, seed=1).with_columns(
        answer=pl.lit("spam"), ts=pl.col("ts") - datetime.timedelta(minutes=2)
    )
    path = tmp_path_factory.mktemp("engineer")
    pl.concat([table, hasty]).write_parquet(path / "votes.parquet")
    known = pl.DataFrame({"item_id": [f"issue-{i:05}" for i in range(N_ITEMS)], "gold_label": CLASSES[truth]})
    known.write_parquet(path / "truth.parquet")
    known.sample(200, seed=2).write_parquet(path / "gold.parquet")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=path, capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    return path


pytestmark = pytest.mark.slow


def test_the_labels_are_right_more_often_than_the_vote(folder):
    truth = pl.read_parquet(folder / "truth.parquet").rename({"item_id": "task"})
    joined = pl.read_parquet(folder / "targets.parquet").join(truth, on="task")
    votes = pl.read_parquet(folder / "votes.parquet").sort("ts").unique(["item_id", "annotator_id"], keep="last")
    mode = votes.group_by("item_id").agg(pl.col("answer").mode().sort().first()).rename({"item_id": "task"})
    by_vote = mode.join(truth, on="task").select((pl.col("answer") == pl.col("gold_label")).mean()).item()
    accuracy = (joined["label"] == joined["gold_label"]).mean()
    assert accuracy > by_vote + 0.03
    assert joined["weight"].mean() == pytest.approx(accuracy, abs=0.04)  # the weights are probabilities


def test_expected_precision_and_recall_are_near_the_true_ones(folder):
    truth = pl.read_parquet(folder / "truth.parquet").rename({"item_id": "task"})
    joined = pl.read_parquet(folder / "targets.parquet").join(truth, on="task")
    for row in pl.read_parquet(folder / "classes.parquet").iter_rows(named=True):
        labelled = joined.filter(pl.col("label") == row["class"])
        of_class = joined.filter(pl.col("gold_label") == row["class"])
        assert row["precision"] == pytest.approx((labelled["gold_label"] == row["class"]).mean(), abs=0.08)
        assert row["recall"] == pytest.approx((of_class["label"] == row["class"]).mean(), abs=0.08)
    table = {row["class"]: row for row in pl.read_parquet(folder / "classes.parquet").iter_rows(named=True)}
    assert (table["question"]["confused_with"], table["feature"]["confused_with"]) == ("feature", "question")


def test_the_corrected_answers_count_by_their_times(folder):
    import crowdwise as cw

    votes = cw.read(folder / "votes.parquet", duplicates="last")
    raw = pl.read_parquet(folder / "votes.parquet")
    expected = raw.sort("ts").unique(["item_id", "annotator_id"], keep="last", maintain_order=True)
    ours = votes.to_frame().select(item_id="task", annotator_id="worker", answer="label")
    keys = ["item_id", "annotator_id"]
    assert ours.sort(keys).equals(expected.select(*keys, "answer").sort(keys))


def test_the_run_is_read_back(folder):
    import crowdwise as cw

    assert cw.Result.load(folder / "run").n_tasks == N_ITEMS
