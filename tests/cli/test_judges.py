"""crowdwise judges, and what aggregate does for judges: tables, files, JSON, errors."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from tests.crowds import judges as planted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Nine judges in three families, 300 tasks; verdicts, gold, families, prices, covariates."""
    path = tmp_path_factory.mktemp("judges")
    truth, label = planted.family(300, np.random.default_rng(0))
    names = [f"judge-{j}" for j in range(9)]
    votes = cw.Annotations.from_matrix(label, workers=names)
    votes.to_frame().write_csv(path / "votes.csv")
    table = pl.DataFrame({"task": np.arange(300), "label": truth})
    table.head(90).write_csv(path / "gold.csv")
    table.head(5).write_csv(path / "little.csv")
    table.head(90).with_columns(annotator=pl.lit("judge-0")).write_csv(path / "by_model.csv")
    family = [f"f{f}" for f in planted.FAMILY]
    pl.DataFrame({"worker": names, "family": family, "kind": ["model"] * 9}).write_csv(path / "about.csv")
    pl.DataFrame({"worker": names, "family": family}).write_csv(path / "families.csv")
    pl.DataFrame({"worker": [*names, "person"], "price": [*np.arange(1, 10) / 100, 1.0]}).write_csv(path / "prices.csv")
    pl.DataFrame({"task": np.arange(300), "length": np.arange(300) % 17}).write_csv(path / "lengths.csv")
    return path


@pytest.mark.slow
def test_tables_and_files(crowdwise_cli, folder, tmp_path):
    out = tmp_path / "out"
    code, stdout, stderr = crowdwise_cli(
        "judges", folder / "votes.csv", "--gold", folder / "gold.csv", "--families", folder / "families.csv",
        "--prices", folder / "prices.csv", "--covariates", folder / "lengths.csv", "-o", out,
    )  # fmt: skip
    assert code == 0, stderr
    assert {p.name for p in out.iterdir()} == {"judges.csv", "pairs.csv", "bias.csv", "frontier.csv", "marginal.csv"}
    assert "9 judges count as" in stderr
    assert "Cost and quality of sets of judges" in stdout
    assert "next best spend" in stderr
    assert len(pl.read_csv(out / "pairs.csv")) == 36
    again = crowdwise_cli("judges", folder / "votes.csv", "-o", out)
    assert again[0] == 2
    assert "--force" in again[2]


@pytest.mark.slow
def test_json(crowdwise_cli, folder):
    code, out, _ = crowdwise_cli("judges", folder / "votes.csv", "--gold", folder / "gold.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["n_eff_low"] <= found["n_eff"] <= found["n_eff_high"]
    assert found["method"] == "judge_stack"
    assert len(found["judges"]) == 9
    assert found["frontier"]


def test_without_gold_it_is_at_most(crowdwise_cli, folder):
    code, _, err = crowdwise_cli("judges", folder / "votes.csv", "--about-workers", folder / "about.csv")
    assert code == 0
    assert "9 judges and no gold: they may err together; confidence is the share of families and nothing is" in err
    assert "9 judges count as at most" in err
    assert "gold needed" in err


def test_aggregate_takes_the_families_or_the_stack(crowdwise_cli, folder):
    votes, about = folder / "votes.csv", ("--about-workers", folder / "about.csv")
    code, out, err = crowdwise_cli("aggregate", votes, *about, "--json")
    assert (code, json.loads(out)["method"]) == (0, "family_vote")
    assert json.loads(out)["warning"].startswith("9 judges and no gold")
    _, _, err = crowdwise_cli("aggregate", votes, *about)
    assert "9 judges and no gold" in err
    _, out, _ = crowdwise_cli("aggregate", votes, *about, "--gold", folder / "gold.csv", "--json")
    assert json.loads(out)["method"] == "judge_stack"
    _, out, _ = crowdwise_cli("aggregate", votes, *about, "-m", "dawid_skene", "--json")
    assert json.loads(out)["method"] == "dawid_skene"


def test_aggregate_subjective(crowdwise_cli, fails, folder):
    code, out, _ = crowdwise_cli("aggregate", folder / "votes.csv", "--subjective", "--json")
    found = json.loads(out)
    assert (code, found["method"], found["subjective"]) == (0, "subjective", True)
    fails("aggregate", folder / "votes.csv", "--subjective", "-m", "wawa", words="--subjective | wawa")


def test_judges_subjective(crowdwise_cli, folder, tmp_path):
    names = [f"judge-{j}" for j in range(9)]
    teams = tmp_path / "teams.csv"
    table = {"worker": names, "kind": ["human"] * 8 + ["model"], "team": [*"aaaabbbb", None]}
    pl.DataFrame(table).write_csv(teams)
    code, out, err = crowdwise_cli("judges", folder / "votes.csv", "--about-workers", teams, "--subjective", "--json")
    assert code == 0, err
    assert [row["judge"] for row in json.loads(out)["judges"]] == ["judge-8"]


def test_gold_that_a_model_wrote(fails, folder):
    fails("judges", folder / "votes.csv", "--about-workers", folder / "about.csv", "--gold", folder / "by_model.csv",
          words="gold was written by judge-0 (kind model); gold must come from people")  # fmt: skip


def test_little_gold(fails, folder):
    fails("judges", folder / "votes.csv", "--gold", folder / "little.csv", words="5 gold labels are too few")
    fails("aggregate", folder / "votes.csv", "-m", "judge_stack", "--gold", folder / "little.csv",
          words="at least 10 gold labels | there are 5")  # fmt: skip


def test_tables_that_do_not_suit(fails, folder, tmp_path):
    votes, gold = folder / "votes.csv", ("--gold", folder / "gold.csv")
    fails("judges", votes, "--families", folder / "gold.csv", words="worker and family")
    (tmp_path / "f.csv").write_text("worker,family\nnobody,f\n")
    fails("judges", votes, "--families", tmp_path / "f.csv", words="do the ids match")
    (tmp_path / "p.csv").write_text("worker,price\njudge-0,cheap\n")
    fails("judges", votes, *gold, "--prices", tmp_path / "p.csv", words="no price of at least 0")
    (tmp_path / "c.csv").write_text("task,length\nzz,1\n")
    fails("judges", votes, *gold, "--covariates", tmp_path / "c.csv", words="has nothing about these tasks")
    fails("judges", votes, "--groups", "team", words="--subjective")


def test_other_kinds_are_refused(fails, tmp_path):
    (tmp_path / "n.csv").write_text("task,worker,value\n1,a,2.5\n1,b,3.5\n")
    fails("judges", tmp_path / "n.csv", "--kind", "numbers", words="judges is not available for numbers")


def test_orders_that_are_none(fails, tmp_path):
    (tmp_path / "v.csv").write_text("task,worker,label,order\n1,j,A,left\n2,j,B,right\n")
    fails("judges", tmp_path / "v.csv", words="write ab or ba")


def test_predictions_that_are_missing(fails, folder):
    fails("aggregate", folder / "votes.csv", "-m", "surprisingly_popular", words="needs each worker's prediction")
