"""The variance of an evaluation: what is read, decided and printed."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError
from crowdwise.evaluation.variance import StudyDesign, half_width


def log(prompts=40, answers=2, judges=3, repeats=2, systems=2, seed=0, sd=None):
    """One row per verdict, with planted standard deviations."""
    sd = {"prompt": 0.7, "interaction": 0.5, "answer": 0.5, "judge": 0.3, "rest": 0.4} | (sd or {})
    rng = np.random.default_rng(seed)
    draw = {name: rng.normal(size=(prompts, systems, answers, judges)) * sd[name] for name in sd}
    rows = [
        (f"q{p}", f"s{s}", a, f"j{j}", draw["prompt"][p, 0, 0, 0] + draw["interaction"][p, s, 0, 0]
         + draw["answer"][p, s, a, 0] + draw["judge"][0, 0, 0, j] + rng.normal() * sd["rest"])
        for p, s, a, j, _ in product(*map(range, (prompts, systems, answers, judges, repeats)))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["prompt", "system", "answer", "judge", "score"], orient="row")


def test_the_half_width_is_that_of_the_mean_over_new_data():
    """The spread of differences of two systems over new data sets, against what one data set says."""
    differences, stated = [], []
    for seed in range(80):
        rows = log(prompts=25, seed=seed)
        means = rows.group_by("system").agg(pl.col("score").mean()).sort("system")["score"]
        differences.append(means[0] - means[1])
        stated.append(cw.variance(rows, level=0.6827).half_width)
    assert np.mean(stated) == pytest.approx(np.std(differences), rel=0.2)


def test_what_to_buy_follows_from_what_varies():
    prompts = cw.variance(log(sd={"interaction": 1.0, "answer": 0.05, "rest": 0.1}))
    assert prompts.next_best["buy"][0] == "prompts"
    answers = cw.variance(
        log(answers=2, sd={"interaction": 0.05, "answer": 1.0, "rest": 0.1}),
        prices={"prompt": 50, "answer": 1, "verdict": 0.01},
    )
    assert answers.next_best["buy"][0] == "answers"
    study = cw.variance(log())
    assert study.next_best["half_width"].is_sorted()
    assert (study.next_best["half_width"] <= study.half_width).all()


def test_a_plan_reaches_its_target_at_the_least_cost():
    prices = {"prompt": 1.0, "answer": 0.1, "verdict": 0.02}
    study = cw.variance(log(), prices=prices, target=0.15)
    design, cost, half = study.plan
    assert half <= 0.15
    assert cost == pytest.approx(design.cost(prices))
    fewer = StudyDesign(design.prompt - 1, design.answer, design.raters, design.repeat, design.system)
    rows = log()
    from crowdwise.evaluation.variance import _read, _terms
    from crowdwise.stats.variance_components import variance_components

    y, factors, _ = _read(rows, "score")
    assert half_width(variance_components(y, factors, _terms(factors)), fewer, 0.9) > 0.15
    with pytest.raises(DataError, match="no design"):
        cw.variance(rows.drop("system"), target=1e-6)


def test_verdicts_in_words_and_other_names():
    rows = log()
    passed = rows.with_columns(score=pl.when(pl.col("score") > 0).then(pl.lit("Pass")).otherwise(pl.lit("fail")))
    number = rows.with_columns(score=(pl.col("score") > 0).cast(pl.Float64))
    assert cw.variance(passed).to_dict() == cw.variance(number).to_dict()
    renamed = rows.rename({"prompt": "task", "judge": "worker", "score": "grade"})
    assert cw.variance(renamed, score="grade").table.equals(cw.variance(rows).table)
    pairs = rows.drop("system").with_columns(
        score=pl.when(pl.col("score") > 0.3).then(pl.lit("A")).when(pl.col("score") < -0.3).then(pl.lit("B"))
        .otherwise(pl.lit("tie"))
    )  # fmt: skip
    assert 0 < cw.variance(pairs).mean < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop("prompt"), "no column prompt"),
        (lambda rows: rows.drop("score"), "no column 'score'"),
        (lambda rows: rows.with_columns(score=pl.lit("maybe")), "must be numbers, yes/no"),
        (lambda rows: rows.with_columns(prompt=pl.lit("q")), "one prompt only"),
        (lambda rows: rows.with_columns(score=pl.lit(float("nan"))), "infinite values or NaN"),
    ],
)
def test_what_cannot_be_read(change, message):
    with pytest.raises(DataError, match=message):
        cw.variance(change(log(prompts=4)))


def test_what_is_asked_for_must_make_sense():
    for options, message in (
        ({"prices": {"tokens": 1}}, "'tokens' is none"),
        ({"prices": {"verdict": -1}}, "0 or more"),
        ({"level": 2}, "between 0 and 1"),
        ({"target": 0}, "above 0"),
    ):
        with pytest.raises(ParameterError, match=message):
            cw.variance(log(prompts=4), **options)


def test_the_command_line(tmp_path, crowdwise_cli):
    rows = log(prompts=10)
    rows.rename({"judge": "grader"}).write_csv(tmp_path / "log.csv")
    options = ("--columns", "judge=grader", "--prices", "prompt=1,verdict=.02")
    code, out, err = crowdwise_cli("variance", tmp_path / "log.csv", *options)
    assert (code, "prompt × judge" in out, "The next 100" in out) == (0, True, True), err
    assert "3 judges" in err
    code, out, _ = crowdwise_cli("variance", tmp_path / "log.csv", *options, "--json")
    study = cw.variance(rows, prices={"prompt": 1, "verdict": 0.02})
    assert json.loads(out)["half_width"] == pytest.approx(study.half_width)
    for wrong, message in (("judge=nobody", "no column 'nobody'"), ("judge", "NAME=VALUE")):
        code, _, err = crowdwise_cli("variance", tmp_path / "log.csv", "--columns", wrong)
        assert (code, message in err) == (2, True), err
