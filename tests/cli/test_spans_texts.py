"""Every command for spans and texts, and one line where input is bad."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate

SCENARIOS = {"spans": "spans_random", "texts": "texts_random"}
SCORE = {"spans": "f1", "texts": "gleu"}


@pytest.fixture(scope="module", params=SCENARIOS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def folder(kind, tmp_path_factory):
    path = tmp_path_factory.mktemp(kind)
    simulate.scenario(SCENARIOS[kind], tasks=80, workers=15, labels=6, seed=1).save(path)
    return path


def test_from_a_file_to_scores(crowdwise_cli, kind, folder, tmp_path):
    votes, truth, run = folder / "votes.csv", folder / "truth.csv", tmp_path / "run"
    code, out, err = crowdwise_cli("inspect", votes)
    assert code == 0, err
    assert "tasks with several answers" in out
    code, _, err = crowdwise_cli("aggregate", votes, "-o", run)
    assert code == 0, err
    assert "chosen: " in err
    code, out, err = crowdwise_cli("evaluate", run, "--truth", truth, "--json")
    assert code == 0, err
    said = json.loads(out)
    value = said[SCORE[kind]]
    assert (value["value"] if isinstance(value, dict) else value) > 0.7
    for target in (run, run / "labels.csv"):
        code, _, err = crowdwise_cli("evaluate", target, "--truth", truth)
        assert code == 0, err
    code, out, err = crowdwise_cli("show", run)
    assert code == 0, err
    assert "Least certain tasks" in out


@pytest.mark.slow
def test_gold_workers_report_and_compare(crowdwise_cli, kind, folder, tmp_path):
    votes, truth = folder / "votes.csv", folder / "truth.csv"
    pl.read_csv(truth).head(10).write_csv(tmp_path / "gold.csv")
    code, out, err = crowdwise_cli("aggregate", votes, "--gold", tmp_path / "gold.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["kind"] == kind
    code, out, err = crowdwise_cli("workers", votes, "--gold", tmp_path / "gold.csv", "--json")
    assert code == 0, err
    planted = dict(pl.read_csv(folder / "workers.csv").select("worker", "kind").rows())
    flagged = {flag["worker"] for flag in json.loads(out)["flags"] if flag["name"] == "random"}
    assert flagged
    assert {planted[worker] for worker in flagged} == {"random"}
    page = tmp_path / "page.html"
    code, _, err = crowdwise_cli("report", votes, "--truth", truth, "-o", page)
    assert code == 0, err
    assert "Against the truth" in page.read_text(encoding="utf-8")
    code, out, err = crowdwise_cli("compare", votes, "--truth", truth, "--json")
    assert code == 0, err
    compared = json.loads(out)["methods"]
    assert [row["method"] for row in compared] == cw.methods(kind)
    assert all(row["reason"] is None for row in compared)
    code, out, err = crowdwise_cli("methods", "--json")
    assert code == 0, err
    assert all(f'"{name}"' in out for name in cw.methods(kind))


def test_the_page_escapes_what_strangers_wrote(crowdwise_cli, tmp_path):
    bad = "<script>alert(1)</script>"
    pl.DataFrame({"task": [bad], "worker": [bad], "spans": [f'[[0, 9, "{bad}"]]'], "text": [bad]}).write_csv(
        tmp_path / "s.csv"
    )
    pl.DataFrame({"task": [bad], "worker": [bad], "output": [bad]}).write_csv(tmp_path / "t.csv")
    for name in ("s.csv", "t.csv"):
        code, _, err = crowdwise_cli("report", tmp_path / name, "-o", tmp_path / f"{name}.html")
        assert code == 0, err
        page = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert bad not in page
        assert "&lt;script&gt;alert" in page


def test_refusals_in_one_line(fails, folder, kind, tmp_path):
    votes = folder / "votes.csv"
    fails("aggregate", votes, "-m", "mean", words="no column for the value")
    (tmp_path / "bad.csv").write_text('task,worker,spans\na,b,"[[4, 2]]"\n')
    fails("aggregate", tmp_path / "bad.csv", words="row 1 | has no length")
    (tmp_path / "none.csv").write_text("task,worker,output\na,b,\n")
    fails("aggregate", tmp_path / "none.csv", words="none.csv")


def test_many_tags_are_too_many_for_bsc(fails, tmp_path):
    rows = [f'{i},w{i},"[[0, 1, ""t{i}""]]"' for i in range(400)]
    (tmp_path / "v.csv").write_text("task,worker,spans\n" + "\n".join(rows) + "\n")
    command = ("aggregate", tmp_path / "v.csv", "-m", "bsc", "--allow", "own-task")
    fails(*command, words="bsc would need a table of | use token_dawid_skene")
