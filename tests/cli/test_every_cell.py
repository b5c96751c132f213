"""Every command on a real set of every kind: the cells of docs/kinds-and-commands.md, on some tasks of each set."""

from __future__ import annotations

import json
from dataclasses import dataclass

import polars as pl
import pytest

from crowdwise.core.registry import get
from tests.data import data_folder
from tests.docs.kinds import COMMANDS, works


@dataclass(frozen=True)
class RealSet:
    """A set, the number of its tasks that are kept, options to read it, and what estimate and accept measure."""

    name: str
    tasks: int
    options: tuple[str, ...] = ()
    metric: str = "score"
    right: tuple[str, ...] = ("--min-score", "0.3")


SETS = {
    "boxes": RealSet("boxes_street", 60, ("--kind", "boxes")),
    "classes": RealSet("bluebird", 108, (), "accuracy", ()),
    "comparisons": RealSet("pair_reading", 400, (), "accuracy", ()),
    "numbers": RealSet("affect_anger", 100, ("--kind", "numbers"), "error", ("--within", "30")),
    "outlines": RealSet("polygons_cats", 30, ("--duplicates", "first")),
    "probabilities": RealSet("prob_knowledge", 80, ("--kind", "probabilities")),
    "rankings": RealSet("rank_facts", 12, right=("--min-score", "0.1")),
    "sets": RealSet("ml_medrel", 100, ("--duplicates", "first", "--multiple", "set")),
    "similarities": RealSet("same_dogs", 60),
    "spans": RealSet("spans_pico", 60, ("--kind", "spans")),
    "texts": RealSet("text_speech", 60, ("--kind", "texts")),
    "triplets": RealSet("trip_eggs", 300, right=("--min-score", "0.5")),
}


def table(path):
    return pl.read_csv(path, infer_schema=False)


def truth_of(kind, labels, folder):
    """(labels, truth for evaluate, gold for estimate and accept) of the tasks that have truth."""
    if kind == "outlines":  # no truth: the outlines of the busiest worker stand for it
        busiest = labels["worker"].value_counts(sort=True)["worker"][0]
        truth = labels.filter(pl.col("worker") == busiest).select("task", "label").unique("task")
        return labels.filter(pl.col("worker") != busiest), truth, truth
    truth = table(folder / "truth.csv")
    if kind in ("comparisons", "triplets"):
        score = dict(truth.with_columns(pl.col("score").cast(float)).iter_rows())
        gold = labels.unique("task").select("task", label=pl.struct(pl.all()).map_elements(
            lambda row: nearer(row, score), return_dtype=pl.String))  # fmt: skip
        return labels, truth, gold.drop_nulls()
    if kind == "similarities":
        return labels, truth, None
    truth = truth.filter(pl.col("task").is_in(labels["task"].unique().implode()))
    if kind == "sets":
        true = truth.filter(pl.col("value") == "1").group_by("task").agg(pl.col("label"))
        none = (
            truth.select("task")
            .unique()
            .join(true, on="task", how="left")
            .select("task", pl.col("label").fill_null([]))
        )
        gold = none.with_columns(
            pl.col("label").map_elements(lambda names: json.dumps(list(names)), return_dtype=pl.String)
        )
        return labels, truth, gold
    return labels, truth, truth


def nearer(row, score):
    """The better of two items, or of two items the one whose score is nearer to a third's."""
    left, right = (score.get(row[side]) for side in ("left", "right"))
    if "head" in row and left is not None and right is not None:
        left, right = -abs(left - score[row["head"]]), -abs(right - score[row["head"]])
    if left is None or right is None or left == right:
        return None
    return row["left"] if left > right else row["right"]


@pytest.fixture
def files(request, tmp_path):
    """(real set, labels, truth, gold): the first tasks of a set in files."""
    kind = request.param
    real = SETS[kind]
    folder = data_folder() / real.name
    labels = table(next(folder.glob("labels.csv*")))
    known = table(folder / "truth.csv") if kind != "outlines" else labels
    if "task" in known.columns:
        labels = labels.filter(pl.col("task").is_in(known["task"].unique().implode()))
    tasks = labels["task"].unique(maintain_order=True).head(real.tasks)
    labels, truth, gold = truth_of(kind, labels.filter(pl.col("task").is_in(tasks.implode())), folder)
    paths = {name: tmp_path / f"{name}.csv" for name in ("labels", "truth", "gold")}
    for name, rows in (("labels", labels), ("truth", truth), ("gold", gold)):
        if rows is not None:
            rows.write_csv(paths[name])
    return kind, real, paths


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("files", SETS, indirect=True)
def test_every_cell_on_a_real_set(files, crowdwise_cli, tmp_path):
    kind, real, paths = files
    votes, run = [paths["labels"], *real.options], tmp_path / "run"
    gold = ("--gold", paths["gold"])
    calls = {
        "inspect": ["inspect", *votes],
        "aggregate": ["aggregate", *votes, "-o", run],
        "show": ["show", run],
        "evaluate": ["evaluate", run, "--truth", paths["truth"]],
        "compare": ["compare", *votes, "--truth", paths["truth"], "--folds", "0"],
        "workers": ["workers", *votes],
        "report": ["report", *votes, "-o", tmp_path / "report.html"],
        "convert": ["convert", *votes, tmp_path / "votes.jsonl"],
        "next": ["next", *votes, "--budget", "20"],
        "estimate": ["estimate", *votes, "--metric", real.metric, *gold, "--sampling", "random"],
        "accept": ["accept", *votes, *gold, *real.right, "--error", "0.6"],
        "judges": ["judges", *votes],
        "fairness": ["fairness", *votes, "--groups", tmp_path / "groups.csv"],
    }
    assert set(calls) == set(COMMANDS)
    tasks = table(paths["labels"])["task"].unique().sort().to_list()
    pl.DataFrame({"task": tasks, "group": [f"g{i % 2}" for i in range(len(tasks))]}).write_csv(tmp_path / "groups.csv")
    for command, arguments in calls.items():
        code, out, err = crowdwise_cli(*map(str, arguments))
        if kind == "comparisons" and command in (
            "estimate",
            "accept",
            "judges",
        ):  # of two systems; this set has hundreds
            assert code == 2
            assert "--systems A,B" in err
        elif works(command, get(kind)):
            assert code == 0, (command, err)
            assert out.strip() or err.strip(), command
        else:
            assert code == 2, (command, out)
            assert err.strip().splitlines()[-1].startswith("crowdwise: "), (command, err)
