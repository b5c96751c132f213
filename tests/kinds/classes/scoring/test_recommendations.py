"""What would settle a label: more votes where they tell something, an expert where they have had their say."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.evaluation.statement import settled_at
from crowdwise.kinds.classes.scoring.recommendations import AMBIGUOUS, EXPERT, NOTHING, VOTE, WORTH, recommend
from tests.conftest import planted


def crowd_with_a_riddle():
    """200 tasks of 5 labels by good workers; 10 riddles with 40 labels, half of each; 10 tasks with one label."""
    rng = np.random.default_rng(4)
    rows = []
    for task in range(200):
        true = int(rng.integers(2))
        for worker in rng.choice(40, 5, replace=False).tolist():
            rows.append((f"t{task:03d}", worker, true if rng.random() < 0.85 else 1 - true))
    for task in range(10):
        rows += [(f"riddle{task}", w, x) for w, x in zip(range(40), rng.permutation([0, 1] * 20).tolist(), strict=True)]
        rows.append((f"new{task}", int(rng.integers(40)), int(rng.integers(2))))
    task, worker, label = zip(*rows, strict=True)
    return cw.Annotations.from_arrays(task, worker, [f"c{x}" for x in label], tasks=[*dict.fromkeys(task), "nobody"])


def test_a_task_that_has_had_its_votes_needs_an_expert():
    votes = crowd_with_a_riddle()
    result = cw.MajorityVote().fit(votes)
    found = recommend(votes, result)
    riddle = votes.tasks.str.starts_with("riddle").to_numpy()
    assert (found.kind[riddle] == EXPERT).all()
    assert (found.p_ambiguous[riddle] > 0.7).all()
    assert 1 < found.typical_votes[riddle][0] < 5
    plain = votes.tasks.str.starts_with("t").to_numpy()
    assert (found.kind[plain] != EXPERT).all()
    assert (found.kind[plain] == VOTE).sum() > 20
    assert found.kind[votes.tasks.to_list().index("nobody")] == VOTE
    assert (found.kind[(result.confidence >= 0.9) & (votes.labels_per_task > 0)] == NOTHING).all()
    why = dict(cw.tasks.contested(votes, result).select("task", "why").iter_rows())
    said = {name: text for name, text in why.items() if name.startswith("riddle")}
    tossed = found.p_ambiguous[riddle] >= AMBIGUOUS
    assert 0 < tossed.sum() < 10
    for name, toss in zip(sorted(said), tossed, strict=True):
        start = (
            "its labels look like a coin toss between 'c"
            if toss
            else "still undecided after 40 labels (about 4 usually suffice)"
        )
        assert said[name].startswith(start)


@pytest.mark.parametrize("method", ["dawid_skene", "committee", "majority_vote"])
def test_ill_luck_among_independent_workers_is_no_riddle(method):
    """Where every task has an answer and workers err on their own, no task is stuck, and votes on thin tasks help."""
    votes, _, _ = planted(n=400, m=60, k=3, labels=8, seed=2)
    found = recommend(votes, cw.method(method).fit(votes))
    assert not found.is_stuck.any()
    assert (found.gain[found.kind == EXPERT, -1] > 0).all()
    thin, _, _ = planted(n=400, m=60, k=3, labels=2, seed=2)
    few = recommend(thin, cw.method("one_coin" if method == "dawid_skene" else method).fit(thin))
    assert few.n_vote > 3 * few.n_expert
    assert few.n_vote > found.n_vote


def test_votes_are_asked_for_as_far_as_each_is_worth_it():
    """Workers who are right 7 times in 10: what m votes bring on an even task, by drawing them."""
    votes, truth, _ = planted(n=2000, m=20, k=2, labels=4, low=0.7, high=0.7)
    even = np.eye(2)[truth]
    even[:5] = 0.5
    fit = cw.OneCoin().fit(votes)
    found = recommend(votes, replace(fit, estimate=replace(fit.estimate, posterior=even)))
    rng = np.random.default_rng(0)
    up = rng.binomial(1, 0.7, (40_000, 2)).sum(axis=1)
    right = ((up == 2) + 0.5 * (up == 1)).mean()
    assert (found.gain[:5, 1] <= right - 0.5 + 0.03).all()
    assert (found.gain[:5, 0] > WORTH).all()
    assert (found.kind[:5] == VOTE).all()
    m = found.votes[:5].astype(int)
    net = found.gain[:5] - WORTH * np.arange(1, 11)
    assert (net[np.arange(5), m - 1] == net.max(axis=1)).all()
    assert np.isnan(found.votes[5:]).all()
    assert (found.kind[5:] == NOTHING).all()


CLEAN = [(k, labels) for k in (2, 4, 10) for labels in (2, 5)]


@pytest.mark.parametrize(("k", "labels"), CLEAN)
def test_votes_are_asked_for_only_where_they_help(k, labels):
    """Good crowds without gold: what the method allows for crowds that are wrong alike is no doubt about a task."""
    crowd = simulate.scenario("hammer_spammer", tasks=600, workers=30, classes=k, labels=labels, seed=1)
    votes = crowd.annotations
    result = cw.Adaptive().fit(votes)
    found = recommend(votes, result)
    asked, wrong = found.kind == VOTE, result.labels != crowd.truth
    one = found.reaches_level & (found.votes == 1)  # a single vote may add less where it lifts the label to the level
    assert ((found.expected >= WORTH * found.votes - 1e-12) | one)[asked].all()
    rest = found.kind == NOTHING
    assert wrong[rest].mean() < 0.1
    assert wrong[asked].mean() > 2 * wrong[rest].mean()
    if labels == 5:
        assert asked.mean() < 0.15
        assert (found.kind == EXPERT).mean() < 0.05


def test_a_full_panel_needs_few_experts_and_no_votes():
    crowd = simulate.scenario("one_coin", tasks=300, workers=6, classes=3, labels=6, seed=1)
    result = cw.Adaptive().fit(crowd.annotations)
    found = recommend(crowd.annotations, result)
    assert found.n_vote == 0
    assert 0 < found.n_expert < 45
    wrong = result.labels != crowd.truth
    assert wrong[found.kind == EXPERT].mean() > 5 * wrong[found.kind == NOTHING].mean()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one_coin", "hard_tasks", "hammer_spammer", "adversaries"])
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("error", [0.05, 0.1])
def test_what_is_to_be_settled_is_in_the_forecast(name, k, error):
    """Tasks that votes "may settle" rise to the level at least: the forecast must hold what that adds up to."""
    votes = simulate.scenario(name, tasks=400, workers=30, classes=k, labels=3, seed=2).annotations
    for method in ("adaptive", "committee", "majority_vote"):
        result = cw.method(method).fit(votes)
        made = cw.active.plan(votes, result=result, load=10_000, error=error)
        settles = made.need.reaches_level
        text = [row for row in made.tasks.to_dicts() if "may settle it" in row["why"]]
        assert len(text) == settles.sum()
        missing = (settled_at(error) - result.confidence[settles]).sum()
        assert missing <= made.rise * votes.n_tasks + 1e-9
        assert made.rise * votes.n_tasks == pytest.approx(made.need.expected.sum())


def test_where_the_crowd_cannot_tell_two_classes_apart_votes_do_not_help():
    rng = np.random.default_rng(1)
    rows = [(t, w, int(rng.integers(2))) for t in range(200) for w in rng.choice(10, 3, replace=False).tolist()]
    task, worker, label = zip(*rows, strict=True)
    votes = cw.Annotations.from_arrays(task, worker, label)
    result = cw.MajorityVote().fit(votes)
    blind = replace(result, estimate=replace(result.estimate, posterior=np.full_like(result.posterior, 0.5)))
    assert (recommend(votes, blind).kind == EXPERT).all()
    table = cw.tasks.contested(votes, blind)
    assert set(table["why"]) <= {f"this crowd hardly distinguishes {a} from {1 - a}" for a in (0, 1)}


def test_degenerate_crowds():
    one = cw.Annotations.from_arrays(["t"], ["w"], ["c"], tasks=["t", "u"])
    found = recommend(one, cw.MajorityVote().fit(one))
    assert found.kind.tolist() == [NOTHING, VOTE]
    split = cw.Annotations.from_arrays(["t", "t"], ["v", "w"], ["a", "b"])
    assert recommend(split, cw.MajorityVote().fit(split)).kind.tolist() == [EXPERT]
    assert cw.tasks.contested(split, cw.MajorityVote().fit(split))["why"][0] == "every worker has answered it"


def test_many_workers_and_classes_are_weighed_by_an_average_worker(monkeypatch):
    votes = crowd_with_a_riddle()
    result = cw.MajorityVote().fit(votes)
    exact = recommend(votes, result)
    monkeypatch.setattr("crowdwise.kinds.classes.scoring.recommendations._BLOCK_SIZE", 10)
    again = recommend(votes, result)
    np.testing.assert_array_equal(again.kind, exact.kind)
    np.testing.assert_allclose(again.evidence_ratio, exact.evidence_ratio)
    monkeypatch.setattr("crowdwise.kinds.classes.scoring.recommendations._MAX_CELLS", 100)
    rough = recommend(votes, result)
    assert rough.typical_votes[exact.kind > 0] == pytest.approx(exact.typical_votes[exact.kind > 0], rel=0.5)
    monkeypatch.setattr("crowdwise.kinds.classes.scoring.recommendations._MAX_CELLS", 3)
    assert set(recommend(votes, result).kind.tolist()) == {NOTHING, VOTE}
    assert len(cw.tasks.contested(votes, result)) == votes.n_tasks


def test_what_to_do_first_is_on_top():
    votes = crowd_with_a_riddle()
    table = cw.tasks.contested(votes, cw.classes.Committee().fit(votes))
    order = [("vote", "expert", "look", "").index(todo) for todo in table["todo"]]
    assert order == sorted(order)
    assert table["task"][0] == "nobody"
    asked = table.filter(pl.col("todo") == "vote").slice(1)
    gain = (asked["gain"] / asked["votes"]).to_numpy()
    assert (np.diff(gain) <= 1e-12).all()
    assert table.filter(pl.col("todo") == "expert")["confidence"].is_sorted()
    assert table.filter(pl.col("todo") != "vote")["votes"].null_count() == (table["todo"] != "vote").sum()


def test_the_reason_says_what_the_other_columns_do_not():
    """Weak workers, too few labels, and good workers who disagree: three reasons for the same doubt."""
    rng = np.random.default_rng(5)
    rows = []
    for task in range(300):
        true, weak = int(rng.integers(2)), task < 60
        crowd = range(20, 30) if weak else range(20)
        for worker in rng.choice(list(crowd), 1 if task < 90 and not weak else 5, replace=False).tolist():
            right = rng.random() < (0.6 if worker >= 20 else 0.8)
            rows.append((f"{task:03d}", worker, true if right else 1 - true))
    task, worker, label = zip(*rows, strict=True)
    votes = cw.Annotations.from_arrays(task, worker, label)
    table = cw.tasks.contested(votes, cw.classes.Hierarchical().fit(votes)).filter(pl.col("todo") == "vote")
    cause = table.with_columns(cause=pl.col("why").str.split("; ").list.first(), number=pl.col("task").cast(pl.Int64))
    weak = cause.filter(pl.col("cause") == "labelled by workers of below-average accuracy")
    assert len(weak) > 10
    assert (weak["number"] < 60).all()
    few = cause.filter(pl.col("cause").str.starts_with("few labels: "))
    assert len(few) > 10
    assert (few["n_labels"] == 1).mean() > 0.9
    assert cause["cause"].n_unique() >= 3


@pytest.mark.data
def test_thirty_nine_labels_need_no_fortieth(crowdwise_cli, tmp_path):
    data = cw.datasets.load("bluebird")
    data.annotations.to_frame().write_csv(tmp_path / "votes.csv")
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "-o", tmp_path / "run")
    assert code == 0
    assert re.search(r"\d+ tasks need an expert: more votes of this crowd would hardly help", err)
    assert "another vote" not in err
    page = tmp_path / "page.html"
    assert crowdwise_cli("report", tmp_path / "run", "-o", page)[0] == 0
    text = page.read_text(encoding="utf-8")
    n = int(re.search(r'data-number="expert">(\d+)<', text).group(1))
    assert n > 20
    assert 'data-number="more">0<' in text
    assert f"Show {n} tasks to an expert" in text
    assert re.search(r"still undecided after 39 labels \(about \d usually suffice\)", text)


@pytest.mark.data
def test_riddles_of_a_real_set_are_said_to_be_a_toss():
    votes = cw.datasets.load("sp_amt").annotations
    table = cw.tasks.contested(votes, cw.classes.Committee().fit(votes))
    why = table.filter(pl.col("todo") == "expert")["why"]
    assert why.str.contains("^its labels look like a coin toss between '[01]' and '[01]'$").sum() > 10


@pytest.mark.data
def test_where_labels_are_few_more_votes_are_asked_for():
    votes = cw.datasets.load("web").annotations
    found = recommend(votes, cw.classes.Hierarchical().fit(votes))
    assert found.n_vote > 200
    assert (votes.labels_per_task[found.kind == VOTE]).mean() < votes.labels_per_task.mean() + 0.5
