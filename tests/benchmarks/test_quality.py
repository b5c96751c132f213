"""What the quality benchmark computes itself: ranks, corrections, resamples, and its cache."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.quality import cells, page, rank, resample
from benchmarks.quality import planted as planted_crowds
from benchmarks.quality.score import hits, score
from statsmodels.stats.multitest import multipletests

import crowdwise as cw

from ..conftest import planted


def test_ranks_and_the_critical_difference():
    table = {"a": np.array([3.0, 3, 3, 3]), "b": np.array([2.0, 2, 3, 1]), "c": np.array([1.0, 1, 1, 2])}
    found = rank.ranking(table, higher_is_better=True)
    assert found.rank == pytest.approx({"a": 4.5 / 4, "b": 8.5 / 4, "c": 11 / 4})
    # Demšar's table: q = 2.343 for three methods at the 5 % level.
    assert found.critical == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 4)), rel=1e-3)
    assert rank.ranking(table, higher_is_better=False).rank["c"] == pytest.approx(5 / 4)


def test_holm_equals_statsmodels():
    p = np.random.default_rng(0).random(12) ** 3
    assert rank.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_paired_gains():
    rng = np.random.default_rng(1)
    base = rng.random(18)
    found = rank.against({"one": base + 0.1, "same": base + 0.1, "worse": base}, "one")
    assert found["same"] == (pytest.approx(0), 1.0)
    assert found["worse"][0] == pytest.approx(0.1)
    assert found["worse"][1] < 0.001


def test_labels_kept_per_task():
    votes, _, _ = planted(n=50, m=9, k=3, labels=6)
    few = resample.keep(votes, 4, np.random.default_rng(0))
    assert (few.labels_per_task == 4).all()
    pairs = set(zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), strict=True))
    assert set(zip(few.task.tolist(), few.worker.tolist(), few.label.tolist(), strict=True)) <= pairs
    again = resample.keep(votes, 4, np.random.default_rng(1))
    assert not np.array_equal(few.worker, again.worker)
    assert len(resample.keep(votes, 99, np.random.default_rng(0))) == len(votes)


def test_other_tasks_keep_their_labels_and_truth():
    votes, truth, _ = planted(n=60, m=9, k=3, labels=4)
    truth = np.where(np.arange(60) < 40, truth, -1)
    drawn, known = resample.draw_tasks(votes, truth, np.random.default_rng(3))
    assert (known >= 0).sum() == 40
    rows = {(*votes.votes[i], truth[i]) for i in range(60)}
    assert {(*drawn.votes[i], known[i]) for i in range(60)} <= rows


def test_other_workers_are_fewer():
    votes, _, _ = planted(n=60, m=20, k=3, labels=6)
    fewer = resample.draw_workers(votes, np.random.default_rng(3))
    assert (fewer.labels_per_worker > 0).sum() == 16
    assert (fewer.n_tasks, fewer.n_workers) == (60, 20)


def test_scores_are_those_of_evaluate():
    votes, truth, _ = planted(n=80, m=8, k=3, labels=3)
    result = cw.DawidSkene().fit(votes)
    known = np.where(np.arange(80) < 50, truth, -1)
    ours, theirs = score(result.posterior, known), cw.evaluate(result, dict(enumerate(truth[:50].tolist())))
    for name, value in ours.items():
        assert value == pytest.approx(getattr(theirs, "expected_accuracy" if name == "accuracy" else name)), name
    assert hits(result.labels, known)["accuracy"] == pytest.approx(theirs.accuracy)


def test_a_cell_is_run_once(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "HOME", tmp_path)
    ran = []
    for fresh in (False, False, True):
        found = cells.cell("kind", {"a": 1}, lambda: ran.append(1) or {"b": len(ran)}, fresh=fresh)
    assert (found, len(ran)) == ({"a": 1, "b": 2}, 2)
    assert cells.version("dawid_skene") != cells.version("one_coin")


def made_up(methods, sets, **columns):
    """Rows with random scores."""
    rng = np.random.default_rng(0)
    rows = [{"method": m, "set": s, "seed": i} for m in methods for s in sets for i in range(2)]
    scores = ("accuracy", "log_loss", "ece", "cpu", "coverage")
    return pl.DataFrame([{**row, **dict.fromkeys(scores, rng.random()), "error": None, **columns} for row in rows])


def test_the_page_is_made_of_its_rows():
    sets, methods = ("dog", "rte", "web"), resample.contenders()
    fits = made_up(methods, [*sets, "hs_brexit"], side="crowdwise")
    failed = {"side": "crowd-kit", "method": "KOS", "set": "web", "seed": 0, "error": "ValueError: two classes"}
    ran = {"side": "crowd-kit", "method": "KOS", "set": "dog", "seed": 0, "accuracy": 0.5}
    others = {kind: made_up(methods, sets) for kind in ("tasks", "workers")}
    kept = pl.concat([made_up(methods, sets, kept=k) for k in resample.KEPT])
    rows = {
        "fits": pl.concat([fits, pl.DataFrame([failed, ran])], how="diagonal_relaxed"),
        "redundancy": kept,
        "planted": made_up(planted_crowds.contenders(), ["x"], labels=3),
        **others,
    }
    text = page.page(rows, sets, "the end", [("date", "today")])
    mean = fits.filter((pl.col("method") == "wawa") & pl.col("set").is_in(sets))["accuracy"].mean()
    assert f"| wawa | {mean:.4f} |" in text
    assert "| crowd-kit KOS | 1 | 0.5000 (" in text
    assert "web: ValueError: two classes" in text
    assert "hs_brexit" in text
    assert text.count("\n## ") == 7
    assert text.endswith("the end")
