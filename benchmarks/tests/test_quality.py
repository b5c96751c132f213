"""What the quality benchmark computes itself: ranks, corrections, resamples, and its cache."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.multitest import multipletests

import crowdwise as cw
from benchmarks.quality import cells, default, default_page, gold, page, rank, resample, risk
from benchmarks.quality import planted as planted_crowds
from benchmarks.quality.rows import COVERAGES, risk_at, scored
from benchmarks.quality.score import hits, score
from tests.conftest import planted


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


def test_risk_among_the_surest():
    sure = np.repeat([0.9, 0.5], 50)
    wrong = np.r_[np.zeros(50), np.tile([0.0, 1.0], 25)]
    found = risk_at(sure, wrong)
    assert found[:5] == (0.0,) * 5
    assert found[5] == pytest.approx(0.5 * 10 / 60)  # ten of the equally sure ones, half of them wrong
    assert found[-1] == pytest.approx(wrong.mean())
    assert risk_at(sure, wrong[np.r_[0:50, 99:49:-1]]) == pytest.approx(found)


def test_the_default_is_run_and_its_page_written(tmp_path, monkeypatch):
    """The whole command on two small sets and two planted scenarios."""
    names = ("quiz_science", "headlines")
    crowds = {name: planted(n=40, m=8, k=3, labels=3, seed=i)[:2] for i, name in enumerate(names)}
    real = {name: default.sets.Real(name, votes, truth) for name, (votes, truth) in crowds.items()}
    table = default.ConfidenceTable(0.15, 0.0, 0.15, 1.0)
    monkeypatch.setattr(cells, "HOME", tmp_path / "cells")
    monkeypatch.setattr(default.sets, "load", real.__getitem__)
    monkeypatch.setattr(default.cw.datasets, "INDEPENDENT", names)
    monkeypatch.setattr(default, "pools", list)
    monkeypatch.setattr(default, "tables_without", lambda _: {cw.datasets.family(name): table for name in names})
    monkeypatch.setattr(default, "SIZES", ((60, 8, 3, 3),))
    monkeypatch.setattr(default, "SEEDS", range(400, 401))
    monkeypatch.setattr(default, "DEMO_SEEDS", range(10, 11))
    monkeypatch.setattr(default, "SINGLE", ("wawa",))
    monkeypatch.setattr(
        default.simulate, "SCENARIOS", {n: default.simulate.SCENARIOS[n] for n in ("one_coin", "mixed")}
    )
    monkeypatch.setattr(default, "PAGE", tmp_path / "default.md")
    monkeypatch.setattr(default.halves, "rows_of", lambda stem: tmp_path / f"{stem}.parquet")
    monkeypatch.setattr(risk, "IMAGE", tmp_path / "risk.svg")
    monkeypatch.setattr("sys.argv", ["default"])
    default.main()
    text = (tmp_path / "default.md").read_text()
    assert "2 open sets, families left out" in text
    assert "| mean (worst) |" in text
    assert "](gold.md)" in text
    assert "| wawa |" not in text.partition("## The best single method")[0]
    assert (tmp_path / "risk.svg").read_text().count("<polyline") == 2 * len(default.METHODS)
    assert len(list((tmp_path / "cells" / "default").iterdir())) == 2 * 5 + 2 * 2 + 2 * 6 + 5


def test_the_best_single_method_in_hindsight():
    def row(crowd, method, accuracy):
        return default.Row(crowd, method, 10, accuracy, 0.5, 0.1, 0.8, 0.5, 0.5, 0.05)

    every = {
        "one": [row("a", "adaptive", 0.8), row("a", "committee", 0.95), row("a", "wawa", 0.9)],
        "two": [row("b", "adaptive", 0.9), row("b", "committee", 0.5), row("b", "wawa", 0.8)],
    }
    lines = default_page.hindsight(every)
    assert lines[0] == ["a", "0.800", "wawa", "0.900", "-10.0"]
    assert lines[-1][-1] == "+0.00 (-10.0)"


def test_gold_reads_confidence_learnt_without_the_family(monkeypatch):
    votes, truth, _ = planted(n=60, m=8, k=3, labels=3)
    table = default.ConfidenceTable(0.5, -2.0, 0.0, 1.0)  # hardly any confidence
    monkeypatch.setattr(gold.sets, "load", lambda name: default.sets.Real(name, votes, truth))
    monkeypatch.setattr(gold.cw.datasets, "INDEPENDENT", ("rte",))
    monkeypatch.setattr(gold, "pools", list)
    monkeypatch.setattr(gold, "tables_without", lambda _: {cw.datasets.family("rte"): table})
    monkeypatch.setattr(gold.cw, "Adaptive", cw.classes.Committee)
    [(name, confidence, right)] = list(gold.real())
    assert name == "rte"
    assert confidence.mean() < cw.classes.Committee().fit(votes).confidence.mean() - 0.1
    assert right.mean() == pytest.approx((cw.classes.Committee().fit(votes).labels == truth).mean())


def test_a_score_of_a_class_that_nobody_named():
    votes, truth, _ = planted(n=30, m=6, k=3, labels=3)
    found = scored("x", "vote", cw.MajorityVote().fit(votes), np.where(np.arange(30) == 0, 3, truth))
    assert found.accuracy <= 1 - 1 / 30 + 1e-12
    assert len(found.risk) == len(COVERAGES)
