"""Every command that writes CSV: no text cell begins like a formula, numbers are numbers, names come back whole."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.io.export import write_votes
from crowdwise.io.reading import Reading
from tests.data import ROOT

TASKS = ["=1+1", "+t", "-t", "@t", "\tt", "'=t", "plain", "-7"]
WORKERS = ["=HYPERLINK(1)", "+w", "-w", "@w"]
LABELS = ["=yes", "-no"]
FORMULA = re.compile(r"[=+\-@\x01-\x1f]")
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
FAST = ["-m", "dawid_skene"]
COMMANDS = {
    "aggregate": ["aggregate", "votes.csv", *FAST, "-o", "out"],
    "aggregate to stdout": ["aggregate", "votes.csv", *FAST],
    "compare": ["compare", "votes.csv", "-m", "majority_vote", *FAST, "-o", "out"],
    "workers": ["workers", "votes.csv", *FAST, "-o", "out"],
    "simulate": ["simulate", "one_coin", "--tasks", "20", "-o", "out"],
    **{f"convert to {to}": ["convert", "votes.csv", "out.csv", "--to", to]
       for to in ("csv", "tsv", "wide", "cleanlab", "mturk", "toloka", "snow", "label_studio_csv")},
    "convert a run": ["convert", "run", "out.csv"],
}  # fmt: skip


def tables(folder, out):
    """(name, rows) of everything that was written."""
    made = [*(folder / "out").glob("*.csv"), *folder.glob("out.csv")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in made} | ({"stdout": out} if out else {})
    for name, text in texts.items():
        separator = max("\t,", key=text.split("\n", 1)[0].count)
        yield name, list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))


@pytest.fixture
def crowd(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [(t, w, LABELS[int(rng.random() < 0.7)]) for t in TASKS for w in WORKERS]
    votes = cw.Annotations.from_arrays(*(list(x) for x in zip(*rows, strict=True)))
    write_votes(Reading(votes, "", ""), tmp_path / "votes.csv")
    return votes


@pytest.mark.parametrize("command", COMMANDS)
def test_no_cell_is_a_formula(crowdwise_cli, crowd, tmp_path, command):
    if command == "convert a run":
        assert crowdwise_cli("aggregate", "votes.csv", *FAST, "-o", "run")[0] == 0
    code, out, err = crowdwise_cli(*COMMANDS[command])
    assert code == 0, err
    seen = 0
    for name, rows in tables(tmp_path, out):
        for cell in (cell for row in rows for cell in row):
            assert not FORMULA.match(cell) or NUMBER.fullmatch(cell), f"{name}: {cell!r}"
            seen += cell.startswith("'")
    assert seen or command == "simulate"  # where all names are made up by the command


def test_names_come_back_whole(crowdwise_cli, crowd, tmp_path):
    assert crowdwise_cli("aggregate", "votes.csv", *FAST, "-o", "run")[0] == 0
    assert sorted(cw.read("votes.csv").to_frame().iter_rows()) == sorted(crowd.to_frame().iter_rows())
    labels = cw.read_truth(tmp_path / "run" / "labels.csv")
    assert sorted(labels["task"]) == sorted(TASKS)
    assert set(labels["label"]) <= set(LABELS)


def test_csv_is_written_in_one_place_only():
    # train and predict, which need a network, write through it too.
    source = ROOT / "src" / "crowdwise"
    found = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"\.write_csv\(|csv\.writer|DictWriter", path.read_text(encoding="utf-8"))
    ]
    assert found == ["io/csv/cells.py"]
