"""Every kind: aggregate --check writes a file, which goes in as --gold, and terminal and report say the same of it."""

from __future__ import annotations

import html
import json
import re

import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.evaluation.statement import outlook

KINDS = ("numbers", "sets", "spans", "boxes", "comparisons", "texts", "outlines", "probabilities", "similarities",
         "rankings", "ordered")  # fmt: skip


def filled(table, crowd):
    """The check file with the truth in its first 40 rows; the others stay empty."""
    truth = dict(crowd.truth_table().iter_rows())
    rows = table.to_dicts()
    for row in rows[:40]:
        if "winner" in row:
            row["winner"] = "left" if truth[row["left"]] > truth[row["right"]] else "right"
        else:
            row[table.columns[-1]] = str(truth[row[table.columns[0]]])
    return pl.DataFrame(rows, schema=table.schema)


def words(text):
    return re.sub(r"\s+", " ", html.unescape(text))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*rows without a task")  # part of the file is filled in
@pytest.mark.parametrize("kind", KINDS)
def test_check_gold_terminal_and_report_go_together(kind, tmp_path, crowdwise_cli):
    crowd = simulate.scenario(f"{kind}_plain", tasks=150, workers=15, labels=4, seed=1)
    votes = crowd.annotations if kind == "ordered" else crowd.votes
    path, check, gold, page = (tmp_path / name for name in ("votes.csv", "check.csv", "gold.csv", "page.html"))
    votes.to_frame().write_csv(path)
    more = ["--order", "1,2,3,4,5"] if kind == "ordered" else []
    first = crowdwise_cli("aggregate", path, "--check", check, "-o", tmp_path / "before", *more)
    assert words(outlook(cw.Run.load(tmp_path / "before").result, written=str(check))) in words(first[2])
    table = pl.read_csv(check, infer_schema_length=0)
    assert len(table) == (len(crowd.truth_table()) if kind == "similarities" else 60)
    assert table[table.columns[-1]].null_count() == len(table)
    filled(table, crowd).write_csv(gold)
    second = crowdwise_cli("aggregate", path, "--gold", gold, "-o", tmp_path / "after", *more)
    line = outlook(cw.Run.load(tmp_path / "after").result)
    assert words(line) in words(second[2])
    assert "mean confidence" not in words(second[2])
    assert "mean confidence" not in words(crowdwise_cli("show", tmp_path / "after")[1])
    if kind not in ("similarities", "rankings"):
        assert "measured on 40 checked tasks" in line
    crowdwise_cli("report", path, "--gold", gold, "-o", page, *more)
    assert words(line)[1:] in words(page.read_text(encoding="utf-8"))
    told = json.loads(crowdwise_cli("aggregate", path, "--gold", gold, "--json", *more)[1])["trust"]
    assert told["checked"] == (0 if kind in ("similarities", "rankings") else 40)


def test_calibration_can_be_switched_off(tmp_path, crowdwise_cli):
    crowd = simulate.scenario("sets_plain", tasks=150, workers=15, labels=4, seed=1)
    crowd.votes.to_frame().write_csv(tmp_path / "votes.csv")
    crowd.truth_table()[:60].write_csv(tmp_path / "gold.csv")
    told = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv", "--no-calibrate")
    assert "no task has been checked" in told[2]
