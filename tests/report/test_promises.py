"""Sections that estimate, accept and fair add to a run's page."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError

from .reading import Page


@pytest.fixture(scope="module")
def page(promise_page):
    return Page(promise_page)


def test_the_promise_and_what_voids_it(promise_page, promise_folder):
    told = json.loads((promise_folder[2] / "certificate.json").read_text())
    assert f"{told['n_accepted']:,} of 1,200 tasks need no human review" in promise_page
    assert told["promise"] in promise_page
    for reason in told["voids"]:
        assert reason in promise_page
    assert f"{pl.read_csv(promise_folder[2] / 'ask.csv').height:,} tasks need human review" in promise_page


def test_the_queue_and_the_ladders(page, promise_folder):
    ask = pl.read_csv(promise_folder[2] / "ask.csv")
    header, *rows = page.tables["Review queue"]
    assert header == ["Task", "Verdict", "Confidence"]
    assert len(rows) == min(20, len(ask))


def test_three_intervals_and_groups(page, promise_page):
    tables = [rows for name, rows in page.tables.items() if name.startswith("share of")]
    names = [row[0] for row in tables[0][1:]]
    assert names[:3] == ["dawid_skene alone", "gold alone", "both"]
    assert len(names) == 5
    assert "times as many gold labels" in promise_page
    assert "it is unknown how the gold was drawn: no interval can be given" in promise_page


def test_gaps_before_and_after(page):
    before, after = (page.tables[name] for name in ("Gaps of the labels", "Gaps of the fair labels"))
    assert {row[0] for row in before[1:]} == {"positive", "recall", "false", "accuracy"}
    assert len(after) == len(before)


def test_a_plain_run_has_none_of_it(plain_page):
    for anchor in ("estimates", "accepted", "fairness"):
        assert f'id="{anchor}"' not in plain_page


@pytest.mark.slow
def test_damaged_files_are_named(promise_folder, tmp_path):
    votes, result, _ = promise_folder
    (tmp_path / "estimates.json").write_text("{")
    with pytest.raises(DataError, match=r"estimates\.json cannot be read"):
        cw.report.render(votes, result, folder=tmp_path)
    (tmp_path / "estimates.json").unlink()
    (tmp_path / "gaps.csv").write_text("measure,class\nrecall,a\n")
    with pytest.raises(DataError, match=r"gaps\.csv cannot be read"):
        cw.report.render(votes, result, folder=tmp_path)


def test_a_ladder_of_nothing(promise_folder, tmp_path):
    votes, result, _ = promise_folder
    gold = dict.fromkeys(votes.tasks[:100], votes.classes[0])
    none = cw.accept(result, gold=gold, error=0.05)
    none.certificate.save(tmp_path / "certificate.json")
    page = cw.report.render(votes, result, folder=tmp_path)
    assert "No task can be accepted without human review" in page
