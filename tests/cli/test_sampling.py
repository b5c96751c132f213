"""How gold was drawn: stated, asked for once, recorded, read back; one gold gives one answer in every command."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import polars as pl
import pytest
import typer

import crowdwise as cw
from crowdwise.cli import sampling as asking
from crowdwise.cli.sampling import Sampling, resolve_sampling
from crowdwise.evaluation.statement import outlook, trust


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """votes.csv of 500 tasks, their truth, random gold of 90 of them."""
    path = tmp_path_factory.mktemp("sampling")
    crowd = cw.simulate.scenario("dirichlet", tasks=500, workers=20, labels=5, seed=4)
    crowd.annotations.to_frame().select("task", "worker", "label").write_csv(path / "votes.csv")
    crowd.truth_table().write_csv(path / "truth.csv")
    crowd.truth_table().sample(90, seed=4).write_csv(path / "gold.csv")
    return path


@pytest.fixture(scope="module")
def votes(folder):
    return cw.read(folder / "votes.csv")


@pytest.fixture(scope="module")
def gold(folder):
    return cw.read_truth(folder / "gold.csv")


class Terminal:
    """`sys` whose streams are terminals, whatever pytest puts in their place."""

    stdin = stderr = type("Stream", (), {"isatty": staticmethod(lambda: True)})()


@pytest.fixture
def terminal(monkeypatch):
    """Standard input and error are a terminal: the questions that were asked, and the answer to the next."""
    questions, answers = [], [True]

    def confirm(text, default=None, err=False):
        questions.append((text, default, err))
        return answers[0]

    monkeypatch.setattr(asking, "sys", Terminal)
    monkeypatch.setattr(typer, "confirm", confirm)
    return questions, answers


def words(text):
    return re.sub(r"\s+", " ", html.unescape(text))


# ---------------------------------------------------------------- stated
def test_a_statement_is_taken_as_it_is(folder, votes, gold, terminal):
    for each in Sampling:
        assert resolve_sampling(each, folder / "gold.csv", gold, votes.tasks) == each.value
    assert terminal[0] == []
    with pytest.raises(cw.ParameterError, match="give --gold too"):
        resolve_sampling(Sampling.random, None, None, votes.tasks)


def test_a_terminal_is_asked_and_a_pipe_is_not(folder, votes, gold, monkeypatch):
    def nobody(*_, **__):
        raise AssertionError("asked")

    monkeypatch.setattr(typer, "confirm", nobody)
    assert resolve_sampling(None, folder / "gold.csv", gold, votes.tasks) is None
    assert resolve_sampling(None, None, None, votes.tasks) is None


def test_the_answer_on_a_terminal_counts(folder, votes, gold, terminal):
    questions, answers = terminal
    assert resolve_sampling(None, folder / "gold.csv", gold, votes.tasks) == "random"
    answers[0] = False
    assert resolve_sampling(None, folder / "gold.csv", gold, votes.tasks) == "chosen"
    assert questions == [(asking.QUESTION, True, True)] * 2
    assert resolve_sampling(None, None, None, votes.tasks) is None
    assert len(questions) == 2


def test_what_a_run_records_is_not_asked_again(folder, votes, gold, terminal):
    for each in ("random", "chosen"):
        run = cw.fit(votes, "majority_vote", gold, sampling=each)
        assert resolve_sampling(None, folder / "gold.csv", gold, votes.tasks, run) == each
    run = cw.fit(votes, "majority_vote", gold)
    assert resolve_sampling(None, folder / "gold.csv", gold, votes.tasks, run) is None
    assert terminal[0] == []
    other = cw.read_truth(folder / "truth.csv").head(200)
    resolve_sampling(None, folder / "gold.csv", other, votes.tasks, run)
    assert len(terminal[0]) == 1


# ---------------------------------------------------------------- one gold, one answer
@pytest.mark.slow
@pytest.mark.parametrize("method", ["dawid_skene", "adaptive"])
def test_one_gold_gives_one_answer_everywhere(folder, votes, gold, crowdwise_cli, tmp_path, method):
    result = cw.fit(votes, method, gold, sampling="random")
    line, said = words(outlook(result)), trust(result).to_dict()
    assert "measured on 90 checked tasks" in line
    given = (folder / "votes.csv", "-m", method, "--gold", folder / "gold.csv", "--sampling", "random")
    for command in ("aggregate", "next"):
        code, out, err = crowdwise_cli(command, *given, "--json")
        assert code == 0, err
        assert json.loads(out)["trust"] == pytest.approx(said), command
    code, _, err = crowdwise_cli("next", *given)
    assert line in words(err)
    page = tmp_path / "page.html"
    assert crowdwise_cli("report", *given, "-o", page)[0] == 0
    assert line[1:] in words(page.read_text(encoding="utf-8"))
    assert crowdwise_cli("workers", *given, "--json")[0] == 0


@pytest.mark.slow
def test_chosen_gold_is_recorded_and_calibrates_nothing(folder, crowdwise_cli, fails, tmp_path):
    run = tmp_path / "run"
    given = ("--gold", folder / "gold.csv", "--sampling", "chosen")
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", *given, "-o", run)
    assert code == 0
    assert "the gold tasks were chosen, not drawn at random" in words(err)
    result = cw.Run.load(run).result
    assert (result.extra["gold_sampling"], result.extra["gold_check"]["sampling"]) == ("chosen", "chosen")
    page = tmp_path / "page.html"
    assert crowdwise_cli("report", run, "-o", page)[0] == 0
    assert "chosen, not drawn at random" in words(page.read_text(encoding="utf-8"))
    fails("accept", run, "--gold", folder / "gold.csv", words="recorded as chosen | --draw")
    fails("estimate", run, "--gold", folder / "gold.csv", "--metric", "accuracy", words="recorded as chosen")
    fails("aggregate", folder / "votes.csv", "--sampling", "random", words="give --gold too")


@pytest.mark.slow
def test_an_assumption_is_stated(folder, crowdwise_cli, tmp_path):
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "--gold", folder / "gold.csv", "-o", tmp_path / "r")
    assert code == 0
    assert "are assumed to be a random sample" in err
    _, _, err = crowdwise_cli("report", tmp_path / "r", "--gold", folder / "gold.csv", "-o", tmp_path / "p.html")
    assert "are assumed to be a random sample" in err
    _, _, err = crowdwise_cli("accept", tmp_path / "r", "--gold", folder / "gold.csv", "--error", ".2")
    assert "only assumed" in err
    given = ("--gold", folder / "gold.csv", "--sampling", "random", "-o", tmp_path / "s")
    assert "taken for" not in crowdwise_cli("aggregate", folder / "votes.csv", *given)[2]


@pytest.mark.slow
def test_a_terminal_is_asked_once(folder, tmp_path, crowdwise_cli, terminal):
    gold = ("--gold", folder / "gold.csv")
    assert crowdwise_cli("aggregate", folder / "votes.csv", *gold, "-o", tmp_path / "run")[0] == 0
    assert len(terminal[0]) == 1
    assert cw.Run.load(tmp_path / "run").result.extra["gold_sampling"] == "random"
    assert crowdwise_cli("report", tmp_path / "run", *gold, "-o", tmp_path / "page.html")[0] == 0
    assert crowdwise_cli("next", tmp_path / "run", *gold)[0] == 0
    assert crowdwise_cli("accept", tmp_path / "run", *gold, "--error", ".2")[0] == 0
    assert crowdwise_cli("estimate", tmp_path / "run", *gold, "--metric", "accuracy")[0] == 0
    assert len(terminal[0]) == 1
    off = ("aggregate", folder / "votes.csv", *gold, "--no-calibrate", "-o", tmp_path / "off")
    assert crowdwise_cli(*off)[0] == 0
    assert len(terminal[0]) == 1


# ---------------------------------------------------------------- a run, and gold that comes later
@pytest.mark.slow
def test_gold_calibrates_a_run_that_had_none(folder, votes, gold, crowdwise_cli, tmp_path):
    run, page = tmp_path / "run", tmp_path / "page.html"
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-m", "dawid_skene", "-o", run)[0] == 0
    given = (run, "--gold", folder / "gold.csv", "--sampling", "random")
    assert crowdwise_cli("report", *given, "-o", page)[0] == 0
    text = words(page.read_text(encoding="utf-8"))
    result = cw.calibrate(cw.DawidSkene().fit(votes), votes, gold)
    assert words(outlook(result))[1:] in text
    assert "has been checked" not in text
    _, out, _ = crowdwise_cli("next", *given, "--json")
    assert json.loads(out)["trust"] == pytest.approx(trust(result).to_dict())


@pytest.mark.slow
def test_other_gold_judges_a_calibrated_run(folder, votes, crowdwise_cli, tmp_path):
    run = tmp_path / "run"
    given = ("--gold", folder / "gold.csv", "--sampling", "random", "-o", run)
    assert crowdwise_cli("aggregate", folder / "votes.csv", *given)[0] == 0
    cw.read_truth(folder / "truth.csv").sample(60, seed=9).write_csv(tmp_path / "other.csv")
    code, _, err = crowdwise_cli("report", run, "--gold", tmp_path / "other.csv", "-o", tmp_path / "page.html")
    assert code == 0
    assert "calibrated on other gold; this gold is only used to evaluate it" in err
    assert "measured on 90 checked tasks" in words((tmp_path / "page.html").read_text(encoding="utf-8"))


# ---------------------------------------------------------------- the same gold in accept and estimate
@pytest.mark.slow
@pytest.mark.parametrize("method", ["dawid_skene", "adaptive", "committee"])
def test_accept_ships_as_many_as_the_sentence(folder, crowdwise_cli, tmp_path, method):
    run = tmp_path / "run"
    given = ("--gold", folder / "gold.csv", "--sampling", "random")
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-m", method, *given, "-o", run)[0] == 0
    result = cw.Run.load(run).result
    for error in (0.05, 0.1, 0.2):
        level = trust(result, error)
        out = tmp_path / f"at{error}"
        code, text, err = crowdwise_cli("accept", run, *given[:2], "--error", error, "-o", out, "--json")
        assert code == 0, err
        told = json.loads(text)
        table = pl.read_csv(out / "accepted.csv")
        assert told["n_done"] == len(table) == told["n_unseen"] + 90
        assert told["sampling"] == "random"
        if level.rule == "accept":
            assert told["n_done"] == level.n_ship
            ships = set(result.tasks.filter(pl.Series(level.ships)).to_list())
            assert set(table["task"].to_list()) == ships
        else:
            assert told["n_unseen"] == 0
        own = dict(result.to_table().select("task", pl.col("label").cast(pl.String)).iter_rows())
        for task, label, by in table.select("task", pl.col("label").cast(pl.String), "by").iter_rows():
            assert by == "gold" or own[task] == label
    assert trust(result, 0.2).rule == "accept"
    out = crowdwise_cli("accept", run, *given[:2], "--error", ".2", "-o", tmp_path / "shown")
    n = trust(result, 0.2).n_ship
    assert f"with the 90 gold tasks, {n:,} need no human review" in out[2]


@pytest.mark.slow
def test_the_promise_of_accept_holds_on_the_same_gold():
    broken = []
    for seed in range(20):
        crowd = cw.simulate.scenario("hammer_spammer", tasks=400, workers=15, labels=3, seed=seed)
        gold = crowd.truth_table().sample(100, seed=seed)
        result = cw.fit(crowd.annotations, "dawid_skene", gold, sampling="random")
        if "slope" not in result.extra["gold_check"]:
            continue
        found = cw.accept(result, gold=gold, error=0.1, votes=crowd.annotations)
        unseen = found.accepted.filter(pl.col("by") == "verdict")
        truth = dict(crowd.truth_table().with_columns(pl.col("label").cast(pl.String)).iter_rows())
        wrong = [truth[task] != label for task, label in unseen.select("task", "label").iter_rows()]
        broken.append(np.mean(wrong) > 0.1 if wrong else False)
    assert len(broken) >= 15
    assert np.mean(broken) <= 0.2


# ---------------------------------------------------------------- the level
@pytest.mark.slow
def test_the_level_of_a_run_is_kept(folder, crowdwise_cli, tmp_path):
    run, page = tmp_path / "run", tmp_path / "page.html"
    given = ("--gold", folder / "gold.csv", "--sampling", "random", "--error", ".2", "-o", run)
    _, _, err = crowdwise_cli("aggregate", folder / "votes.csv", *given)
    assert "with at most 20 % wrong" in err
    assert crowdwise_cli("report", run, "-o", page)[0] == 0
    assert "with at most 20 % wrong" in words(page.read_text(encoding="utf-8"))
    assert crowdwise_cli("report", run, "-o", page, "--force", "--error", ".1")[0] == 0
    assert "with at most 10 % wrong" in words(page.read_text(encoding="utf-8"))
    assert json.loads(crowdwise_cli("next", run, "--json")[1])["trust"]["error"] == 0.2
    assert json.loads(crowdwise_cli("next", run, "--json", "--error", ".1")[1])["trust"]["error"] == 0.1
    _, out, _ = crowdwise_cli("accept", run, "--gold", folder / "gold.csv", "--json")
    assert json.loads(out)["error"] == 0.2
    _, out, _ = crowdwise_cli("accept", folder / "votes.csv", "--gold", folder / "gold.csv", "--plan", "--json")
    assert json.loads(out)["error"] == 0.05


# ---------------------------------------------------------------- a recorded draw
def filled(path, truth, n=None):
    """The file to check with the truth of its first rows."""
    table = pl.read_csv(path, infer_schema_length=0).select("task")
    known = dict(cw.read_truth(truth).with_columns(pl.all().cast(pl.String)).iter_rows())
    labels = [known[task] if n is None or place < n else None for place, task in enumerate(table["task"])]
    return table.with_columns(label=pl.Series(labels, dtype=pl.String))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.LedgerWarning")
@pytest.mark.parametrize("command", ["aggregate", "report"])
def test_a_labelled_check_file_needs_no_statement(folder, crowdwise_cli, tmp_path, command):
    check = tmp_path / "check.csv"
    first = ("-o", tmp_path / "run") if command == "aggregate" else ("-o", tmp_path / "page.html")
    code, _, err = crowdwise_cli(command, folder / "votes.csv", "-m", "dawid_skene", "--check", check, *first)
    assert code == 0, err
    assert str(check) in err
    record = json.loads((tmp_path / "check.draw.json").read_text(encoding="utf-8"))
    assert (record["design"], record["n_tasks"], len(record["tasks"])) == ("random", 500, 60)
    assert record["tasks"] == pl.read_csv(check)["task"].to_list()
    code, _, err = crowdwise_cli(command, folder / "votes.csv", "--check", check, *first, "--force")
    assert code == 0
    code, _, err = crowdwise_cli(command, folder / "votes.csv", "--check", check, "-o", tmp_path / "more")
    assert (code, "check.csv already" in err) == (2, True)
    filled(check, folder / "truth.csv", 40).write_csv(tmp_path / "labelled.csv")
    run = tmp_path / "second"
    given = ("--gold", tmp_path / "labelled.csv", "-m", "dawid_skene")
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", *given, "-o", run)
    assert code == 0, err
    assert "those of the draw recorded in check.draw.json" in err
    assert "are assumed to be a random sample" not in err
    assert cw.Run.load(run).result.extra["gold_sampling"] == "random"
    code, out, err = crowdwise_cli("estimate", run, *given[:2], "--metric", "accuracy", "--json")
    assert code == 0, err
    assert json.loads(out)["sampling"] == "random, drawn"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.LedgerWarning")
def test_a_draw_is_recognised_only_for_what_was_drawn(folder, crowdwise_cli, tmp_path):
    check = tmp_path / "check.csv"
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-o", tmp_path / "run", "--check", check)[0] == 0
    whole = filled(check, folder / "truth.csv")
    more = cw.read_truth(folder / "truth.csv").with_columns(pl.col("label").cast(pl.String))
    cases = {
        "others.csv": pl.concat([whole, more.filter(~pl.col("task").is_in(whole["task"].implode())).head(5)]),
        "gaps.csv": whole.gather_every(2),
    }
    for name, table in cases.items():
        table.write_csv(tmp_path / name)
        _, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "-m", "wawa", "--gold", tmp_path / name, "--json")
        assert "recorded in" not in err, name
    whole.write_csv(check)
    fewer = pl.read_csv(folder / "votes.csv").filter(pl.col("task") != more["task"][0])
    fewer.write_csv(tmp_path / "fewer.csv")
    _, _, err = crowdwise_cli("aggregate", tmp_path / "fewer.csv", "-m", "wawa", "--gold", check, "--json")
    assert "recorded in" not in err
    _, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "-m", "wawa", "--gold", check, "--json")
    assert "recorded in check.draw.json" in err
    (tmp_path / "check.draw.json").write_text("{}", encoding="utf-8")
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "-m", "wawa", "--gold", check, "--json")
    assert (code, "is not a record of a draw" in err) == (2, True)
