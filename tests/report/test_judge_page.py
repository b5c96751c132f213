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
    assert "Correlated errors" in page
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


def test_a_run_without_one_truth_shows_how_people_divide(divided_page):
    assert 'id="disagreement"' in divided_page
    assert "The log-loss on held-out raters is" in divided_page
    assert "Tasks with the most disagreement" in divided_page
    assert "groups_age.csv" in divided_page
    assert "a group differs from the others" in divided_page
    for payload in PAYLOADS[:3]:
        assert payload not in divided_page


def test_every_section_names_its_assumption(crowd, divided_page, promise_page):
    votes, gold = crowd
    judged = cw.report.render(votes, cw.MajorityVote().fit(votes), truth=gold)
    pages = {"judges": judged, "frontier": judged, "disagreement": divided_page}
    pages |= dict.fromkeys(("estimates", "accepted", "fairness"), promise_page)
    for anchor, page in pages.items():
        section = page.split(f'id="{anchor}"')[1].split("</section>")[0]
        assert "Assumption:" in section, anchor
