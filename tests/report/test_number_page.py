"""The page of numbers without a browser: what it shows equals the tables, strangers' text stays text."""

from __future__ import annotations

import io
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.numbers.page import bar_edges, histogram
from crowdwise.kinds.numbers.scoring import tasks_to_review
from crowdwise.kinds.numbers.simulate import number_crowd
from crowdwise.report import text

from .payloads import PAYLOADS
from .reading import Page


@pytest.fixture(scope="module")
def crowd():
    """25 workers on a scale of 0 to 100, two of them constant, with truth and seconds."""
    made = number_crowd(200, 25, per_task=6, centre=50, scale=15, limits=(0, 100), steps=(1,), constant=0.08, seed=4)
    seconds = np.random.default_rng(0).lognormal(2, 0.5, len(made.task))
    votes = cw.numbers.number_votes(
        [f"t{t:03d}" for t in made.task], [f"w{w:02d}" for w in made.worker], made.value, duration=seconds
    )
    return votes, cw.numbers.Combined().fit(votes), {f"t{t:03d}": float(v) for t, v in enumerate(made.truth)}


@pytest.fixture(scope="module")
def written(crowd):
    votes, result, truth = crowd
    return cw.report.render(votes, result, truth=truth, title="Numbers", made="2026-01-01")


@pytest.fixture(scope="module")
def page(written):
    return Page(written)


def test_the_verdict_counts_what_the_library_says(written, crowd):
    votes, result, _ = crowd
    numbers = dict(re.findall(r'data-number="(\w+)">([^<]+)<', written))
    flagged = {f.worker for f in cw.workers.study(votes, result).flags if f.name != "unknown"}
    assert int(numbers["estimated"]) == votes.n_tasks
    assert int(numbers["again"]) == (tasks_to_review(votes, result)["why"] != "").sum()
    assert int(numbers["talk"]) == len(flagged) >= 1
    half = float(numbers["usual"].removeprefix("± "))
    assert half == pytest.approx(float(np.median(result.high - result.low)) / 2, abs=0.06)


def test_the_workers_are_those_of_the_study_the_most_trusted_first(page, crowd):
    votes, result, truth = crowd
    table = cw.workers.best_first(cw.workers.study(votes, result, gold=truth).quality, "correlation")
    header, *rows = page.tables["Workers"]
    assert [row[0] for row in rows] == table["worker"].to_list()
    for column, name in (("Correlation", "correlation"), ("Bias", "bias"), ("Spread", "spread"), ("Slope", "slope"),
                         ("Error", "gold_rmse"), ("Seconds", "seconds_median")):  # fmt: skip
        shown = [row[header.index(column)] for row in rows]
        for cell, value in zip(shown, table[name].to_list(), strict=True):
            assert (cell == "–") == (value is None)
            assert value is None or float(cell) == pytest.approx(value, abs=0.051)
    flags = {row[0]: row[-1].strip() for row in rows if row[-1].strip()}
    assert set(flags.values()) == {"constant"}


def test_scores_agreement_and_tasks_are_those_of_the_library(page, crowd):
    votes, result, truth = crowd
    scores = cw.evaluate(result, truth)
    shown = {row[0]: float(row[1]) for row in page.tables["Scores"][1:]}
    assert shown["root mean squared error"] == pytest.approx(scores.rmse, rel=1e-3)
    assert shown["correlation (Pearson)"] == pytest.approx(scores.pearson, rel=1e-3)
    assert shown["truth inside the interval"] == pytest.approx(scores.coverage, rel=1e-3)
    for (name, value, *_), found in zip(
        page.tables["Agreement"][1:], cw.workers.study(votes, result).agreement, strict=True
    ):
        assert name == found.name
        assert float(value) == pytest.approx(found.value, abs=0.0006)
    table = tasks_to_review(votes, result)
    assert [row[0] for row in page.tables["Tasks to ask again"][1:]] == table["task"].head(100).to_list()


def test_who_said_what_stands_with_each_task(page, crowd):
    votes, _, _ = crowd
    said = votes.to_frame()
    task, cell = (page.tables["Tasks to ask again"][1][i] for i in (0, -1))
    for worker, value in said.filter(pl.col("task") == task).select("worker", "value").iter_rows():
        assert f"{value:g} {worker}" in cell


def test_downloads_hold_the_tables(page, crowd):
    votes, result, _ = crowd
    labels = pl.read_csv(io.StringIO(page.download("labels.csv")))
    np.testing.assert_allclose(labels["value"].to_numpy(), result.mean, rtol=1e-5)
    assert pl.read_csv(io.StringIO(page.download("quality.csv")))["worker"].to_list() == votes.workers.to_list()
    assert len(pl.read_csv(io.StringIO(page.download("tasks.csv")))) == votes.n_tasks


def test_drawings_are_there_and_say_what_they_show(written):
    labels = re.findall(r'<svg class="chart"[^>]*aria-label="([^"]*)"', written)
    assert "How 1,200 answers and 200 estimates are spread" in labels
    assert "Estimates against the truth of 200 tasks" in labels
    assert 'style="' not in written
    assert "onclick" not in written


def test_gold_that_the_fit_was_told_does_not_judge_it(crowd):
    votes, blind, truth = crowd
    told = cw.numbers.Mean().fit(votes, gold=truth)
    assert "cannot be used to evaluate" in cw.report.render(votes, told, truth=truth)
    judged = cw.report.render(votes, told, truth=truth, blind=blind)
    rmse = re.search(r'data-score="rmse">([\d.]+)<', judged).group(1)
    assert float(rmse) == pytest.approx(cw.evaluate(blind, truth).rmse, rel=1e-3)
    assert "No task has a known truth" in cw.report.render(votes, blind)


def test_strangers_names_are_text_even_as_names_of_parts(number_page):
    page = Page(number_page)
    assert {row[0] for row in page.tables["Workers"][1:]} == {text.shown(p) for p in PAYLOADS}
    assert len(page.scripts) == 2
    for tag, attributes in page.tags:
        assert tag not in {"iframe", "object", "embed", "link", "base", "form", "img", "video", "audio", "template"}
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    ids = [a["id"] for _, a in page.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert "<script>alert(1)</script>" in "".join(page.text)


def test_small_and_odd_crowds_have_a_page():
    for task, worker, value in (
        (["t"], ["w"], [3.0]),
        ([1, 1, 2, 2], [*"abab"], [5.0, 5.0, 5.0, 5.0]),
        ([1, 1, 2], [*"aba"], [1e140, -1e140, 0.0]),
        ([1, 1, 2], [*"aba"], [1e-9, 2e-9, 3e-9]),
    ):
        votes = cw.numbers.number_votes(task, worker, value, tasks=[*dict.fromkeys(task), "z" if task == ["t"] else 9])
        page = cw.report.render(votes, cw.numbers.Mean().fit(votes))
        assert "no answers" in page
        body = re.sub(r'"data:[^"]*"', "", page.partition("<main>")[2].partition("</main>")[0])
        assert not re.search(r"\b(nan|inf)\b", body)


def test_a_method_without_intervals_says_so(crowd):
    votes, _, _ = crowd
    page = cw.report.render(votes, cw.numbers.Median().fit(votes))
    assert "has no intervals; other methods, such as combined, do" in page


def test_a_scale_of_steps_has_a_bar_for_each_and_a_slip_does_not_flatten_the_others():
    ratings = np.array([1.0, 2, 2, 3, 3, 3, 5])
    np.testing.assert_allclose(bar_edges(ratings, ratings), [0.5, 1.5, 2.5, 3.5, 4.5, 5.5])
    assert histogram(ratings, ratings, "x").count("<rect") == 5
    answers = np.concatenate([np.random.default_rng(0).normal(0, 1, 2000), [1e9]])
    assert bar_edges(answers, answers)[-1] < 10


def test_a_level_does_not_go_with_numbers(crowd):
    votes, result, _ = crowd
    with pytest.raises(cw.ParameterError, match="level does not go with numbers"):
        cw.report.render(votes, result, level="ordinal")


def test_which_tasks_to_ask_again():
    rng = np.random.default_rng(1)
    task, worker = np.repeat(np.arange(100), 6), np.tile(np.arange(6), 100)
    keep = (task != 7) | (worker == 0)  # task 7 has one answer
    value = rng.normal(50, 15, 100)[task] + rng.normal(0, 2, len(task))
    value[task == 13] = [10, 90, 12, 88, 11, 91]
    votes = cw.numbers.number_votes(task[keep], worker[keep], value[keep], tasks=range(101))
    table = tasks_to_review(votes, cw.numbers.Gaussian().fit(votes))
    why = dict(table.select("task", "why").iter_rows())
    assert {t for t, words in why.items() if words} == {7, 13, 100}
    assert why[7] == "only one answer"
    assert why[13].startswith("the answers differ more")
    assert why[100] == "no answers"
    assert table["task"][0] == 100


def test_plots_and_notebooks(crowd):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    votes, result, truth = crowd
    ax = result.plot.workers(limit=10)
    spread = dict(result.worker_table().select("worker", "spread").iter_rows())
    names = [t.get_text() for t in ax.get_yticklabels()]
    assert len(names) == 10
    assert names == sorted(names, key=lambda w: -spread[w])
    drawn = result.plot.estimates(truth).lines[-1]
    np.testing.assert_allclose(np.sort(drawn.get_ydata()), np.sort(result.mean))
    assert len(result.plot.estimates(limit=7).get_yticklabels()) == 7
    with pytest.raises(cw.DataError, match="do the task ids match"):
        result.plot.estimates({"elsewhere": 1})
    with pytest.raises(cw.DataError, match="gold in the fit"):
        cw.numbers.Mean().fit(votes, gold=truth).plot.estimates(truth)
    with pytest.raises(cw.ParameterError, match="limit"):
        result.plot.workers(limit=0)
    several = cw.numbers.number_votes([1, 1], [*"ab"], np.array([[1.0, 2.0], [3.0, 4.0]]), parts=["x", "<b>"])
    other = cw.numbers.Mean().fit(several)
    with pytest.raises(cw.ParameterError, match="give part="):
        other.plot.workers()
    assert other.plot.workers(part="x").get_xlabel() == "bias ± spread"
    page = other._repr_html_()
    assert "<b>&lt;" not in page
    assert "value &lt;b&gt;" in page
    assert result._repr_html_().count("<tr>") == 11
    matplotlib.pyplot.close("all")
