"""Plans: votes go where they bring most, within the budget; what votes cannot settle needs an expert."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.active import plan
from crowdwise.active.allocate import allocate, steps
from crowdwise.kinds.classes.scoring.recommendations import drift, forecast_gain
from crowdwise.stats.information import counts_as

from ..conftest import planted


def test_the_budget_goes_where_a_vote_brings_most():
    gain = np.array([[0.1, 0.15, 0.16], [0.0, 0.3, 0.3], [0.0, 0.0, 0.0], [0.04, 0.06, 0.07]])
    most = np.array([3, 3, 3, 1])
    task, votes, slope = steps(gain, most)
    assert task.tolist() == [1, 0, 0, 3, 0]
    assert votes.tolist() == [2, 1, 1, 1, 1]
    assert (np.diff(slope) <= 1e-12).all()
    assert allocate(gain, most, 3).tolist() == [1, 2, 0, 0]
    assert allocate(gain, most, 0).tolist() == [0] * 4
    assert allocate(gain, most, 99).tolist() == [3, 2, 0, 1]
    assert allocate(gain, np.zeros(4, int), 99).tolist() == [0] * 4


def test_what_votes_bring_is_what_drawing_them_shows():
    """Workers who are right 7 times in 10; the gain of 1, 3 and 8 votes on even and leaning tasks, by simulation."""
    table = np.array([[[0.7, 0.3], [0.3, 0.7]]])
    q = np.array([[0.5, 0.5], [0.8, 0.2], [0.95, 0.05]])
    none = np.zeros(3)
    found = forecast_gain(q, none, none, table, np.ones(1), 10, dependence=0.0)
    rng = np.random.default_rng(0)
    for m in (1, 3, 8):
        for row, expected in zip(q, found[:, m - 1], strict=True):
            first = rng.random(40_000) < row[0]
            up = rng.binomial(m, np.where(first, 0.7, 0.3))
            odds = np.log(row[0] / row[1]) + (2 * up - m) * np.log(7 / 3)
            said = np.where(np.abs(odds) < 1e-9, rng.random(len(odds)) < 0.5, odds > 0)
            assert expected == pytest.approx((said == first).mean() - row[0], abs=0.05)
    assert (np.diff(found, axis=1) >= 0).all()
    late = forecast_gain(q, np.full(3, 5.0), np.full(3, 40.0), table, np.ones(1), 10, dependence=0.0)
    assert (late[:, 3] < 0.5 * found[:, 3] + 1e-9).all()
    mean, spread = drift(table, np.ones(1))
    assert mean[0, 1] == pytest.approx(0.4 * np.log(7 / 3))
    assert spread[0, 1] == pytest.approx(0.84 * np.log(7 / 3) ** 2)


def test_labels_of_one_task_count_as_fewer_the_more_there_are():
    assert counts_as(np.array([0.0, 1.0, 2.0, 5.0]), 0.5).tolist() == [1, 1, 1 / 1.5, 1 / 3]
    table, q = np.array([[[0.7, 0.3], [0.3, 0.7]]]), np.full((4, 2), 0.5)
    had, none = np.array([0.0, 1.0, 3.0, 10.0]), np.zeros(4)
    gain = forecast_gain(q, had, none, table, np.ones(1), 10)
    assert (np.diff(gain, axis=0) < 0).all()
    alone = forecast_gain(q, had, none, table, np.ones(1), 10, dependence=0.0)
    np.testing.assert_allclose(alone, np.broadcast_to(alone[:1], alone.shape))
    np.testing.assert_allclose(gain[0, 0], alone[0, 0])
    assert (gain[0, 1:] <= alone[0, 1:]).all()


@pytest.mark.slow
def test_a_budget_reaches_tasks_that_are_hard_to_settle_but_not_those_that_are_stuck():
    """A crowd that is right 35 times in 100 of four classes: few tasks can be settled with ten votes."""
    votes = planted(n=800, m=40, k=4, labels=4, seed=3, low=0.3, high=0.4)[0]
    made = plan(votes, budget=200)
    given = made.tasks.filter(pl.col("votes") > 0)
    assert made.n_votes == 200
    assert set(given["todo"]) == {"vote"}
    assert (made.need.reaches_level[np.isin(votes.tasks.to_numpy(), given["task"].to_numpy())]).sum() < 20
    assert plan(votes).tasks.filter(pl.col("todo") == "expert")["votes"].sum() == 0


def test_only_pairs_that_may_be_asked_are():
    votes = planted(n=60, m=12, k=3, labels=3, seed=1)[0]
    rng = np.random.default_rng(0)
    pairs = {(int(t), int(w)) for t, w in zip(rng.integers(0, 60, 150), rng.integers(0, 12, 150), strict=True)}
    made = plan(votes, budget=40, pairs=sorted(pairs), load=100)
    named = {(row["task"], w) for row in made.tasks.to_dicts() for w in row["ask"]}
    answered = set(zip(votes.task.tolist(), votes.worker.tolist(), strict=True))
    assert len(named) == made.n_votes == 40
    assert named <= pairs - answered
    table = pl.DataFrame(sorted(pairs), schema=["task", "worker"], orient="row")
    for same in (table, table.to_pandas(), pairs):
        assert plan(votes, budget=40, pairs=same, load=100).tasks.equals(made.tasks)
    some = plan(votes, budget=40, pairs=table, workers=[1, 2], load=100)
    assert {w for row in some.tasks["ask"].to_list() for w in row} <= {1, 2}
    assert plan(votes, budget=3, pairs=[(5, 99)]).n_new == 1
    for wrong, words in (
        ([(99, 1)], "first: '99'"),
        (7, "got int"),
        ([1, 2], "must be"),
        (table.rename({"task": "id"}), "there is no column task"),
        ([], "none of them"),
        (pl.DataFrame({"task": [None, "1"], "worker": ["1", "2"]}), "lacks"),
    ):
        with pytest.raises(cw.DataError, match=words):
            plan(votes, budget=3, pairs=wrong, workers=[1])


def test_a_plan_keeps_to_budget_cost_load_and_workers():
    votes, _, skill = planted(n=200, m=12, k=3, labels=3, seed=1)
    made = plan(votes, budget=60)
    assert made.n_votes == 60 == made.tasks["votes"].sum()
    assert made.cost == 60
    assert made.accuracy[1] > made.accuracy[0]
    for row in made.tasks.filter(pl.col("votes") > 0).to_dicts():
        assert len(row["ask"]) == row["votes"] == len(set(row["ask"]))
        here = votes.worker[votes.task_offsets[row["task"]] : votes.task_offsets[row["task"] + 1]]
        assert not set(row["ask"]) & set(here.tolist())
    asked = made.tasks["ask"].explode().drop_nulls().to_numpy()
    assert skill[asked].mean() > skill.mean()
    assert np.bincount(asked).max() <= np.ceil(3 * 60 / 12)
    few = plan(votes, budget=60, workers=[0, 1, "2"], load=4)
    assert set(few.tasks["ask"].explode().drop_nulls().to_list()) <= {0, 1, 2}
    assert few.n_votes <= 12
    cheap = plan(votes, budget=10.0, cost={w: 0.5 if w < 6 else 5.0 for w in range(12)})
    assert cheap.cost <= 10.0
    assert (np.array(cheap.tasks["ask"].explode().drop_nulls().to_list()) < 6).mean() > 0.9
    nothing = plan(votes, budget=0)
    assert nothing.n_votes == 0
    assert nothing.sentences()[0] == "no further vote is worth its cost"
    with pytest.raises(cw.DataError, match="not in the list: ann"):
        plan(votes, workers=["ann"])
    new = plan(votes, budget=5, workers=[77])
    assert new.n_new == 1
    assert any("1 of the workers have no answers yet" in line for line in new.sentences())
    assert set(new.tasks["ask"].explode().drop_nulls().to_list()) == {77}


def test_without_a_budget_every_doubtful_task_gets_what_settles_it():
    votes, _, _ = planted(n=150, m=40, k=3, labels=3, seed=1)
    made = plan(votes, load=1000)
    wanted = made.tasks.filter(pl.col("todo") == "vote")
    assert made.need.n_vote == len(wanted)
    assert (wanted["votes"] > 0).all()
    assert made.n_later == 0


def test_where_everybody_has_answered_an_expert_is_asked_for():
    rng = np.random.default_rng(0)
    rows = [(t, w, int((t % 2) ^ (rng.random() < 0.25))) for t in range(200) for w in range(4)]
    task, worker, label = zip(*rows, strict=True)
    votes = cw.Annotations.from_arrays(task, worker, label)
    made = plan(votes, budget=100)
    assert made.n_votes == 0
    assert made.n_expert == made.need.n_vote + made.need.n_expert > 0
    assert "all available workers have answered it" in made.tasks["why"].to_list()


def test_degenerate_votes():
    one = cw.Annotations.from_arrays(["t"], ["w"], ["c"], tasks=["t", "u"])
    assert plan(one, budget=5).n_votes <= 1
    split = cw.Annotations.from_arrays(["t", "t"], ["v", "w"], ["a", "b"])
    assert plan(split, budget=5).n_votes == 0
    for wrong in ({"budget": -1}, {"budget": float("nan")}, {"workers": []}, {"load": 0}, {"cost": 0.0}, {"cost": {}}):
        with pytest.raises(cw.CrowdwiseError):
            plan(split, **wrong)
    numbers = cw.numbers.number_votes([1, 1], ["a", "b"], [1.0, 2.0])
    assert plan(numbers).n_votes == 0  # both have answered the only task
    for wrong in ({"budget": -1}, {"workers": []}, {"load": 0}, {"cost": 0.0}):
        with pytest.raises(cw.CrowdwiseError):
            plan(numbers, **wrong)


@pytest.mark.slow
def test_the_command(crowdwise_cli, tmp_path):
    votes, _, _ = planted(n=80, m=12, k=3, labels=3, seed=1)
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    code, out, err = crowdwise_cli("next", tmp_path / "votes.csv", "--budget", "15", "-o", tmp_path / "plan.csv")
    assert code == 0
    assert "15 more votes on" in err
    assert "Ask for votes" in out
    table = pl.read_csv(tmp_path / "plan.csv")
    assert table["votes"].sum() == 15
    code, _, err = crowdwise_cli("next", tmp_path / "votes.csv", "-o", tmp_path / "plan.csv")
    assert code == 2
    assert "exists" in err
    (tmp_path / "crew.csv").write_text("worker,cost\n1,0.5\n2,2\n3,1\n")
    crew = tmp_path / "crew.csv"
    code, out, _ = crowdwise_cli(
        "next", tmp_path / "votes.csv", "--budget", "4", "--workers", crew, "--cost", crew, "--json"
    )
    found = json.loads(out)
    assert code == 0
    assert found["cost"] <= 4
    assert {w for task in found["tasks"] for w in task["ask"]} <= {"1", "2", "3"}
    assert crowdwise_cli("aggregate", tmp_path / "votes.csv", "-o", tmp_path / "run")[0] == 0
    assert crowdwise_cli("next", tmp_path / "run", "--budget", "3")[0] == 0
    (tmp_path / "may.csv").write_text("task,worker\n3,1\n3,2\n4,1\n")
    code, out, _ = crowdwise_cli(
        "next", tmp_path / "run", "--budget", "9", "--pairs", tmp_path / "may.csv", "--json", "--load", "9"
    )
    found = json.loads(out)
    assert code == 0
    assert {(task["task"], w) for task in found["tasks"] for w in task["ask"]} <= {("3", "1"), ("3", "2"), ("4", "1")}
    code, _, err = crowdwise_cli("next", tmp_path / "run", "--pairs", crew)
    assert code == 2
    assert "there is no column task" in err


def test_the_sentence_states_one_forecast():
    """Votes, tasks and the rise of right labels are sums over one table; the level after is the level before and it."""
    made = plan(planted(n=80, m=12, k=3, labels=3, seed=1)[0], budget=15)
    assert made.n_votes == made.tasks["votes"].sum() > 0
    assert made.n_vote == (made.tasks["votes"] > 0).sum()
    assert made.rise == pytest.approx(made.tasks["gain"].sum() / 80)
    assert made.rise > 0.002
    for now in (0.8, 1.0):
        first = made.since(now).sentences()[0]
        begin = f"{made.n_votes} more votes on {made.n_vote} tasks at a cost of {made.cost:g}: the forecast is a rise "
        then = min(now + made.rise, 1.0)
        level = f"from about {now:.1%} to about {then:.1%}" if then > now else "by less than 0.1 percentage points"
        assert first.startswith(begin + level)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--budget", "-3"], "the budget must be 0 or more"),
        (["--cost", "nowhere.csv"], "there is no such file"),
        (["--workers", ","], "--workers holds no name"),
        (["--load", "0"], "load must be at least 1"),
        (["--cost", "0"], "the cost of a vote must be above 0"),
    ],
)
def test_the_command_refuses_in_one_line(crowdwise_cli, tmp_path, options, said):
    votes, _, _ = planted(n=20, m=5, k=2, labels=3)
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    code, _, err = crowdwise_cli("next", tmp_path / "votes.csv", *options)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.data
def test_thirty_nine_votes_and_still_torn_is_a_case_for_an_expert():
    votes = cw.datasets.load("bluebird").annotations
    made = plan(votes, budget=500)
    assert made.n_votes == 0
    assert made.n_expert > 20
    assert any("39 labels" in why for why in made.tasks["why"])


@pytest.mark.data
@pytest.mark.parametrize("name", ["dog", "web"])
def test_votes_that_next_asks_for_bring_more_than_votes_on_the_least_certain_tasks(name):
    """The short form of `python -m benchmarks.active advice`: a tenth of the labels, four splits."""
    data = cw.datasets.load(name)
    votes, gained = data.annotations, {"next": [], "entropy": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        mask = rng.random(len(votes)) < 0.4
        kept, held = votes.take(np.flatnonzero(mask)), rng.permutation(np.flatnonzero(~mask))
        fit = cw.classes.Committee().fit(kept)
        names = votes.tasks.gather(votes.task[held]), votes.workers.gather(votes.worker[held])
        may = pl.DataFrame(dict(zip(("task", "worker"), names, strict=True)))
        made = cw.active.plan(kept, budget=len(votes) // 10, result=fit, pairs=may, load=len(votes))
        asked = made.tasks.select("task", worker="ask").explode("worker").drop_nulls()
        rows = may.with_columns(row=pl.Series(held)).join(asked, on=["task", "worker"], how="semi")["row"].to_numpy()
        assert len(rows) == made.n_votes == len(votes) // 10
        doubt = -(fit.posterior * np.log(fit.posterior)).sum(axis=1)
        # One vote each, the least certain task first; then a second round.
        turn = pl.DataFrame({"task": votes.task[held]}).select(pl.int_range(pl.len()).over("task")).to_series()
        order = np.lexsort((-doubt[votes.task[held]], turn.to_numpy()))
        for way, chosen in (("next", rows), ("entropy", held[order[: len(rows)]])):
            more = votes.take(np.sort(np.concatenate([np.flatnonzero(mask), chosen])))
            gained[way].append(cw.evaluate(cw.classes.Committee().fit(more), data.truth).expected_accuracy)
    assert np.mean(gained["next"]) > np.mean(gained["entropy"]) + 0.01
