"""The page without a browser: numbers equal the tables, strangers' text stays text, sizes stay bounded."""

from __future__ import annotations

import base64
import hashlib
import html
import io
import json
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.evaluation.statement import trust
from crowdwise.kinds.classes.page.build import build
from crowdwise.kinds.classes.scoring.recommendations import recommend
from crowdwise.report import text
from crowdwise.report.page import as_json

from .payloads import PAYLOADS
from .reading import Page


@pytest.fixture(scope="module")
def plain(plain_page):
    return Page(plain_page)


def test_the_verdict_counts_what_the_result_says(plain_page, plain_crowd):
    votes, result, truth = plain_crowd
    tile = re.compile(r'data-number="(\w+)">([^<]+)<')
    numbers = dict(tile.findall(plain_page))
    flagged = {f.worker for f in cw.workers.study(votes, result).flags if f.name != "unknown"}
    assert numbers["right"] == f"{100 * cw.evaluate(result, truth).accuracy:.1f} %"
    assert "safe" not in numbers
    found = recommend(votes, result)
    assert (int(numbers["more"]), int(numbers["expert"])) == (found.n_vote, found.n_expert)
    assert int(numbers["talk"]) == len(flagged) >= 1
    level, without = trust(result), dict(tile.findall(cw.report.render(votes, result)))
    assert without["safe"] == (f"{level.n_ship:,}" if level.counted else "unknown")
    assert "right" not in without


@pytest.mark.slow
def test_the_sections_are_headed_in_words(plain_page):
    headings = [heading.strip() for heading in re.findall(r"<h2[^>]*>([^<]+)<", plain_page)]
    assert headings[:3] == ["Verdict", "Data and ledger", "Agreement"]
    assert not [heading for heading in headings if re.search(r"[a-z][A-Z]|_", heading)]


def test_the_error_that_may_ship_can_be_chosen(plain_crowd):
    votes = plain_crowd[0]
    result = cw.Adaptive().fit(votes)
    for error in (0.1, 0.3):
        page = cw.report.render(votes, result, error=error)
        level = trust(result, error)
        assert f'data-number="safe">{level.n_ship:,}<' in page
        assert f'data-number="more">{recommend(votes, result, error).n_vote:,}<' in page
        sentence = level.sentence()
        assert sentence[1:] in html.unescape(page)
    assert level.n_ship > trust(result).n_ship


def test_the_workers_on_the_page_are_those_of_the_table(plain, plain_crowd):
    votes, result, truth = plain_crowd
    table = cw.workers.best_first(cw.workers.quality(votes, result, gold=truth))
    header, *rows = plain.tables["Workers"]
    assert header[:3] == ["Worker", "Labels", "Skill"]
    assert [row[0] for row in rows] == table["worker"].to_list()
    assert [int(row[1]) for row in rows] == table["n_labels"].to_list()
    for column, name in (("Skill", "skill"), ("Confirmed", "consensus_agreement"), ("On gold", "gold_accuracy")):
        shown = [float(row[header.index(column)]) for row in rows]
        np.testing.assert_allclose(shown, table[name].to_numpy(), atol=0.0051)


def test_agreement_contested_and_scores_are_those_of_the_library(plain, plain_crowd):
    votes, result, truth = plain_crowd
    coefficients = {c.name: c for c in cw.workers.agreement(votes)}
    for name, value, *_ in plain.tables["Agreement"][1:]:
        assert float(value) == pytest.approx(coefficients[name].value, abs=0.0006)
    disputed = cw.tasks.contested(votes, result).filter(pl.col("why") != "")
    assert [row[0] for row in plain.tables["Contested tasks"][1:]] == disputed["task"].head(200).to_list()
    scores = cw.evaluate(result, truth)
    shown = {row[0]: float(row[1]) for row in plain.tables["Scores"][1:]}
    assert shown["Accuracy"] == pytest.approx(scores.accuracy, abs=0.0006)
    assert shown["Calibration error (ECE)"] == pytest.approx(scores.ece, abs=0.0006)


def test_a_click_on_a_pair_finds_the_tasks_on_which_they_differ(plain, plain_crowd):
    votes, _, _ = plain_crowd
    data = json.loads(next(body for attrs, body in plain.scripts if attrs.get("type") == "application/json"))
    said = {(w, t): c for t, w, c in votes.to_frame().select("task", "worker", "label").iter_rows()}
    assert len(data["pairs"]) > 20
    for key, (n_common, n_agree, rows) in data["pairs"].items():
        first, second = (data["workers"][int(i)] for i in key.split(","))
        common = [t for t in votes.tasks if (first, t) in said and (second, t) in said]
        differ = {t for t in common if said[first, t] != said[second, t]}
        assert (n_common, n_agree) == (len(common), len(common) - len(differ))
        found = {data["tasks"][t][0]: (data["classes"][a], data["classes"][b]) for t, a, b in rows}
        assert set(found) <= differ
        assert len(found) == min(len(differ), 20)
        assert all((said[first, t], said[second, t]) == pair for t, pair in found.items())


def test_downloads_hold_the_tables(plain, plain_crowd):
    votes, result, _ = plain_crowd
    quality = pl.read_csv(io.StringIO(plain.download("quality.csv")))
    assert quality["worker"].to_list() == votes.workers.to_list()
    np.testing.assert_allclose(quality["skill"].to_numpy(), result.skill, rtol=1e-5)
    labels = pl.read_csv(io.StringIO(plain.download("labels.csv")))
    assert labels["label"].to_list() == result.to_table()["label"].to_list()


def test_the_policy_allows_this_script_and_this_style_and_nothing_else(plain_page):
    page = Page(plain_page)
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", plain_page, re.S).group(1)
    script = next(body for attrs, body in page.scripts if not attrs)
    for body, kind in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.slow
@pytest.mark.parametrize("which", ["plain_page", "hostile_page"])
def test_nothing_on_the_page_asks_the_network_or_carries_a_handler(which, request):
    page = Page(request.getfixturevalue(which))
    for tag, attributes in page.tags:
        assert tag not in {"iframe", "object", "embed", "link", "base", "form", "img", "video", "audio", "template"}, (
            tag
        )
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", "the policy forbids style attributes"
            if name in ("href", "src", "xlink:href", "action"):
                assert value.startswith(("#", "data:application/gzip;base64,")), (tag, value[:80])
    assert len(page.scripts) == 2


def test_strangers_names_are_shown_as_they_are_and_never_as_markup(hostile_page):
    page = Page(hostile_page)
    seen = "".join(page.text)
    workers = {row[0] for row in page.tables["Workers"][1:]}
    assert workers == {text.shown(p) for p in PAYLOADS}
    assert "<script>alert(1)</script>" in seen
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z-]+", i) for i in ids), "no id on the page comes from the data"


def test_a_data_block_cannot_be_closed_from_within():
    nasty = {"a": "</script><!--", "b": "\u2028\u2029&<>"}
    block = as_json(nasty)
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block) == nasty


def test_downloads_are_safe_in_a_spreadsheet(hostile_page):
    csv = Page(hostile_page).download("quality.csv")
    workers = pl.read_csv(io.StringIO(csv), columns=["worker"])["worker"].to_list()
    assert not [w for w in workers if re.match(r"[=+@\t-]", w) and not re.fullmatch(r"[+-]?\d+", w)]


@pytest.mark.slow
def test_gold_that_the_fit_was_told_does_not_judge_it(plain_crowd):
    votes, blind, truth = plain_crowd
    told = cw.DawidSkene().fit(votes, gold=truth)
    assert "cannot judge" in build(votes, told, truth=truth).calibration.reason
    half = cw.DawidSkene().fit(votes, gold=dict(list(truth.items())[:150]))
    fair = build(votes, half, truth=truth).calibration.scores
    assert (fair.n, fair.n_gold_left_out) == (250, 150)
    judged = build(votes, told, truth=truth, blind=blind).calibration
    assert judged.scores.accuracy == cw.evaluate(blind, truth).accuracy < 1


def test_certain_labels_that_nobody_told_do_judge():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxyy"])
    judged = build(votes, cw.MajorityVote().fit(votes), truth={1: "x", 2: "y"}).calibration
    assert (judged.reason, judged.scores.accuracy) == ("", 1)


@pytest.mark.slow
def test_small_and_odd_crowds_have_a_page():
    one = cw.Annotations.from_arrays(["t"], ["w"], ["c"])
    assert "No two workers" in cw.report.render(one, cw.MajorityVote().fit(one))
    two = cw.Annotations.from_arrays(
        [1, 1, 2], [1, 2, 1], [0, 1, 1], tasks=[1, 2, 3], workers=[1, 2, 3], classes=[0, 1, 2]
    )
    page = cw.report.render(two, cw.MajorityVote().fit(two))
    assert "none" in page
    assert "nobody has labelled it" in page
    many = cw.simulate.scenario("one_coin", tasks=300, workers=8, classes=40, labels=5, seed=0).annotations
    assert len(cw.report.render(many, cw.DawidSkene(max_iter=5, tol=1.0).fit(many))) < 3_000_000


@pytest.mark.slow
def test_a_result_of_training_adds_curves_and_the_classifier(plain_crowd):
    votes, result, _ = plain_crowd
    from dataclasses import replace

    alone = np.roll(result.posterior, 1, axis=1)
    trained = replace(result, extra={"classifier": alone, "best_epoch": 3})
    history = pl.DataFrame({"epoch": [1, 2, 3, 4], "loss": [2.0, 1.0, 0.7, 0.6], "score": [None, -0.8, -0.7, -0.9]})
    page = cw.report.render(votes, trained, history=history)
    assert "Training: the classifier and the crowd" in page
    assert "epoch 3 of" in page
    assert f"features and votes on 0 of {votes.n_tasks}" in page
    assert len(Page(page).tables["Largest differences between classifier and crowd"]) == 26
    assert "ending at 0.600" in page
    terms = history.with_columns(fit=pl.col("loss") - 0.1, penalty=pl.lit(0.1))
    assert ">penalty</title>" in cw.report.render(votes, trained, history=terms).replace("\n", "")


@pytest.mark.parametrize(
    ("value", "said"), [(0.9997, "> 99 %"), (1.0, "100 %"), (0.0, "0 %"), (0.002, "< 1 %"), (0.55, "55 %"), (None, "–")]
)
def test_percents_are_never_rounded_to_certainty(value, said):
    assert text.percent(value) == said


def test_names_lose_control_characters_and_are_cut():
    assert text.shown("a\x00b\x1b[31m") == "a\ufffdb\ufffd[31m"
    assert len(text.shown("x" * 999)) == text.LONGEST


@pytest.mark.data
@pytest.mark.parametrize(("name", "megabytes"), [("web", 1.5), ("trec", 3.0)])
def test_real_crowds_fit_into_a_mail(name, megabytes):
    data = cw.datasets.load(name)
    page = cw.report.render(data.annotations, cw.DawidSkene().fit(data.annotations), truth=data.truth)
    assert len(page.encode()) <= megabytes * 1e6
