"""The sections about judges: there where somebody is a judge, readable, escaped."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from benchmarks.judges import planted

import crowdwise as cw

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def crowd():
    truth, label, stated = planted.confident(150, np.random.default_rng(0))
    names = ["judge-a", EVIL, "judge-c", "judge-d"]
    task, worker = np.indices(label.shape).reshape(2, -1)
    votes = cw.Annotations.from_arrays(task, np.array(names)[worker], label.ravel(), confidence=stated.ravel())
    about = {"worker": names, "kind": ["model"] * 4, "family": ["f", "f", "g", EVIL], "price": [1.0, 2.0, 3.0, 4.0]}
    return votes.about(workers=pl.DataFrame(about)), {t: int(truth[t]) for t in range(100)}


def test_judges_and_frontier_with_gold(crowd):
    votes, gold = crowd
    page = cw.report.render(votes, cw.MajorityVote().fit(votes), truth=gold)
    assert 'id="judges"' in page
    assert 'id="frontier"' in page
    assert "4 judges count as" in page
    assert "Who errs together" in page
    assert "Stated confidence" in page
    assert "frontier.csv" in page
    assert EVIL not in page


def test_without_gold_nothing_is_promised(crowd):
    votes, _ = crowd
    page = cw.report.render(votes, cw.MajorityVote().fit(votes))
    assert "gold needed" in page
    assert "4 judges and no gold: they may err together" in page
    assert 'id="frontier"' not in page


def test_a_plain_crowd_has_no_such_section(plain_crowd):
    votes = plain_crowd[0] if isinstance(plain_crowd, tuple) else plain_crowd
    votes = getattr(votes, "annotations", votes)
    assert 'id="judges"' not in cw.report.render(votes, cw.MajorityVote().fit(votes))
