"""next, estimate and accept on every kind: on real sets where there are some with truth, else on simulated crowds."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.active.by_loss import MOST, gains, loss_of_disagreement
from crowdwise.evaluation.guarantee.verdicts import agreement
from tests.data import data_folder

# A real set of each kind with truth, what is estimated, and what counts as right.
REAL = {
    "boxes": ("boxes_street", "score", ("--min-score", ".5")),
    "numbers": ("affect_anger", "error", ("--within", "30")),
    "texts": ("text_speech", "score", ("--min-score", ".5")),
    "spans": ("spans_pico", "score", ("--min-score", ".3")),
    "probabilities": ("prob_knowledge", "score", ("--min-score", ".5")),
}
SIMULATED = ("sets", "spans", "boxes", "texts", "rankings", "probabilities", "outlines")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("kind", REAL)
def test_real_sets(kind, crowdwise_cli, tmp_path):
    name, metric, right = REAL[kind]
    folder = data_folder() / name
    truth = cw.read_truth(folder / "truth.csv")
    gold = tmp_path / "gold.csv"
    (truth.sample(min(len(truth) * 2 // 3, 60), seed=1)).write_csv(gold)
    votes = [next(folder.glob("labels.csv*")), "--kind", kind]
    code, out, err = crowdwise_cli(
        "estimate", *votes, "--metric", metric, "--gold", gold, "--sampling", "random", "--json"
    )
    assert code == 0, err
    figure = json.loads(out)
    assert figure["low"] <= figure["value"] <= figure["high"]
    code, out, err = crowdwise_cli("accept", *votes, "--gold", gold, *right, "--error", ".5", "-o", tmp_path / "run")
    assert code == 0, err
    accepted = pl.read_csv(tmp_path / "run" / "accepted.csv", infer_schema=False)
    assert accepted.columns == ["task", "label", "confidence", "by"]
    code, out, err = crowdwise_cli("next", *votes, "--budget", "20", "--json")
    assert code == 0, err
    plan = json.loads(out)
    assert 0 < plan["n_votes"] <= 20
    assert plan["loss_then"] < plan["loss_now"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", SIMULATED)
def test_the_estimated_score_is_that_of_all_tasks(kind):
    crowd = simulate.scenario(f"{kind}_plain", tasks=30 if kind == "outlines" else 200, workers=12, labels=4, seed=3)
    votes, truth = crowd.votes, crowd.truth_table()
    result = cw.method(votes.kind.default).fit(votes)
    gold = truth.sample(len(truth) // 2, seed=2)
    figure = cw.estimate(result, gold=gold, metric="score", sampling="random", votes=votes, level=0.999)
    _, scores = votes.kind.hooks.task_scores(votes, result, truth)
    assert figure.low <= scores.mean() <= figure.high
    assert figure.display_name == votes.kind.hooks.score_name


def test_the_score_of_spans_is_the_f1_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rows = [("t", w, '[[0, 4, "A"], [6, 9, "A"]]') for w in "abc"]
    votes = cw.spans.span_votes(*zip(*rows, strict=True))
    result = cw.method("span_majority").fit(votes)
    _, score = votes.kind.hooks.task_scores(votes, result, pl.DataFrame({"task": ["t"], "spans": ['[[2, 9, "A"]]']}))
    ours, true = np.zeros(9), np.zeros(9)
    ours[0:4] = ours[6:9] = true[2:9] = 1
    assert score[0] == pytest.approx(metrics.f1_score(true, ours))


def test_the_error_of_numbers_by_hand():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=100)
    task = np.repeat(np.arange(100), 3)
    votes = cw.numbers.number_votes(task, np.tile(np.arange(3), 100), truth[task] + rng.normal(size=300))
    result = cw.method("mean").fit(votes)
    gold = {i: truth[i] for i in range(0, 100)}
    figure = cw.estimate(result, gold=gold, metric="error", sampling="random", votes=votes)
    assert figure.value == pytest.approx(np.abs(np.asarray(result.mean) - truth).mean(), abs=1e-9)


def test_accepted_numbers_keep_the_promise():
    wrong = []
    for seed in range(40):
        crowd = simulate.scenario("numbers_plain", tasks=200, workers=10, labels=3, seed=seed)
        result = cw.method("mean").fit(crowd.votes)
        truth = crowd.truth_table()
        gold = truth.sample(90, seed=seed)
        accepted = cw.accept(result, gold=gold, votes=crowd.votes, within=8, error=0.2).accepted
        rows = accepted.filter(pl.col("by") == "verdict").join(truth, on="task")
        off = (rows["label"].cast(pl.Float64) - rows["value"]).abs() > 8
        wrong.append(float(off.mean()) if len(rows) else 0.0)
    assert np.mean(np.array(wrong) > 0.2) <= 0.2  # 10 % are allowed; 40 crowds


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("boxes", {}, "--min-score"),
        ("boxes", {"within": 3}, "--within.*is for numbers"),
        ("numbers", {}, "--within"),
        ("numbers", {"min_score": 0.5}, "--min-score.*is for answers with a score"),
    ],
)
def test_what_counts_as_right_is_asked_for(kind, options, words):
    crowd = simulate.scenario(f"{kind}_plain", tasks=30, workers=8, labels=3, seed=1)
    result = cw.method(crowd.votes.kind.default).fit(crowd.votes)
    with pytest.raises(cw.ParameterError, match=words):
        cw.accept(result, gold=crowd.truth_table(), votes=crowd.votes, error=0.3, **options)


def test_disagreement_by_hand():
    votes = cw.texts.text_votes(["s", "s", "t", "t"], [*"abab"], ["x y", "x y", "x y", "x z"])
    loss = loss_of_disagreement(votes)
    # Distances 0 and 1/2, each shrunk by three pairs of the mean 1/4; two answers each.
    assert loss == pytest.approx([0.75 / 4 / 2, (0.5 + 0.75) / 4 / 2])
    assert agreement(votes, cw.method("medoid").fit(votes))[0] == 1.0


def test_gains_rise_with_votes_and_fall_with_answers():
    table = gains(np.array([1.0, 1.0, 1.0]), np.array([0, 1, 4]))
    assert table.shape == (3, MOST)
    assert (np.diff(table, axis=1) > 0).all()
    assert (np.diff(table[:, 0]) < 0).all()
    assert table[1, 2] == pytest.approx(0.5)  # one answer becomes four


def test_planned_votes_go_where_answers_differ():
    rows = [(f"t{i}", w, "a b c d" if i < 10 else f"{w} {i} x y") for i in range(20) for w in "ab"]
    votes = cw.texts.text_votes(*zip(*rows, strict=True))
    plan = cw.active.plan(votes, budget=10, workers=["a", "b", "new"])
    assert plan.n_votes == 10
    assert set(plan.tasks["task"]) <= {f"t{i}" for i in range(10, 20)}
    assert {name for names in plan.tasks["ask"] for name in names} == {"new"}
