"""Expected quality of every class, and the advice about classes that workers confuse."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import precision_recall_fscore_support

import crowdwise as cw
from crowdwise.kinds.classes.scoring.tasks import confused_classes


def planted(confusion, tasks=1500, per_task=4, workers=20, seed=0):
    """Votes of workers who share a confusion matrix, and the truth."""
    rng = np.random.default_rng(seed)
    k = len(confusion)
    truth = rng.integers(0, k, tasks)
    task = np.repeat(np.arange(tasks), per_task)
    worker = np.concatenate([rng.choice(workers, per_task, replace=False) for _ in range(tasks)])
    label = (rng.random(len(task))[:, None] > np.cumsum(confusion, axis=1)[truth[task]]).sum(axis=1)
    return cw.Annotations.from_arrays(task, worker, label), truth


UNEVEN = np.array([[0.9, 0.05, 0.05], [0.1, 0.6, 0.3], [0.05, 0.15, 0.8]])
TWINS = np.array([[0.9, 0.05, 0.05], [0.04, 0.48, 0.48], [0.04, 0.48, 0.48]])


def test_expected_precision_and_recall_are_those_against_truths_drawn_from_the_posterior():
    """The mean over truths that have the posterior's probabilities, as scikit-learn counts them."""
    votes, _ = planted(UNEVEN)
    result = cw.DawidSkene().fit(votes)
    table, rng = result.class_table(), np.random.default_rng(1)
    steps = np.cumsum(result.posterior, axis=1)
    drawn = [(rng.random(len(steps))[:, None] > steps).sum(axis=1) for _ in range(40)]
    scores = np.mean([precision_recall_fscore_support(truth, result.labels)[:2] for truth in drawn], axis=0)
    assert np.array([table["precision"], table["recall"]]) == pytest.approx(scores, abs=0.006)
    assert table["confused_with"].to_list()[1:] == [2, 1]
    assert table["n_expected"].sum() == pytest.approx(votes.n_tasks)
    assert table["n_labelled"].sum() == votes.n_tasks


def test_figures_of_a_class_that_no_task_has_are_missing():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b"] * 2, ["x", "x", "y", "y"], classes=["x", "y", "z"])
    row = cw.MajorityVote().fit(votes).class_table().row(2, named=True)
    assert row == {
        "class": "z",
        "n_labelled": 0,
        "n_expected": 0.0,
        "precision": None,
        "recall": None,
        "confused_with": None,
        "confused": None,
    }


@pytest.mark.parametrize(("confusion", "advice"), [(UNEVEN, ""), (TWINS, "merge or explain")])
def test_only_classes_that_workers_hardly_distinguish_are_to_be_merged(confusion, advice):
    votes, _ = planted(confusion)
    result = cw.MajorityVote().fit(votes)
    table = confused_classes(votes, result)
    assert table.row(0, named=True)["advice"] in (advice, advice or "explain")
    assert (table["advice"] == "merge or explain").any() == bool(advice)
    pair = table.filter(pl.col("advice") == "merge or explain")
    assert [*zip(pair["first"], pair["second"], strict=True)] == ([(1, 2)] if advice else [])


def test_the_report_shows_them(tmp_path):
    from crowdwise.report import write

    votes, _ = planted(TWINS, tasks=300)
    write(votes, cw.MajorityVote().fit(votes), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Precision" in page
    assert "merge the two, or explain the difference" in page
    assert "class_quality.csv" in page


def test_other_kinds_have_none():
    numbers = cw.simulate.scenario("numbers_constants", tasks=20, seed=1).votes
    with pytest.raises(cw.ParameterError, match="class_table is not available for numbers"):
        cw.fit(numbers, "mean").class_table()
