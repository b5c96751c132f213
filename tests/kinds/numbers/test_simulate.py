"""Planted crowds of numbers: the same door as for classes, in Python and on the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate as sim

every = pytest.mark.parametrize("name", sim.NUMBER_SCENARIOS)


@every
@pytest.mark.parametrize(("tasks", "workers", "labels"), [(60, 30, 4), (1, 1, 1), (3, 2, 2), (5, 40, 2)])
def test_every_scenario_runs_at_every_size(name, tasks, workers, labels):
    crowd = sim.scenario(name, tasks=tasks, workers=workers, labels=labels, seed=3)
    votes = crowd.votes
    assert votes is crowd.annotations
    assert (votes.kind.name, votes.n_tasks, votes.n_workers) == ("numbers", tasks, workers)
    assert (votes.labels_per_task == labels).all()
    assert crowd.truth.shape == (tasks,)
    assert crowd.truth_table().columns == ["task", "value"]
    assert crowd.worker_table().columns == ["worker", "kind", "copies", "bias", "slope", "spread"]
    assert len(crowd.kind) == len(crowd.copies) == workers
    assert sim.NUMBER_SCENARIOS[name].description


def test_names_stand_in_the_order_of_the_planted_arrays():
    crowd = sim.scenario("numbers_plain", tasks=120, workers=11, seed=2)
    votes, planted = crowd.votes, crowd.planted
    np.testing.assert_array_equal(votes.task, planted.task)
    np.testing.assert_array_equal(votes.worker, planted.worker)
    np.testing.assert_array_equal(votes.answers.value[:, 0], planted.value)
    assert votes.tasks[7] == "t007"
    assert votes.workers[10] == "w10"


def test_same_seed_same_crowd():
    a, b, c = (sim.scenario("numbers_slopes", tasks=50, seed=s) for s in (1, 1, 2))
    assert a.votes.to_frame().equals(b.votes.to_frame())
    assert not a.votes.to_frame().equals(c.votes.to_frame())


@pytest.mark.slow
def test_the_crowds_are_worth_their_names():
    crowds = {name: sim.scenario(name, tasks=300, workers=40, labels=8, seed=1) for name in sim.NUMBER_SCENARIOS}
    kinds = {name: set(crowd.kind) for name, crowd in crowds.items()}
    assert kinds["numbers_plain"] == kinds["numbers_heavy_tails"] == {"honest"}
    assert kinds["numbers_constants"] == {"honest", "constant"}
    assert kinds["numbers_copiers"] == {"honest", "copier"}
    assert kinds["numbers_mixed"] == {"honest", "constant", "random", "reversed", "copier"}
    assert set(crowds["numbers_ratings"].planted.value) == {1.0, 2.0, 3.0, 4.0, 5.0}
    copies = crowds["numbers_copiers"].worker_table().filter(pl.col("kind") == "copier")
    assert copies["copies"].null_count() == 0
    wild = crowds["numbers_heavy_tails"].planted
    tame = crowds["numbers_plain"].planted
    assert _kurtosis(wild) > 3 * _kurtosis(tame)
    for name, crowd in crowds.items():
        found = cw.evaluate(cw.numbers.Combined().fit(crowd.votes), crowd.truth_table())
        assert found.pearson > 0.75, name


def _kurtosis(planted) -> float:
    left = planted.value - planted.truth[planted.task] - planted.bias[planted.worker]
    left /= planted.spread[planted.worker]
    return float((left**4).mean() / (left**2).mean() ** 2)


def test_save_and_read_back(tmp_path):
    crowd = sim.scenario("numbers_copiers", tasks=30, workers=10)
    assert crowd.save(tmp_path / "run") == ["votes.csv", "truth.csv", "workers.csv"]
    back = cw.read(tmp_path / "run" / "votes.csv")
    assert back.to_frame().equals(crowd.votes.to_frame())
    workers = pl.read_csv(tmp_path / "run" / "workers.csv")
    assert workers["copies"].null_count() == 8
    with pytest.raises(cw.DataError, match=r"votes\.csv"):
        crowd.save(tmp_path / "run")
    crowd.save(tmp_path / "run", force=True)


def test_the_command(tmp_path, crowdwise_cli):
    line = ("simulate", "numbers_constants", "--tasks", "40", "--workers", "10", "--seed", "1", "-o", tmp_path / "c")
    code, _, err = crowdwise_cli(*line)
    assert code == 0, err
    assert "Votes(200 numbers, 40 tasks, 10 workers) written to" in err
    want = sim.scenario("numbers_constants", tasks=40, workers=10, seed=1)
    assert cw.read(tmp_path / "c" / "votes.csv").to_frame().equals(want.votes.to_frame())
    code, _, err = crowdwise_cli(*line)
    assert (code, err.count("\n")) == (2, 1)
    assert "votes.csv already" in err
    assert crowdwise_cli(*line, "--force")[0] == 0
    code, out, _ = crowdwise_cli("simulate")
    assert all(name in out for name in sim.NUMBER_SCENARIOS)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"classes": 3}, "classes=3 does not apply to numbers_plain"),
     ({"features": 2}, "features=2 does not apply to numbers_plain"),
     ({"labels": 9, "workers": 4}, "labels=9 labels per task need as many different workers, got workers=4"),
     ({"tasks": 0}, "tasks"), ({"seed": -1}, "seed")],
)  # fmt: skip
def test_errors_name_the_value(options, says):
    with pytest.raises(cw.ParameterError, match=says):
        sim.scenario("numbers_plain", **options)
    with pytest.raises(cw.ParameterError, match="did you mean numbers_plain"):
        sim.scenario("numbers_plian")


def test_workers_who_say_always_the_same_are_not_the_best():
    from crowdwise.workers.tables import number_rows

    crowd = sim.scenario("numbers_constants", tasks=300, workers=30, seed=1)
    constant = {name for name, kind in zip(crowd.votes.workers, crowd.kind, strict=True) if kind == "constant"}
    _, rows = number_rows(cw.numbers.Combined().fit(crowd.votes), limit=len(constant))
    assert not {row[0] for row in rows[: len(constant)]} & constant
    assert {row[0] for row in rows[-len(constant) :]} == constant
