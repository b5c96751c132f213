"""Judges and raters where there is no single truth."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.judges.soft import soft


@pytest.fixture(scope="module")
def raters():
    """Forty raters of two groups who differ, and two judges: one says what people say, one says anything."""
    rng = np.random.default_rng(0)
    n, m = 80, 40
    taste = rng.random(n)
    group = np.arange(m) % 2
    label = (rng.random((n, m)) < np.clip(taste[:, None] + 0.25 * (group - 0.5), 0, 1)).astype(int)
    judges = np.column_stack([(taste > 0.5).astype(int), rng.integers(2, size=n)])
    names = [*(f"r{i}" for i in range(m)), "good", "bad"]
    votes = cw.Annotations.from_matrix(np.column_stack([label, judges]), workers=names)
    about = {"worker": names, "kind": ["human"] * m + ["model"] * 2, "group": [*("ab"[g] for g in group), None, None]}
    return votes.about(workers=pl.DataFrame(about))


def test_distributions_are_of_people_alone(raters):
    found = soft(raters)
    assert found.result.method == "subjective"
    assert found.result.labels_per_task.tolist() == [40] * 80
    assert found.scores.shares < found.scores.pooled
    assert found.scores.shares <= found.scores.raw


def test_judges_are_scored_against_people(raters):
    loss = dict(soft(raters).scores.judges.select("judge", "log_loss").iter_rows())
    assert loss["good"] < loss["bad"]


def test_groups_of_raters(raters):
    found = soft(raters, "group", seed=1)
    row = found.groups.filter((pl.col("group") == "b") & (pl.col("class") == "1")).row(0, named=True)
    assert row["difference"] > 0.1
    assert row["p_adjusted"] < 0.05
    assert set(found.tasks.columns) == {"group", "task", "divergence", "p", "p_adjusted"}


def test_an_unknown_column_is_named(raters):
    with pytest.raises(cw.DataError, match="'age'"):
        soft(raters, "age")


def test_groups_too_small_to_compare_are_refused(raters):
    tiny = raters.about(workers=pl.DataFrame({"worker": ["r0", "r1"], "team": ["x", "y"]}))
    with pytest.raises(cw.DataError, match="5 raters"):
        soft(tiny, "team")


def test_ratings_have_a_mean_too():
    rng = np.random.default_rng(2)
    label = np.clip(rng.integers(1, 4, size=(60, 20)) + (np.arange(20) < 10), 1, 5)
    names = [f"r{i}" for i in range(20)]
    votes = cw.Annotations.from_matrix(label, workers=names)
    votes = votes.about(workers=pl.DataFrame({"worker": names, "g": ["x"] * 10 + ["y"] * 10}))
    found = soft(votes, "g").groups.filter(pl.col("class") == "mean")
    assert found.filter(pl.col("group") == "x")["difference"][0] == pytest.approx(1, abs=0.15)
