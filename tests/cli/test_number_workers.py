"""crowdwise workers and report on numbers: files, run folders, gold and truth, refusals in one line."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.numbers.simulate import number_crowd

FILES = {"quality.csv", "agreement.csv", "flags.csv"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A crowd of 200 tasks on a scale of 0 to 100 with two constant workers; its truth, and gold for 30 tasks."""
    path = tmp_path_factory.mktemp("numbers")
    crowd = number_crowd(200, 20, per_task=6, centre=50, scale=15, limits=(0, 100), constant=0.1, seed=6)
    tasks, workers = ([f"{letter}{i:03d}" for i in codes] for letter, codes in (("t", crowd.task), ("w", crowd.worker)))
    pl.DataFrame({"task": tasks, "worker": workers, "value": crowd.value.round(1)}).write_csv(path / "votes.csv")
    truth = pl.DataFrame({"task": [f"t{i:03d}" for i in range(200)], "value": crowd.truth})
    truth.write_csv(path / "truth.csv")
    truth.head(30).write_csv(path / "gold.csv")
    return path


def test_tables_for_people(crowdwise_cli, folder):
    code, out, err = crowdwise_cli("workers", folder / "votes.csv")
    assert code == 0, err
    for word in ("Agreement", "ICC(1,1)", "Krippendorff's alpha, interval", "Workers, by correlation with",
                 "the others", "correlation", "Flags", "constant", "on the same tasks the others gave"):  # fmt: skip
        assert word in out, word
    assert "1,200 numbers by 20 workers; combined" in err
    assert "2 workers are flagged" in err


def test_json_and_files(crowdwise_cli, folder, tmp_path):
    run = tmp_path / "new" / "tables"
    code, out, err = crowdwise_cli(
        "workers", folder / "votes.csv", "--gold", folder / "gold.csv", "-m", "mean", "-o", run, "--json"
    )
    assert code == 0, err
    said = json.loads(out)
    assert set(said) == {"method", "agreement", "flags", "workers"}
    assert {path.name for path in run.iterdir()} == FILES
    quality = pl.read_csv(run / "quality.csv")
    assert quality["n_labels"].sum() == 1200
    assert quality["n_gold"].sum() == 180
    assert quality["bias"].to_list() == pytest.approx([w["bias"] for w in said["workers"]])
    code, _, err = crowdwise_cli("workers", folder / "votes.csv", "-o", run)
    assert (code, err.count("\n")) == (2, 1)
    assert "already" in err


@pytest.mark.slow
def test_a_run_folder_says_the_same(crowdwise_cli, folder, tmp_path):
    run, page = tmp_path / "run", tmp_path / "run.html"
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-o", run)[0] == 0
    from_file = json.loads(crowdwise_cli("workers", folder / "votes.csv", "--json")[1])
    assert json.loads(crowdwise_cli("workers", run, "--json")[1]) == from_file
    assert crowdwise_cli("report", run, "--truth", folder / "truth.csv", "-o", page)[0] == 0
    direct = tmp_path / "direct.html"
    args = ("--truth", folder / "truth.csv", "--title", "run", "-o", direct)
    assert crowdwise_cli("report", folder / "votes.csv", *args)[0] == 0
    assert page.read_text(encoding="utf-8") == direct.read_text(encoding="utf-8")


@pytest.mark.slow
def test_truth_judges_and_gold_helps_but_is_judged_blind(crowdwise_cli, folder, tmp_path):
    blind = cw.numbers.Gaussian().fit(cw.read(folder / "votes.csv"))
    for name in ("truth", "gold"):
        page, file = tmp_path / f"{name}.html", folder / f"{name}.csv"
        code, _, err = crowdwise_cli("report", folder / "votes.csv", "-m", "gaussian", f"--{name}", file, "-o", page)
        assert code == 0, err
        shown = re.search(r'data-score="rmse">([\d.]+)<', page.read_text(encoding="utf-8")).group(1)
        known = dict(pl.read_csv(file).iter_rows())
        assert float(shown) == pytest.approx(cw.evaluate(blind, known).rmse, rel=1e-3)


def test_several_parts(crowdwise_cli, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.uniform(0, 100, (60, 2))
    said = [(t, w, *(truth[t] + rng.normal(0, 1, 2)).round(2)) for t in range(60) for w in "abcd"]
    rows = [",".join(map(str, row)) for row in said]
    (tmp_path / "boxes.csv").write_text("task,worker,value_x,value_y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    code, out, err = crowdwise_cli("workers", tmp_path / "boxes.csv", "-m", "mean")
    assert code == 0, err
    assert "x: ICC(1,1)" in out
    assert "part" in out
    page = tmp_path / "page.html"
    assert crowdwise_cli("report", tmp_path / "boxes.csv", "-m", "mean", "-o", page)[0] == 0
    assert "240 numbers by 4 workers on 60 tasks, 2 in each answer" in page.read_text(encoding="utf-8")


def test_refusals_in_one_line(crowdwise_cli, folder, tmp_path):
    for command in ("workers", "report"):
        end = () if command == "workers" else ("-o", tmp_path / "x.html")
        for arguments, said in (
            (("--level", "ordinal"), "--level and --order grade the agreement of classes; these are numbers"),
            (("--order", "low,high"), "the order leaves out"),
            (("--kind", "numbers", "-m", "dawid_skene"), "dawid_skene is for class labels, but these are numbers"),
        ):
            code, out, err = crowdwise_cli(command, folder / "votes.csv", *arguments, *end)
            assert (code, out) == (2, "")
            assert said in err
            assert len([line for line in err.splitlines() if not line.startswith("note:")]) == 1
    assert not (tmp_path / "x.html").exists()
