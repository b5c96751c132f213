"""crowdwise workers, and aggregate --drop-flagged: tables, files, JSON, run folders, errors."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate

from ..conftest import planted

FILES = {"quality.csv", "classes.csv", "confusions.csv", "agreement.csv", "flags.csv", "pairs.csv", "curve.csv",
         "contested.csv", "coachable.csv"}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A crowd of 200 tasks with two workers who always say one class; votes.csv and truth.csv."""
    path = tmp_path_factory.mktemp("workers")
    groups = [simulate.OneCoin(8, low=0.7, high=0.9), simulate.Constant(2, label=0)]
    crowd = simulate.crowd(200, 3, groups, simulate.PerTask(6), seed=1)
    crowd.annotations.to_frame().write_csv(path / "votes.csv")
    crowd.truth_table().head(30).write_csv(path / "gold.csv")
    return path


def test_tables_for_people(crowdwise_cli, folder):
    code, out, err = crowdwise_cli("workers", folder / "votes.csv", "-m", "dawid_skene")
    assert code == 0
    for word in (
        "Agreement",
        "Krippendorff's alpha",
        "Workers, best first",
        "Flags",
        "constant",
        "whatever the others",
    ):
        assert word in out, word
    assert "2 workers are flagged" in err


def test_json_and_files(crowdwise_cli, folder, tmp_path):
    run = tmp_path / "new" / "tables"
    code, out, _ = crowdwise_cli(
        "workers", folder / "votes.csv", "-m", "dawid_skene", "--gold", folder / "gold.csv", "-o", run, "--json"
    )
    assert code == 0
    said = json.loads(out)
    assert set(said) == {"method", "agreement", "flags", "coachable", "workers", "classes", "reading"}
    assert [f["worker"] for f in said["flags"]] == ["w8", "w9"]
    assert {path.name for path in run.iterdir()} == FILES
    quality = pl.read_csv(run / "quality.csv")
    assert quality["n_labels"].sum() == 1200
    assert quality["n_gold"].sum() == 180
    assert quality["worker"].to_list() == [w["worker"] for w in said["workers"]]
    assert quality["skill"].to_list() == pytest.approx([w["skill"] for w in said["workers"]])
    flags = list(csv.DictReader(io.StringIO((run / "flags.csv").read_text(encoding="utf-8"))))
    assert [f["flag"] for f in flags] == ["constant", "constant"]
    code, out, err = crowdwise_cli("workers", folder / "votes.csv", "-o", run)
    assert code == 2
    assert "holds quality.csv already" in err


def test_a_run_folder_holds_all_that_is_needed(crowdwise_cli, folder, tmp_path):
    run = tmp_path / "run"
    assert crowdwise_cli("aggregate", folder / "votes.csv", "-m", "dawid_skene", "-o", run)[0] == 0
    from_file = json.loads(crowdwise_cli("workers", folder / "votes.csv", "-m", "dawid_skene", "--json")[1])
    from_run = json.loads(crowdwise_cli("workers", run, "--json")[1])
    assert from_run["flags"] == from_file["flags"]
    assert from_run["agreement"] == from_file["agreement"]
    (run / "votes.parquet").unlink()
    code, _, err = crowdwise_cli("workers", run)
    assert code == 2
    assert "not its votes" in err


def test_votes_of_a_run_come_back_as_they_were(tmp_path):
    from crowdwise.io.run_folder import load_votes

    votes = cw.Annotations.from_arrays(
        ["007", "007", "8"], ["=a", "b", "b"], ["x", "y", "x"], time=[1.0, 2.0, 3.0], tasks=["007", "8", "9"]
    )
    result = cw.MajorityVote().fit(votes)
    cw.Run(result, votes).save(tmp_path)
    again = load_votes(tmp_path, cw.Result.load(tmp_path))
    assert again.to_frame().equals(votes.to_frame())
    assert again.tasks.to_list() == ["007", "8", "9"]
    (tmp_path / "votes.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(cw.DataError, match="damaged"):
        load_votes(tmp_path, result)


def test_levels_need_numbers(crowdwise_cli, folder, tmp_path):
    (tmp_path / "rated.csv").write_text("task,worker,label\n1,a,x\n1,b,y\n2,a,x\n2,b,x\n", encoding="utf-8")
    code, _, err = crowdwise_cli("workers", tmp_path / "rated.csv", "--level", "interval")
    assert code == 2
    assert err.count("\n") == 1
    assert "numbers" in err


@pytest.mark.slow
def test_of_many_workers_the_best_and_the_worst_are_shown(crowdwise_cli, tmp_path):
    votes, _, skill = planted(n=900, m=40, k=3, labels=8, low=0.4, high=0.95)
    frame = votes.to_frame()
    lucky = pl.DataFrame({"task": [0], "worker": [99], "label": [int(votes.votes[0].argmax())]})
    pl.concat([frame.select("task", "worker", "label"), lucky]).write_csv(tmp_path / "votes.csv")
    code, out, _ = crowdwise_cli("workers", tmp_path / "votes.csv", "-m", "hierarchical")
    assert code == 0
    head, _, rest = out.partition("Workers, the worst (10 of 41, by the upper end of the interval)")
    best = [line.split()[0] for line in head.partition("the best (10 of 41")[2].splitlines() if "┄" in line]
    worst = [line.split()[0] for line in rest.splitlines() if "┄" in line]
    assert (len(best), len(worst)) == (10, 10)
    assert "99" not in best + worst
    assert min(skill[int(w)] for w in best) > max(skill[int(w)] for w in worst)
    assert "Coachable: feedback may help" in out
    assert "the crowd on" in out
    found = json.loads(crowdwise_cli("workers", tmp_path / "votes.csv", "-m", "hierarchical", "--json")[1])
    assert {flag["name"] for flag in found["coachable"]} == {"coachable"}
    page = tmp_path / "page.html"
    assert crowdwise_cli("report", tmp_path / "votes.csv", "-m", "hierarchical", "-o", page)[0] == 0
    assert "where the others disagree" in page.read_text(encoding="utf-8")


def test_steps_in_words_need_their_order(crowdwise_cli, tmp_path):
    steps = ["bad", "fair", "good"]
    rows = [f"{t},{w},{steps[(t * 7 + (w == 'b') * (t % 3)) % 3]}" for t in range(30) for w in "ab"]
    (tmp_path / "rated.csv").write_text("task,worker,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    arguments = (tmp_path / "rated.csv", "-m", "majority_vote")
    for command in ("workers", "report"):
        end = () if command == "workers" else ("-o", tmp_path / "page.html")
        code, out, err = crowdwise_cli(command, *arguments, "--level", "ordinal", *end)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "rated.csv: an ordinal level needs the order of the classes" in err
        code, out, err = crowdwise_cli(command, *arguments, "--order", "bad, fair,good,great", *end)
        assert code == 0, err
    found = json.loads(crowdwise_cli("workers", *arguments, "--order", "bad,fair,good", "--json")[1])["agreement"]
    votes = cw.read(tmp_path / "rated.csv")
    alpha = {c["name"]: c["value"] for c in found}["Krippendorff's alpha, ordinal"]
    assert alpha == pytest.approx(cw.workers.krippendorff_alpha(votes, level="ordinal", order=steps))
    assert "alpha, ordinal" in (tmp_path / "page.html").read_text(encoding="utf-8")
    code, _, err = crowdwise_cli("workers", *arguments, "--level", "ordinal", "--order", "bad,good")
    assert (code, err) == (2, "crowdwise: the order leaves out 'fair'; name every class\n")


def test_drop_flagged_says_what_it_takes_away(crowdwise_cli, folder, tmp_path):
    run = tmp_path / "run"
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "-m", "dawid_skene", "--drop-flagged", "-o", run)
    assert code == 0
    assert "left out: w8 (constant): gave '0'" in err
    assert "2 workers are left out, with" in err
    assert "labels differ from those with all votes" in err
    ledger = json.loads((run / "ledger.json").read_text(encoding="utf-8"))
    assert ledger["rows_in"] == 1200
    assert ledger["rows_in"] == ledger["rows_used"] + ledger["rows_dropped"]
    assert ledger["dropped"]["given by a worker who was flagged and left out"] == ledger["rows_dropped"] > 100
    workers = pl.read_csv(run / "workers.csv")
    assert workers.filter(pl.col("worker").is_in(["w8", "w9"]))["n_labels"].sum() == 0
    assert len(pl.read_csv(run / "labels.csv")) == 200


def test_nobody_to_drop_is_said_too(crowdwise_cli, tmp_path):
    votes = simulate.crowd(100, 2, [simulate.OneCoin(6, low=0.9, high=0.95)], simulate.Dense(), seed=2).annotations
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "-m", "dawid_skene", "--drop-flagged")
    assert code == 0
    assert "no worker is left out, with 0 labels" in err
    assert "0 labels differ" in err
