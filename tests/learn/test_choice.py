"""Choosing the training method without truth."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.core.errors import ParameterError
from crowdwise.learn import choose


def crowd_of_liars(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three workers: one good, two who say class 0 far too often."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    x = np.column_stack([2.0 * truth - 1, rng.normal(size=n)]) + rng.normal(0, 0.5, (n, 2))
    good = np.where(rng.random(n) < 0.9, truth, 1 - truth)
    lazy = [np.where(rng.random(n) < 0.85, 0, truth) for _ in range(2)]
    return x, np.column_stack([good, *lazy])


def test_the_method_that_models_workers_is_chosen_over_counting_votes():
    x, votes = crowd_of_liars()
    choice = choose(
        x, votes, methods=("vanilla", "agg_net"), folds=3, net="linear", settings={"epochs": 15, "lr": 0.02}
    )
    assert choice.best == "agg_net"
    assert choice.table["method"].to_list() == ["agg_net", "vanilla"]
    assert (choice.table["standard_error"] > 0).all()
    assert "agg_net predicts held-out labels best" in choice.reason


def test_one_fold_is_refused():
    with pytest.raises(ParameterError, match="at least 2"):
        choose(np.zeros((4, 1)), np.zeros((4, 2)), folds=1)


def test_without_labels_kept_aside_there_is_nothing_to_choose_by():
    x, votes = crowd_of_liars(60)
    with pytest.raises(ParameterError, match="validation must be above 0"):
        choose(x, votes, methods=("vanilla", "agg_net"), folds=2, settings={"validation": 0, "epochs": 1})


def test_a_refit_does_not_hide_the_scores():
    x, votes = crowd_of_liars(60)
    both = [
        choose(x, votes, methods=("vanilla", "agg_net"), folds=2, net="linear", settings={"epochs": 3, "refit": refit})
        for refit in (False, True)
    ]
    assert both[1].table["score"].is_not_nan().all()
    assert both[0].table.equals(both[1].table)
