"""Every command on label sets, on ordered classes and on tasks with links."""

from __future__ import annotations

import json

import pytest

from crowdwise import simulate


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    simulate.scenario("sets_plain", tasks=60, workers=12, classes=6, labels=4, seed=1).save(folder)
    return folder


@pytest.mark.slow
def test_every_command_knows_sets(crowd, crowdwise_cli, tmp_path):
    votes, truth, run = crowd / "votes.csv", crowd / "truth.csv", tmp_path / "run"
    for line in (
        ("inspect", votes),
        ("aggregate", votes, "-o", run),
        ("aggregate", votes, "-m", "binary_relevance", "-p", "by=majority_vote"),
        ("evaluate", run, "--truth", truth),
        ("evaluate", run / "labels.csv", "--truth", truth),
        ("show", run),
        ("workers", run, "-o", tmp_path / "who"),
        ("workers", votes, "-m", "set_coin"),
        ("report", run, "-o", tmp_path / "page.html"),
        ("compare", votes, "--truth", truth, "--folds", "2"),
        ("convert", votes, tmp_path / "v.jsonl"),
        ("convert", votes, tmp_path / "v.json", "--to", "label_studio"),
        ("convert", run, tmp_path / "labels.parquet"),
        ("aggregate", votes, "--drop-flagged", "-o", tmp_path / "again"),
        ("methods", "joint_sets"),
    ):
        code, out, err = crowdwise_cli(*line)
        assert code == 0, (line, err)
    code, out, _ = crowdwise_cli("aggregate", votes, "--gold", truth, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["kind"] == "sets"
    assert told["labels"][0].keys() >= {"task", "labels", "confidence", "p_c0"}
    assert "Krippendorff" in (tmp_path / "who" / "agreement.csv").read_text(encoding="utf-8")


def test_bad_sets_in_one_line(crowd, crowdwise_cli, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text('task,worker,labels\n1,u,"[""a"""\n', encoding="utf-8")
    menu = tmp_path / "menu.csv"
    menu.write_text("task,offered\nt00,c0\n", encoding="utf-8")
    for line, words in (
        (("aggregate", bad), "starts like a JSON list but is not valid JSON"),
        (("aggregate", crowd / "votes.csv", "--kind", "sets", "-m", "dawid_skene"), "dawid_skene is for class labels"),
        (("aggregate", crowd / "votes.csv", "--offered", menu), "which was not offered"),
        (("aggregate", crowd / "votes.csv", "--calibrate"), "label sets is calibrated on gold; fit with gold"),
        (("aggregate", crowd / "votes.csv", "-m", "binary_relevance", "-p", "by=mean"), "for classes"),
        (("evaluate", crowd / "votes.csv", "--truth", crowd / "truth.csv"), "occurs in two rows"),
    ):
        code, _, err = crowdwise_cli(*line)
        assert code == 2, line
        assert words in err
        assert len([row for row in err.splitlines() if row.startswith("crowdwise:")]) == 1


@pytest.mark.slow
def test_ordered_classes_end_to_end(crowdwise_cli, tmp_path):
    simulate.scenario("ordered_plain", tasks=60, workers=12, seed=1).save(tmp_path)
    labels, truth, run = tmp_path / "labels.csv", tmp_path / "truth.csv", tmp_path / "run"
    for line in (
        ("inspect", labels, "--order", "numbers"),
        ("aggregate", labels, "--order", "1,2,3,4,5", "-o", run),
        ("show", run),
        ("workers", run),
        ("report", run, "-o", tmp_path / "page.html"),
        ("compare", labels, "--order", "numbers", "-m", "ordinal_types", "-m", "majority_vote", "--truth", truth,
         "--folds", "0"),
    ):  # fmt: skip
        code, _, err = crowdwise_cli(*line)
        assert code == 0, (line, err)
    code, out, _ = crowdwise_cli("evaluate", run, "--truth", truth, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["mae"] < 0.6
    assert told["intervals"].keys() >= {"mae", "kappa"}
    code, out, _ = crowdwise_cli("evaluate", run / "labels.csv", "--order", "numbers", "--truth", truth, "--json")
    assert json.loads(out)["mae"] == told["mae"]
    for order, words in (("1,2,3", "the order leaves out"), ("1,1,2,3,4,5", "names '1' twice")):
        code, _, err = crowdwise_cli("aggregate", labels, "--order", order)
        assert code == 2
        assert words in err
    code, _, err = crowdwise_cli("aggregate", labels, "-m", "ordinal_prior")
    assert code == 2
    assert "--order low,mid,high" in err


def test_links_end_to_end(crowdwise_cli, tmp_path):
    simulate.scenario("linked_clean", tasks=80, workers=12, labels=2, seed=1).save(tmp_path)
    labels, links, run = tmp_path / "labels.csv", tmp_path / "links.csv", tmp_path / "run"
    code, _, err = crowdwise_cli("aggregate", labels, "--links", links, "-m", "graph_field", "-o", run)
    assert code == 0, err
    assert (run / "links.parquet").is_file()
    assert crowdwise_cli("workers", run)[0] == 0
    code, _, err = crowdwise_cli("aggregate", labels, "-m", "graph_field")
    assert code == 2
    assert "--links FILE" in err
    bad = tmp_path / "bad.csv"
    bad.write_text("task,other\nx,y\n", encoding="utf-8")
    code, _, err = crowdwise_cli("aggregate", labels, "--links", bad, "-m", "graph_field")
    assert code == 2
    assert "none of its 1 links joins two of the tasks" in err
