"""Soft labels as targets for training."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import crowdwise as cw
from crowdwise.io.export.hf_dataset import dataset_table


@pytest.fixture(scope="module")
def result():
    return cw.DawidSkene().fit(cw.simulate.scenario("one_coin", tasks=120, workers=8, seed=3).annotations)


def test_rows_follow_the_tasks_that_are_asked_for(result):
    tasks = result.tasks[::-7]
    soft = result.soft_labels(tasks)
    table = pl.DataFrame({"task": tasks}).join(result.to_table(), on="task", how="left", maintain_order="left")
    classes = result.classes.cast(pl.String).to_list()
    assert np.array_equal(soft.p, table.select([f"p_{name}" for name in classes]).to_numpy())
    assert np.array_equal(soft.names.astype(str), table["label"].cast(pl.String).to_numpy())
    assert np.array_equal(soft.weight, table["confidence"].to_numpy())
    assert soft.to_table()["n_labels"].equals(table["n_labels"])
    with pytest.raises(cw.DataError, match="1 tasks have no labels: 'nothing'"):
        result.soft_labels(["nothing"])


@pytest.mark.parametrize("least", [0.0, 0.05])
def test_expanded_labels_have_the_loss_of_the_soft_labels(result, least):
    """The weighted log-loss of the expanded rows is the cross-entropy with the posterior, whatever is predicted."""
    soft = result.soft_labels()
    rows, label, weight = soft.expand(least)
    predicted = np.random.default_rng(0).dirichlet(np.ones(soft.p.shape[1]), len(soft))
    code = np.searchsorted(soft.classes.to_numpy(), label)
    expanded = -(weight * np.log(predicted[rows, code])).sum()
    p = np.where(soft.p > least, soft.p, 0)
    p /= p.sum(axis=1, keepdims=True)
    assert expanded == pytest.approx(-(p * np.log(predicted)).sum())
    assert np.bincount(rows, weight) == pytest.approx(np.ones(len(soft)))


def test_a_classifier_trained_on_them_predicts_the_posterior(result):
    """With one indicator for every task, an unregularised regression must reproduce p itself."""
    soft = result.soft_labels(result.tasks[:10])
    rows, label, weight = soft.expand(0)
    model = LogisticRegression(C=1e6, max_iter=5000).fit(np.eye(10)[rows], label, sample_weight=weight)
    assert model.predict_proba(np.eye(10)) == pytest.approx(soft.p, abs=0.01)


def test_wrong_arguments_are_refused(result):
    with pytest.raises(cw.ParameterError, match="least must be from 0"):
        result.soft_labels().expand(0.9)
    numbers = cw.simulate.scenario("numbers_constants", tasks=20, seed=1).votes
    with pytest.raises(cw.ParameterError, match="soft_labels is not available for numbers"):
        cw.fit(numbers, "mean").soft_labels()


def test_the_columns_of_a_data_set(result):
    data = pl.DataFrame({"task": result.tasks[[3, 1]], "text": ["three", "one"]})
    table = dataset_table(result, data)
    assert table.columns == ["task", "label", "label_dist", "confidence", "n_votes", "text"]
    assert table["text"].to_list() == ["three", "one"]
    assert np.array_equal(np.array(table["label_dist"].to_list()), result.posterior[[3, 1]])
    assert np.array_equal(table["label"].to_numpy(), result.labels[[3, 1]])
    with pytest.raises(cw.DataError, match="no column 'task'"):
        dataset_table(result, data.drop("task"))
    with pytest.raises(cw.DataError, match="columns 'confidence'"):
        dataset_table(result, data.rename({"text": "confidence"}))


def test_a_missing_package_is_named(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(cw.MissingDependencyError, match="pip install datasets"):
        result.to_dataset()
