"""crowdwise compare and the parameters and priors of aggregate."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw

from ..conftest import planted

FEW = ("-m", "majority_vote", "-m", "dawid_skene")


@pytest.fixture
def files(tmp_path):
    """votes.csv and truth.csv of a planted crowd of three classes."""
    votes, truth, _ = planted(n=80, m=8, k=3, labels=4, seed=3)
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    pl.DataFrame({"task": range(80), "label": truth}).write_csv(tmp_path / "truth.csv")
    pl.DataFrame({"task": range(20), "label": truth[:20]}).write_csv(tmp_path / "gold.csv")
    return tmp_path


@pytest.fixture
def works(crowdwise_cli):
    def run(*arguments):
        code, out, err = crowdwise_cli(*arguments)
        assert code == 0, err
        return out, err

    return run


def test_two_methods_side_by_side(works, files):
    out, _ = works("compare", files / "votes.csv", *FEW)
    for words in ("majority_vote", "held-out", "Share of equal labels", "Most disputed tasks"):
        assert words in out
    assert "accuracy" not in out
    out, _ = works("compare", files / "votes.csv", *FEW, "--truth", files / "truth.csv")
    assert "accuracy" in out
    assert "95 % interval" in out


def test_what_cannot_run_is_listed_with_its_reason(works, files):
    found = json.loads(
        works("compare", files / "votes.csv", *FEW, "-m", "sml", "-m", "gold_majority_vote", "--json")[0]
    )
    rows = {row["method"]: row for row in found["methods"]}
    assert list(rows) == ["majority_vote", "dawid_skene", "sml", "gold_majority_vote"]
    assert "two classes" in rows["sml"]["reason"]
    assert "needs gold" in rows["gold_majority_vote"]["reason"]
    assert rows["majority_vote"]["reason"] is None
    assert rows["sml"]["cpu_seconds"] is None
    assert set(found["agreement"]) == {"majority_vote", "dawid_skene"}
    assert "Could not run" in works("compare", files / "votes.csv", *FEW, "-m", "sml")[0]


def test_json_holds_scores_and_disputes(works, files):
    arguments = ("compare", files / "votes.csv", *FEW, "--truth", files / "truth.csv", "--json", "--disputed", 3)
    found = json.loads(works(*arguments)[0])
    for row in found["methods"]:
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
        assert row["held_out"] < 0 < row["held_out_error"]
    assert found["agreement"]["dawid_skene"]["dawid_skene"] == 1
    assert len(found["disputed"]) <= 3
    first = found["disputed"][0]
    assert first["labels"]["majority_vote"] != first["labels"]["dawid_skene"]
    assert first["disagreement"] == 1


def test_the_folder_holds_three_tables(works, files, fails):
    run = files / "run"
    works("compare", files / "votes.csv", *FEW, "--truth", files / "truth.csv", "-o", run)
    assert {path.name for path in run.iterdir()} == {"methods.csv", "agreement.csv", "tasks.csv"}
    tasks = pl.read_csv(run / "tasks.csv")
    assert tasks.columns == ["task", "n_labels", "disagreement", "true", "majority_vote", "dawid_skene"]
    assert len(tasks) == 80
    assert tasks["disagreement"].is_sorted(descending=True)
    fails("compare", files / "votes.csv", *FEW, "-o", run, words="holds methods.csv already | --force")
    works("compare", files / "votes.csv", *FEW, "-o", run, "--force")


def test_wrong_names_and_truths_are_one_line(fails, files):
    fails("compare", files / "votes.csv", "-m", "majority_voting", words="no method 'majority_voting' | majority_vote?")
    (files / "truth.csv").write_text("task,label\nx,1\n")
    fails("compare", files / "votes.csv", *FEW, "--truth", files / "truth.csv", words="do the task ids match")
    fails("compare", files / "votes.csv", *FEW, "--folds", 1, words="folds must be 0")
    fails("compare", files / "votes.csv", "-m", "sml", words="two classes")


@pytest.mark.slow
@pytest.mark.filterwarnings("always::crowdwise.core.errors.CrowdwiseWarning")
def test_all_methods_are_the_default(works, files):
    out, _ = works("compare", files / "votes.csv", "--gold", files / "gold.csv", "--folds", 0, "--json")
    found = json.loads(out)
    lacking = {"order", "links"}  # which this file has not
    fit = [name for name in cw.methods("classes") if not lacking & cw.registry.card(name).needs]
    assert [row["method"] for row in found["methods"]] == fit
    for row in found["methods"]:
        needs = cw.registry.card(row["method"]).needs
        assert (row["reason"] is not None) == bool(needs & {"binary", "predictions"}), row["method"]


# ------------------------------------------------------------------------------------------------ aggregate
def test_a_prior_from_a_folder_or_its_table(works, files):
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "-o", files / "old")
    arguments = ("aggregate", files / "votes.csv", "-m", "hierarchical")
    folder = works(*arguments, "--prior", files / "old")[0]
    table = works(*arguments, "--prior", files / "old" / "confusion.csv")[0]
    assert folder != works(*arguments)[0]
    assert folder == table


def test_bad_priors_are_one_line(fails, files):
    prior = files / "prior.csv"
    start = ("aggregate", files / "votes.csv", "-m")
    fails(*start, "dawid_skene", "--prior", files / "truth.csv", words="truth.csv has no column 'worker'")
    prior.write_text("worker,true,observed,n\n1,0,0,many\n")
    fails(*start, "dawid_skene", "--prior", prior, words="prior.csv | 'n' must hold numbers")
    prior.write_text("worker,true,observed,n\nnobody,0,0,3\n")
    fails(*start, "dawid_skene", "--prior", prior, words="none of the prior's workers")
    prior.write_text("worker,true,observed,n\n1,0,0,3\n")
    fails(*start, "glad", "--prior", prior, words="glad cannot use prior")


@pytest.mark.parametrize("text", ["(.2,.3,.5)", "[0.2, 0.3, 0.5]", ".2,.3,.5"])
def test_lists_as_parameters(works, files, text):
    out, _ = works("aggregate", files / "votes.csv", "-m", "mean_field", "-p", f"class_prior={text}", "--json")
    assert json.loads(out)["params"]["class_prior"] == [0.2, 0.3, 0.5]


def test_names_in_lists_and_bad_lists(works, fails, files):
    start = ("aggregate", files / "votes.csv")
    out, _ = works(*start, "-m", "committee", "-p", "members=('bwa', hierarchical)", "--json")
    assert json.loads(out)["params"]["members"] == ["bwa", "hierarchical"]
    fails(*start, "-m", "mean_field", "-p", "class_prior=(a,b)", words="a list such as (0.5,0.5) of positive numbers")
    for text in ("()", "((1,2)", ""):
        fails(*start, "-m", "mean_field", "-p", f"class_prior={text}", words="class_prior must be a list such as")


# ------------------------------------------------------------------------------------------------ gold is not scored
@pytest.mark.slow
def test_gold_of_the_fit_is_never_scored(works, fails, files):
    run = files / "run"
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "--gold", files / "gold.csv", "-o", run)
    out, err = works("evaluate", run, "--truth", files / "truth.csv")
    assert "of 60 tasks" in out
    assert "20 tasks in the truth were gold in the fit and are not counted" in err
    fails("evaluate", run, "--truth", files / "gold.csv", words="all 20 tasks in the truth were gold in the fit")
    both = ("--gold", files / "gold.csv", "--truth", files / "truth.csv", "--folds", 0)
    _, err = works("compare", files / "votes.csv", *FEW, *both)
    assert "20 tasks in the truth were gold in the fits and are not scored" in err
    found = json.loads(works("compare", files / "votes.csv", *FEW, *both, "--json")[0])
    assert (found["n_gold_left_out"], found["methods"][0]["n"]) == (20, 60)
    found = json.loads(works("evaluate", run, "--truth", files / "truth.csv", "--json")[0])
    assert (found["n_gold_left_out"], found["n"]) == (20, 60)


def test_gold_is_not_scored_in_a_table_that_lies_with_its_run(works, fails, files):
    run = files / "run"
    works("aggregate", files / "votes.csv", "-m", "dawid_skene", "--gold", files / "gold.csv", "-o", run)
    table = run / "labels.csv"
    out, err = works("evaluate", table, "--truth", files / "truth.csv")
    assert "of 60 tasks" in out
    assert "20 tasks in the truth were gold in the run of this table and are not counted" in err
    ours, its = (json.loads(works("evaluate", x, "--truth", files / "truth.csv", "--json")[0]) for x in (table, run))
    assert (ours["n_gold_left_out"], ours["n"], ours["confusion"]) == (20, 60, its["confusion"])
    fails("evaluate", table, "--truth", files / "gold.csv", words="all 20 tasks in the truth were gold in the fit")
    (files / "elsewhere.csv").write_bytes(table.read_bytes())  # no run beside it: nobody can tell
    assert "of 80 tasks" in works("evaluate", files / "elsewhere.csv", "--truth", files / "truth.csv")[0]


def test_progress_goes_to_stderr(works, files, monkeypatch):
    from crowdwise.cli import progress

    monkeypatch.setattr(progress, "LOG_INTERVAL", 0.0)
    out, err = works("compare", files / "votes.csv", *FEW, "--json")
    assert "compare: 0 of 2 done, at majority_vote" in err
    assert "compare: 1 of 2 done, at dawid_skene" in err
    assert json.loads(out)
