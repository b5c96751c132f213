"""The sections about judges: there where somebody is a judge, readable, escaped."""

from __future__ import annotations

import pytest

import crowdwise as cw

from .conftest import judge_crowd
from .payloads import PAYLOADS


@pytest.fixture(scope="module")
def crowd():
    return judge_crowd()


def test_judges_and_frontier_with_gold(crowd):
    votes, gold = crowd
    page = cw.report.render(votes, cw.MajorityVote().fit(votes), truth=gold)
    assert 'id="judges"' in page
    assert 'id="frontier"' in page
    assert "4 judges count as" in page
    assert "Who errs together" in page
    assert "Stated confidence" in page
    assert "frontier.csv" in page
    assert PAYLOADS[0] not in page


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
