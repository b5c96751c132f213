"""crowdwise report: from a file, from a run folder, with gold and truth; refusals in one line."""

from __future__ import annotations

import re

import pytest

import crowdwise as cw
from crowdwise import simulate


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A crowd of 150 tasks, its truth, and gold for 30 of them."""
    path = tmp_path_factory.mktemp("report")
    groups = [simulate.OneCoin(8, low=0.6, high=0.9), simulate.Constant(1, label=0)]
    crowd = simulate.crowd(150, 3, groups, simulate.PerTask(5), seed=1)
    crowd.annotations.to_frame().write_csv(path / "votes.csv")
    crowd.truth_table().write_csv(path / "truth.csv")
    crowd.truth_table().head(30).write_csv(path / "gold.csv")
    return path


def test_a_page_from_a_file(crowdwise_cli, folder, tmp_path):
    page = tmp_path / "report.html"
    code, out, err = crowdwise_cli("report", folder / "votes.csv", "-m", "dawid_skene", "-o", page)
    assert (code, out) == (0, "")
    assert str(page) in err
    text = page.read_text(encoding="utf-8")
    assert "<h1><bdi>votes.csv</bdi></h1>" in text
    assert "The truth of no task is known" in text
    code, _, err = crowdwise_cli("report", folder / "votes.csv", "-m", "dawid_skene", "-o", page)
    assert code == 2
    assert "exists already" in err
    assert crowdwise_cli("report", folder / "votes.csv", "-m", "wawa", "-o", page, "--force", "--title", "Ours")[0] == 0
    assert "<bdi>Ours</bdi>" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_truth_judges_and_gold_helps_but_is_judged_blind(crowdwise_cli, folder, tmp_path):
    votes, truth = cw.read(folder / "votes.csv"), cw.read_truth(folder / "truth.csv")
    gold = cw.read_truth(folder / "gold.csv")
    blind = cw.DawidSkene().fit(votes)
    for option, judge in (("--truth", truth), ("--gold", gold)):
        page = tmp_path / f"{option}.html"
        file = folder / ("truth.csv" if option == "--truth" else "gold.csv")
        assert crowdwise_cli("report", folder / "votes.csv", "-m", "dawid_skene", option, file, "-o", page)[0] == 0
        shown = re.search(r'data-score="accuracy">([\d.]+)<', page.read_text(encoding="utf-8")).group(1)
        assert float(shown) == pytest.approx(cw.evaluate(blind, judge).accuracy, abs=0.0006)


def test_a_page_from_a_run_folder_is_the_page_from_the_file(crowdwise_cli, folder, tmp_path):
    run, page, votes = tmp_path / "run", tmp_path / "report.html", tmp_path / "votes.csv"
    text = (folder / "votes.csv").read_text()
    votes.write_text(text + text.splitlines()[-1] + "\n")  # one row is an exact repeat
    assert crowdwise_cli("aggregate", votes, "-m", "dawid_skene", "-o", run)[0] == 0
    assert crowdwise_cli("report", run, "--truth", folder / "truth.csv", "-o", page)[0] == 0
    direct = tmp_path / "direct.html"
    args = ("--truth", folder / "truth.csv", "--title", "run", "-o", direct)
    assert crowdwise_cli("report", votes, "-m", "dawid_skene", *args)[0] == 0
    assert "1: <bdi>exact repeat of task, worker and label" in page.read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8") == direct.read_text(encoding="utf-8")


def test_a_damaged_ledger_is_said(crowdwise_cli, folder, tmp_path):
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-m", "wawa", "-o", tmp_path / "run")[0] == 0
    (tmp_path / "run" / "ledger.json").write_text('{"rows_in": 3, "rows_used": 1, "dropped": {}, "notes": []}')
    code, _, err = crowdwise_cli("report", tmp_path / "run", "-o", tmp_path / "x.html")
    assert code == 2
    assert "ledger.json" in err


def test_refusals(crowdwise_cli, folder, tmp_path):
    for arguments, said in (
        ((folder / "votes.csv", "-o", tmp_path), "is a folder"),
        ((tmp_path, "-o", tmp_path / "x.html"), "is not a saved result"),
        ((folder / "nowhere.csv", "-o", tmp_path / "x.html"), "no such file"),
        ((folder / "votes.csv", "-m", "nothing", "-o", tmp_path / "x.html"), "nothing"),
    ):
        code, _, err = crowdwise_cli("report", *arguments)
        assert code == 2
        assert said in err
        assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "x.html").exists()


@pytest.mark.slow
def test_a_training_run_shows_its_loss(crowdwise_cli, tmp_path):
    pytest.importorskip("torch")
    crowd = tmp_path / "crowd"
    args = ("--tasks", 120, "--workers", 8, "--features", 4, "-o", crowd)
    assert crowdwise_cli("simulate", "one_coin", *args)[0] == 0
    run, page = tmp_path / "run", tmp_path / "report.html"
    train = ("-m", "crowd_layer", "--net", "linear", "--epochs", 4, "-o", run)
    assert crowdwise_cli("train", crowd / "features.npz", crowd / "labels.csv", *train)[0] == 0
    assert crowdwise_cli("report", run, "-o", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "Training: the classifier and the crowd" in text
    assert "Loss by epoch, ending at" in text
