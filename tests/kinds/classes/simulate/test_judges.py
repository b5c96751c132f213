"""Planted judges hold what they promise, and the tools for judges find it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core.errors import ParameterError
from crowdwise.judges.maths import effective_number, error_correlation
from crowdwise.kinds.classes.simulate.judges import ROUND, Panel, draw_verdicts


@pytest.mark.parametrize("name", list(simulate.JUDGE_SCENARIOS))
def test_every_scenario_at_every_size(name):
    for size in ({}, {"tasks": 30, "workers": 10, "labels": 3}, {"tasks": 1, "workers": 1}, {"tasks": 3, "workers": 2}):
        panel = simulate.scenario(name, seed=1, **{"tasks": 60, **size})
        assert panel.votes.n_workers == size.get("workers", 9)
        assert panel.truth_table().height == panel.votes.n_tasks
        again = simulate.scenario(name, seed=1, **{"tasks": 60, **size})
        assert panel.rows.equals(again.rows)
    few = simulate.scenario(name, tasks=40, workers=10, labels=3, seed=2)
    assert few.rows.group_by("task").agg(pl.col("worker").n_unique())["worker"].unique().to_list() == [3]


def test_families_err_together_and_independent_judges_do_not():
    rng = np.random.default_rng(1)
    for families, low, high in (((1,) * 9, 8.5, 9.5), ((9,), 1.0, 2.0), ((3, 3, 3), 3.0, 4.5)):
        drawn = draw_verdicts(Panel(families=families, hidden=0.8, report=0.97), 20_000, rng)
        wrong = (drawn.opinion != drawn.truth[:, None]).astype(float)
        assert low <= effective_number(error_correlation(wrong).r) <= high


def test_shares_are_those_that_were_asked_for():
    drawn = draw_verdicts(Panel((1,), 3, hidden=0.8, report=0.9), 100_000, 0)
    assert (drawn.opinion[:, 0] == drawn.truth).mean() == pytest.approx(0.8 * 0.9 + 0.2 * 0.1 / 2, abs=0.005)
    drawn = draw_verdicts(Panel((1,) * 3, 4, hidden=1.0, report=1.0, hard=0.3, lured=0.6), 100_000, 1)
    assert drawn.hard.mean() == pytest.approx(0.3, abs=0.01)
    wrong = drawn.opinion != drawn.truth[:, None]
    assert wrong[drawn.hard].mean() == pytest.approx(0.6, abs=0.01)
    assert not wrong[~drawn.hard].any()
    both = wrong[:, 0] & wrong[:, 1]
    assert (drawn.opinion[both, 0] == drawn.opinion[both, 1]).all()  # one wrong answer attracts everybody


def test_repeats_waver_as_often_as_said_and_lost_verdicts_are_null():
    drawn = draw_verdicts(Panel((1, 1), 3, repeats=4, firm=0.8, lost=0.1), 20_000, 2)
    assert drawn.rows["label"].null_count() / len(drawn.rows) == pytest.approx(0.1, abs=0.005)
    kept = drawn.rows.drop_nulls()
    own = drawn.opinion[kept["task"].to_numpy(), kept["worker"].to_numpy()]
    assert (kept["label"].to_numpy() == own).mean() == pytest.approx(0.8, abs=0.005)


def test_the_checks_find_what_was_planted():
    panel = simulate.scenario("judges_orders", tasks=3000, seed=3)
    gold = panel.truth_table().sample(300, seed=1)
    found = cw.judges(panel.votes, gold=gold)
    table = panel.worker_table().join(found.bias.rename({"judge": "worker"}), on="worker")
    # Two orders of an opinion that is shared by both: the estimate is close to, not the same as, the planted log odds.
    assert np.corrcoef(table["position"], table["effect"])[0, 1] > 0.95
    assert abs(table.sort("position")["effect"][0]) < 0.15
    assert found.n_eff.value < 9


def test_stated_confidences_are_round_too_high_and_rise_with_being_right():
    panel = simulate.scenario("judges_confident", tasks=4000, seed=4)
    rows = panel.rows.join(panel.truth_table().rename({"label": "true"}), on="task")
    assert set(rows["confidence"]) <= set(ROUND.tolist())
    right = rows.with_columns(hit=pl.col("label") == pl.col("true")).group_by("confidence").agg(pl.col("hit").mean())
    by = right.sort("confidence")
    assert by["hit"].is_sorted()
    assert (rows["confidence"].mean() - (rows["label"] == rows["true"]).mean()) > 0.05
    said = cw.judges(panel.votes, gold=panel.truth_table().head(400))
    assert said.table.height == 9


@pytest.mark.slow
def test_files_go_through_the_command_line(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from crowdwise.cli import app

    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke(app, ["simulate", "judges_panel", "--tasks", "200", "-o", "panel"])
    assert run.exit_code == 0, run.output
    told = ["judges", "panel/labels.csv", "--gold", "gold.csv", "--families", "panel/workers.csv", "--prices",
            "panel/prices.csv"]  # fmt: skip
    pl.read_csv("panel/truth.csv").head(80).write_csv("gold.csv")
    run = CliRunner().invoke(app, told)
    assert run.exit_code == 0, run.output
    assert "9 judges count as" in run.output


def test_what_does_not_go_is_said():
    with pytest.raises(ParameterError, match="does not apply to pairs"):
        simulate.scenario("judges_orders", classes=3)
    with pytest.raises(ParameterError, match="does not apply to judges_families"):
        simulate.scenario("judges_families", features=2)
    with pytest.raises(ParameterError, match="need as many different workers"):
        simulate.scenario("judges_families", workers=3, labels=4)
