"""Every command for comparisons and rankings, and what is said of input that cannot be meant."""

from __future__ import annotations

import json

import polars as pl
import pytest


@pytest.fixture(params=["comparisons_mixed", "rankings_mixed"])
def crowd(request, crowdwise_cli, tmp_path):
    folder = tmp_path / "crowd"
    code, _, err = crowdwise_cli(
        "simulate", request.param, "--tasks", 60, "--workers", 12, "--labels", 5, "--seed", 1, "-o", folder
    )
    assert code == 0, err
    return folder


@pytest.mark.slow
def test_every_command(crowdwise_cli, crowd, tmp_path):
    votes, truth, run = crowd / "votes.csv", crowd / "truth.csv", tmp_path / "run"
    kind = "comparisons" if "left" in pl.read_csv(votes).columns else "rankings"
    for command in (
        ("inspect", votes),
        ("aggregate", votes, "-o", run),
        ("show", run),
        ("evaluate", run, "--truth", truth),
        ("evaluate", run / "labels.csv", "--truth", truth) if kind == "rankings" else ("show", run, "--json"),
        ("compare", votes, "--truth", truth, "--folds", 2),
        ("workers", run, "-o", tmp_path / "study"),
        ("report", run, "--truth", truth, "-o", tmp_path / "page.html"),
        ("convert", votes, tmp_path / "votes.jsonl"),
        ("convert", run, tmp_path / "labels.parquet"),
    ):
        code, out, err = crowdwise_cli(*command)
        assert code == 0, (command, err)
    assert (run / "items.csv").is_file()
    page = (tmp_path / "page.html").read_text()
    assert 'id="leaderboard"' in page
    assert "Against" in page
    code, out, _ = crowdwise_cli("aggregate", votes, "--json")
    assert code == 0
    assert json.loads(out)["kind"] == kind
    code, out, _ = crowdwise_cli("evaluate", run, "--truth", truth, "--json")
    assert json.loads(out)["kendall"]["value"] > 0.3
    code, out, err = crowdwise_cli("aggregate", tmp_path / "votes.jsonl", "--json")
    assert code == 0, err
    assert json.loads(out)["annotations"] == 300


def test_dropping_flagged_workers(crowdwise_cli, crowd):
    code, _, err = crowdwise_cli("aggregate", crowd / "votes.csv", "--drop-flagged", "--json")
    assert code == 0, err


def test_gold_pairs_are_used_and_not_scored(crowdwise_cli, tmp_path):
    (tmp_path / "votes.csv").write_text(
        "worker,left,right,winner\na,x,y,left\nb,x,y,right\na,y,z,left\nb,y,z,left\na,x,z,right\n"
    )
    (tmp_path / "truth.csv").write_text("left,right,winner\ny,x,y\nz,y,right\n")
    (tmp_path / "gold.csv").write_text("left,right,winner\ny,x,left\n")
    run = tmp_path / "run"
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "-o", run)
    assert code == 0, err
    winner = dict(pl.read_csv(run / "labels.csv").select("task", "winner").iter_rows())
    assert winner["x | y"] == "right"
    code, out, err = crowdwise_cli("evaluate", run, "--truth", tmp_path / "truth.csv", "--json")
    assert code == 0, err
    assert (json.loads(out)["n"], json.loads(out)["n_gold_left_out"]) == (1, 1)


def test_preference_pairs(crowdwise_cli, tmp_path):
    lines = [
        {"prompt": "2+2?", "chosen": "4", "rejected": "5", "worker": "a"},
        {"prompt": "2+2?", "chosen": "4", "rejected": "5", "worker": "b"},
        {"prompt": "1+1?", "chosen": [{"role": "assistant", "content": "2"}],
         "rejected": [{"role": "assistant", "content": "3"}], "worker": "a"},
    ]  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert crowdwise_cli("aggregate", tmp_path / "pairs.jsonl", "-o", tmp_path / "run")[0] == 0
    code, _, err = crowdwise_cli("convert", tmp_path / "run", tmp_path / "out.jsonl", "--to", "preferences")
    assert code == 0, err
    found = {row["prompt"]: row for row in map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())}
    assert (found["2+2?"]["chosen"], found["2+2?"]["rejected"]) == ("4", "5")
    assert json.loads(found["1+1?"]["chosen"])[0]["content"] == "2"
    assert 0 < found["2+2?"]["weight"] < 1


ARENA = (
    "question_id,model_a,model_b,winner,judge\n1,x,y,model_a,u\n2,y,z,tie (bothbad),v\n3,z,x,model_b,u\n3,z,y,tie,u\n"
)


def test_arena_columns(crowdwise_cli, tmp_path):
    (tmp_path / "arena.csv").write_text(ARENA)
    code, out, err = crowdwise_cli("aggregate", tmp_path / "arena.csv", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["tasks"], found["workers"], found["items"]) == (4, 2, 3)
    assert "1 tasks have several pairs" in " ".join(found["ledger"]["notes"])
    assert found["leaderboard"][0]["item"] == "x"


def test_rows_without_workers_and_pairs_of_one_item(crowdwise_cli, tmp_path):
    (tmp_path / "a.csv").write_text("model_a,model_b,winner\nx,y,model_a\nx,y,model_b\nx,x,tie\nx,y,\n")
    code, out, err = crowdwise_cli("aggregate", tmp_path / "a.csv", "--json")
    assert code == 0, err
    ledger = json.loads(out)["ledger"]
    assert ledger["dropped"] == {"no label": 1, "an item compared with itself": 1}
    assert "everyone" in " ".join(ledger["notes"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("worker,left,right,winner\na,x,y,z\n", "row 1 | 'z' | neither left, right or tie"),
        ("worker,left,right,winner\na,x,x,left\n", "an item compared with itself"),
        ("task,worker,ranking\n1,a,x>>y\n", "row 1 | has a place without an item"),
        ("task,worker,ranking\n1,a,x>y>x\n1,b,x>y\n1,c,x>y\n1,d,x>y\n1,e,y>x\n", "row 1 | contains an item twice"),
    ],
)
def test_bad_input_is_refused_in_one_line(fails, tmp_path, text, words):
    (tmp_path / "bad.csv").write_text(text)
    fails("aggregate", tmp_path / "bad.csv", words=words)


def test_methods_of_another_kind_are_refused(fails, tmp_path):
    (tmp_path / "votes.csv").write_text("task,worker,ranking\n1,a,x>y\n")
    fails(
        "aggregate", tmp_path / "votes.csv", "-m", "crowd_bt", "--kind", "rankings", words="crowd_bt is for comparisons"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["comparisons", "rankings", "similarities"])
def test_tables_of_items_are_scored_with_their_run(kind, crowdwise_cli, tmp_path):
    crowdwise_cli("simulate", f"{kind}_plain", "--tasks", "60", "--workers", "10", "-o", tmp_path / "made")
    truth, run = tmp_path / "made" / "truth.csv", tmp_path / "run"
    crowdwise_cli("aggregate", tmp_path / "made" / "votes.csv", "-o", run)
    code, whole, _ = crowdwise_cli("evaluate", run, "--truth", truth, "--json")
    assert code == 0
    assert crowdwise_cli("evaluate", run / "items.csv", "--truth", truth, "--json")[:2] == (0, whole)
    alone = tmp_path / "alone.csv"
    alone.write_bytes((run / "items.csv").read_bytes())
    code, _, err = crowdwise_cli("evaluate", alone, "--truth", truth)
    assert (code, len(err.splitlines())) == (2, 1)
    assert "outside a run folder" in err
