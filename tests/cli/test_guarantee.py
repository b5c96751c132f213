"""crowdwise estimate, accept and fair: what they print, write and refuse."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from tests.evaluation.guarantee.made import judged, some


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """votes.csv of one judge, truth, random gold, tasks with a topic; a run without files of accept."""
    path = tmp_path_factory.mktemp("guarantee")
    votes, truth = judged(n=1500, error=0.1, seed=2)
    votes.to_frame().write_csv(path / "votes.csv")
    table(truth).write_csv(path / "truth.csv")
    table(some(truth, 300)).write_csv(path / "gold.csv")
    topics = pl.DataFrame({"task": sorted(truth), "topic": ["ab"[i % 2] for i in range(1500)], "x": 1})
    topics.write_csv(path / "tasks.csv")
    return path


@pytest.fixture
def run(folder, tmp_path, crowdwise_cli):
    """A fresh run folder."""
    out = tmp_path / "run"
    done = (
        "aggregate",
        folder / "votes.csv",
        "-m",
        "majority_vote",
        "--allow",
        "one-worker",
        "-o",
        out,
        "--about-tasks",
        folder / "tasks.csv",
    )
    assert crowdwise_cli(*done)[0] == 0
    return out


def table(gold):
    return pl.DataFrame({"task": list(gold), "label": list(gold.values())})


def truth_of(folder):
    return dict(pl.read_csv(folder / "truth.csv").rows())


def gold_file(path, gold, **more):
    table(gold).with_columns(**{name: pl.lit(value) for name, value in more.items()}).write_csv(path)
    return path


# ---------------------------------------------------------------- estimate
def test_estimate_prints_one_line(crowdwise_cli, folder):
    code, out, err = crowdwise_cli(
        "estimate",
        folder / "votes.csv",
        "--gold",
        folder / "gold.csv",
        "--metric",
        "share:toxic",
        "--sampling",
        "random",
    )
    assert (code, err) == (0, "")
    assert out.startswith('share of "toxic": 0.')
    assert out.count("\n") == 1
    for words in (
        "95 %",
        "double sampling from 300 gold labels",
        "the verdicts alone say",
        "times as many gold labels",
    ):
        assert words in out


def test_estimate_in_json_by_group_and_saved(crowdwise_cli, folder, run):
    asked = (
        "estimate",
        run,
        "--gold",
        folder / "gold.csv",
        "--metric",
        "accuracy",
        "--sampling",
        "random",
        "--by",
        "topic",
    )
    code, out, _ = crowdwise_cli(*asked, "--json", "-o", run)
    told = json.loads(out)
    assert code == 0
    assert set(told["groups"]) == {"a", "b"}
    assert told["low"] < told["value"] < told["high"]
    assert json.loads((run / "estimates.json").read_text())[0]["of"] == "accuracy"
    code, out, _ = crowdwise_cli(*asked)
    assert "interval" in out
    assert crowdwise_cli(*asked, "-o", run)[0] == 2
    assert crowdwise_cli(*asked, "-o", run, "--force")[0] == 0
    assert len(json.loads((run / "estimates.json").read_text())) == 1


def test_gold_that_is_not_random(fails, folder, tmp_path):
    rng, truth = np.random.default_rng(0), truth_of(folder)
    gold = {}
    for label in ("fine", "toxic"):
        mine = [t for t, each in truth.items() if each == label]
        gold |= {mine[i]: label for i in rng.permutation(len(mine))[:120]}
    path = gold_file(tmp_path / "balanced.csv", gold)
    asked = ("estimate", folder / "votes.csv", "--gold", path, "--metric", "share:toxic")
    fails(
        *asked, "--sampling", "random",
        words="the gold sample is not random: it holds | % of verdict | , the tasks | give --sampling weights or "
        "by-truth, or draw gold with --draw",
    )  # fmt: skip
    fails(*asked, words="it is not stated how the gold was drawn")
    fails(*asked, "--sampling", "weights", words="column probability")
    accept = ("accept", folder / "votes.csv", "--gold", path)  # which takes no other sampling
    fails(*accept, words="not random | ); draw gold with --draw")


def test_gold_balanced_by_truth(crowdwise_cli, fails, folder, tmp_path):
    truth = truth_of(folder)
    gold = {t: truth[t] for t in list(truth) if truth[t] == "toxic"}
    gold = some(gold, 100) | some({t: v for t, v in truth.items() if v == "fine"}, 100)
    path = gold_file(tmp_path / "balanced.csv", gold)
    asked = ("--gold", path, "--metric", "share:toxic", "--sampling", "by-truth")
    code, out, _ = crowdwise_cli("estimate", folder / "votes.csv", *asked)
    assert code == 0
    assert "Rogan-Gladen" in out
    rng = np.random.default_rng(1)
    guess = pl.DataFrame({"task": list(truth), "worker": "judge-a", "label": rng.choice(["fine", "toxic"], len(truth))})
    guess.write_csv(tmp_path / "guess.csv")
    words = "judge-a may be no better than chance (TPR + TNR - 1 = | its verdicts cannot be corrected"
    fails("estimate", tmp_path / "guess.csv", *asked, words=words)


def test_a_verdict_without_gold(fails, folder, tmp_path):
    votes = pl.read_csv(folder / "votes.csv")
    fine = set(votes.filter(pl.col("label") == "fine")["task"])
    gold = some({t: v for t, v in truth_of(folder).items() if t in fine}, 150)
    path = gold_file(tmp_path / "fine.csv", gold)
    n = int((votes["label"] == "toxic").sum())
    fails(
        "estimate", folder / "votes.csv", "--gold", path, "--metric", "share:toxic", "--sampling", "within-verdict",
        words=f'no gold among the {n} tasks that judge-a calls "toxic"; draw some there',
    )  # fmt: skip


def test_gold_that_a_model_wrote(fails, folder, tmp_path):
    path = gold_file(tmp_path / "model.csv", some(truth_of(folder), 200), worker="gpt-x", kind="model")
    words = "gold was written by gpt-x (kind model); gold must come from people"
    asked = (folder / "votes.csv", "--gold", path)
    fails("estimate", *asked, "--metric", "accuracy", "--sampling", "random", words=words)
    fails("accept", *asked, words=words)
    fails("fairness", *asked, "--groups", folder / "tasks.csv", "--group", "topic", words=words)


def test_unknown_sampling_gives_a_point_only_if_asked(crowdwise_cli, fails, folder):
    asked = (
        "estimate",
        folder / "votes.csv",
        "--gold",
        folder / "gold.csv",
        "--metric",
        "share:toxic",
        "--sampling",
        "unknown",
    )
    fails(*asked, words="it is not stated how the gold was drawn | --force")
    code, out, _ = crowdwise_cli(*asked, "--force")
    assert code == 0
    assert "no interval" in out


@pytest.mark.slow
def test_two_systems_of_two_files_and_of_one(crowdwise_cli, fails, folder, tmp_path):
    other, _ = judged(n=1500, error=0.25, seed=2)
    frame = other.to_frame().with_columns(worker=pl.lit("judge-b"))
    frame.write_csv(tmp_path / "other.csv")
    asked = ("--gold", folder / "gold.csv", "--sampling", "random")
    told = ("estimate", folder / "votes.csv", "--against", tmp_path / "other.csv", *asked)
    code, out, err = crowdwise_cli(*told, "--metric", "accuracy")
    assert (code, err) == (0, "")
    assert out.startswith("accuracy of judge-a less that of judge-b: 0.")
    both = pl.concat([pl.read_csv(folder / "votes.csv"), pl.read_csv(tmp_path / "other.csv")], how="diagonal")
    both.write_csv(tmp_path / "both.csv")
    code, again, _ = crowdwise_cli("estimate", tmp_path / "both.csv", "--metric", "difference:judge-a,judge-b", *asked)
    assert (code, again) == (0, out)
    code, out, _ = crowdwise_cli(*told, "--against-gold", folder / "gold.csv", "--metric", "share:toxic", "--json")
    assert code == 0
    assert json.loads(out)["method"] == "double sampling of paired differences"
    fails(*told, "--metric", "share:toxic", words="is the same for both systems | --against-gold")
    fails(*told, "--metric", "accuracy", "--by", "topic", words="--by does not go with --against")
    fails(
        "estimate", tmp_path / "both.csv", "--metric", "difference:judge-a,x", *asked, words="'x' is not a worker here"
    )


# ---------------------------------------------------------------- accept
@pytest.mark.slow
def test_the_surest_tasks_of_a_committee(crowdwise_cli, fails, folder, tmp_path):
    rng, truth = np.random.default_rng(6), truth_of(folder)
    rows = [(t, w, label if rng.random() < p else "fine") for t, label in truth.items()
            for w, p in zip("abcd", (0.95, 0.9, 0.6, 0.5), strict=True)]  # fmt: skip
    pl.DataFrame(rows, ["task", "worker", "label"], orient="row").write_csv(tmp_path / "crowd.csv")
    asked = ("accept", tmp_path / "crowd.csv", "--gold", folder / "gold.csv", "--error", ".1")
    code, out, _ = crowdwise_cli(*asked)
    assert (code, "place" in out) == (0, True)
    code, out, _ = crowdwise_cli(*asked, "--surest", "confidence")
    assert (code, "place" in out) == (0, False)
    fails(*asked, "-m", "majority_vote", "--surest", "places", words="needs labels of adaptive or committee")


def test_draw_label_accept(crowdwise_cli, folder, run):
    code, out, err = crowdwise_cli("accept", run, "--draw", "250", "--seed", "3")
    assert (code, out) == (0, "")
    assert "250 tasks to label" in err
    assert json.loads((run / "draw.json").read_text())["seed"] == 3
    sample = pl.read_csv(run / "sample.csv")
    gold = sample.select("task").join(pl.read_csv(folder / "truth.csv"), on="task")
    gold.write_csv(run / "people.csv")
    code, out, err = crowdwise_cli("accept", run, "--gold", run / "people.csv", "--error", ".1")
    assert code == 0
    assert "of 1,500 tasks are accepted unseen. With probability at least 90 %" in out
    assert "void if" in err
    told = json.loads((run / "certificate.json").read_text())
    assert (told["sampling"], told["n_gold"], told["look"]) == ("random, drawn", 250, 1)
    accepted, ask = pl.read_csv(run / "accepted.csv"), pl.read_csv(run / "ask.csv")
    assert accepted.columns == ["task", "label", "confidence", "by"]
    assert len(accepted) + len(ask) == 1500
    code, out, _ = crowdwise_cli("accept", run, "--gold", run / "people.csv", "--error", ".1", "--force", "--json")
    assert json.loads(out)["n_accepted"] == told["n_accepted"]
    code, out, _ = crowdwise_cli("estimate", run, "--gold", run / "people.csv", "--metric", "share:toxic")
    assert code == 0  # the record says how the gold was drawn
    assert crowdwise_cli("accept", run, "--draw", "250")[0] == 2


def test_nothing_to_accept_is_no_error(crowdwise_cli, folder, tmp_path):
    rng, truth = np.random.default_rng(1), truth_of(folder)
    guess = pl.DataFrame({"task": list(truth), "worker": "j", "label": rng.choice(["fine", "toxic"], len(truth))})
    guess.write_csv(tmp_path / "guess.csv")
    code, out, _ = crowdwise_cli(
        "accept", tmp_path / "guess.csv", "--gold", folder / "gold.csv", "-o", tmp_path / "out"
    )
    assert code == 0
    assert out.startswith("nothing can be accepted: of ")
    assert set(pl.read_csv(tmp_path / "out" / "accepted.csv")["by"]) == {"gold"}


def test_more_gold_is_needed(fails, folder, tmp_path):
    path = gold_file(tmp_path / "few.csv", some(truth_of(folder), 150))
    fails(
        "accept", folder / "votes.csv", "--gold", path, "--error", ".01",
        words="an error of 1 % needs at least 230 gold labels in the accepted region, there are 150; ask for "
        "--error .02 or plan with --plan",
    )  # fmt: skip


def test_a_second_look_must_be_planned(crowdwise_cli, fails, folder, run, tmp_path):
    truth = truth_of(folder)
    few, more = (gold_file(tmp_path / f"{n}.csv", some(truth, n)) for n in (200, 300))
    assert crowdwise_cli("accept", run, "--gold", few, "--error", ".1")[0] == 0
    fails("accept", run, "--gold", more, "--error", ".1", words="this is look 2 at the gold and 1 was planned")
    fails("accept", run, "--gold", more, "--error", ".1", "--looks", "3", words="was made for 1 looks")
    for name in ("certificate.json", "accepted.csv", "ask.csv"):
        (run / name).unlink()
    for n, gold in enumerate((few, more), 1):
        code, out, _ = crowdwise_cli("accept", run, "--gold", gold, "--error", ".1", "--looks", "3", "--json")
        assert (code, json.loads(out)["look"]) == (0, n)


@pytest.mark.slow
def test_gold_that_fitted_the_run(crowdwise_cli, fails, folder, tmp_path):
    rng, truth = np.random.default_rng(4), truth_of(folder)
    rows = [(t, w, label if rng.random() < 0.8 else "fine") for t, label in truth.items() for w in "abc"]
    pl.DataFrame(rows, ["task", "worker", "label"], orient="row").write_csv(tmp_path / "crowd.csv")
    out = tmp_path / "fitted"
    fit = ("aggregate", tmp_path / "crowd.csv", "-m", "dawid_skene", "--gold", folder / "gold.csv", "-o", out)
    assert crowdwise_cli(*fit)[0] == 0
    again = ("--gold", folder / "gold.csv", "--error", ".1")
    code, text, err = crowdwise_cli("accept", out, *again)
    assert code == 0, err
    assert "the fit without it is judged" in err
    code, text, err = crowdwise_cli("estimate", out, "--gold", folder / "gold.csv", "--metric", "accuracy", "--json")
    assert code == 0, err
    assert "only assumed" in err
    blind = cw.DawidSkene().fit(cw.read(tmp_path / "crowd.csv"))
    right = np.mean([truth[task] == label for task, label in blind.to_table().select("task", "label").iter_rows()])
    assert json.loads(text)["low"] <= right <= json.loads(text)["high"]
    for name in ("certificate.json", "accepted.csv", "ask.csv"):
        (out / name).unlink()
    code, text, _ = crowdwise_cli(
        "accept", out, "--gold", folder / "gold.csv", "--fit-share", ".4", "--error", ".2", "--json"
    )
    assert code == 0
    assert 150 < json.loads(text)["n_gold"] < 210
    plain = tmp_path / "plain"
    assert crowdwise_cli(*fit[:-1], plain, "--no-calibrate")[0] == 0
    words = "the same gold was used to fit this result (temperature, stack) | let accept split it (--fit-share .4)"
    fails("accept", plain, "--gold", folder / "gold.csv", words=words)
    fails("estimate", plain, "--gold", folder / "gold.csv", "--metric", "accuracy", "--sampling", "random", words=words)


@pytest.mark.slow
def test_plans_sets_and_cascades(crowdwise_cli, fails, folder, run, tmp_path):
    code, out, _ = crowdwise_cli("accept", run, "--plan", "--prices", "judge=.5,person=20")
    assert code == 0
    assert "gold to draw" in out
    code, out, _ = crowdwise_cli("accept", run, "--plan", "--json")
    assert json.loads(out)["steps"][0]["needed"] == 45
    code, out, _ = crowdwise_cli("accept", run, "--gold", folder / "gold.csv", "--sets", "--error", ".1")
    assert (code, out.startswith("A set holds the true class of at least 90 %")) == (0, True)
    assert pl.read_csv(run / "sets.csv").columns == ["task", "labels", "size"]
    strong, _ = judged(n=1500, error=0.02, seed=2)
    strong.to_frame().write_csv(tmp_path / "strong.csv")
    asked = (
        "accept",
        folder / "votes.csv",
        "--then",
        tmp_path / "strong.csv",
        "--gold",
        folder / "gold.csv",
        "--error",
        ".1",
    )
    code, out, _ = crowdwise_cli(*asked, "--prices", "1,10,100")
    assert code == 0
    assert "costs least" in out
    fails(*asked, words="--prices CHEAP,STRONG,PERSON")
    fails("accept", run, words="accept needs --gold FILE")
    fails("accept", folder / "votes.csv", "--draw", "10", words="--draw needs a folder")
    fails("accept", run, "--plan", "--prices", "lots", words="judge=X,person=Y")


def test_a_certificate_is_used_again(crowdwise_cli, fails, folder, run, tmp_path):
    assert crowdwise_cli("accept", run, "--gold", folder / "gold.csv", "--error", ".1")[0] == 0
    same, _ = judged(n=1200, error=0.1, seed=9)
    same.to_frame().write_csv(tmp_path / "next.csv")
    code, _, err = crowdwise_cli(
        "accept", tmp_path / "next.csv", "--certificate", run / "certificate.json", "-o", tmp_path / "next"
    )
    assert code == 0
    assert "certify again to renew" in err
    assert (tmp_path / "next" / "accepted.csv").is_file()
    other, _ = judged(n=1200, prevalence=0.6, seed=9)
    other.to_frame().write_csv(tmp_path / "other.csv")
    words = "the certificate does not cover this batch | draw gold here and certify again"
    fails("accept", tmp_path / "other.csv", "--certificate", run / "certificate.json", words=words)


# ---------------------------------------------------------------- fair
def test_fair_prints_and_writes_all_gaps(crowdwise_cli, folder, tmp_path):
    asked = (
        "fairness",
        folder / "votes.csv",
        "--groups",
        folder / "tasks.csv",
        "--group",
        "topic",
        "--gold",
        folder / "gold.csv",
    )
    code, out, err = crowdwise_cli(*asked, "--target", "odds", "-o", tmp_path / "fair")
    assert code == 0, err
    for words in ("positive", "recall", "false", "accuracy", "Gaps of the labels with odds"):
        assert words in out
    names = {path.name for path in (tmp_path / "fair").iterdir()}
    assert names == {"gaps.csv", "rates.csv", "workers_gaps.csv", "labels_fair.csv", "gaps_fair.csv"}
    assert pl.read_csv(tmp_path / "fair" / "labels_fair.csv").columns == ["task", "group", "label", "fair", "share"]
    code, out, _ = crowdwise_cli(*asked, "--json")
    assert {row["measure"] for row in json.loads(out)["gaps"]} == {"positive", "recall", "false", "accuracy"}


def test_fair_without_gold_says_what_it_cannot_know(crowdwise_cli, fails, folder, run):
    code, _, err = crowdwise_cli("fairness", run, "--groups", "topic")
    assert code == 0
    assert "lower bounds" in err
    fails("fairness", run, words="fairness needs --groups")
    fails("fairness", run, "--groups", "nothing", words="no column 'nothing'")
    fails("fairness", run, "--groups", folder / "tasks.csv", words="which column is the group? Give --group")
    fails("fairness", run, "--groups", "nowhere.csv", words="there is no such file")
