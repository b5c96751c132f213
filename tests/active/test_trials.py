"""Trials: labels saved against fixed overlap, sure tasks that are right, replays ahead of chance, quick answers."""

from __future__ import annotations

import time

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import active
from crowdwise.active import NextTask, OnlineModel, Session, Settings, Stopping
from crowdwise.active.trials import drawn

from ..conftest import planted


@pytest.mark.data
def test_a_replay_is_ahead_of_chance():
    data = cw.datasets.load("rte")
    n = len(data.annotations)
    chosen, chance = (
        active.replay(data.annotations, data.truth, policy, every=n // 20, until=0.92, seed=0).needed(0.92)
        for policy in ("information", "random")
    )
    assert chosen < 0.6 * n
    assert chosen < 0.75 * chance


@pytest.mark.slow
def test_a_replay_asks_every_recorded_vote_once():
    votes, truth, _ = planted(n=40, m=10, k=3, labels=4, seed=1)
    for policy in ("random", "information"):
        trial = active.replay(votes, dict(enumerate(truth.tolist())), policy, seed=1)
        assert trial.queries[-1] == len(votes)
        np.testing.assert_array_equal(trial.n_labels, votes.labels_per_task)
        assert trial.why == "no open task is left"
    whole = OnlineModel.of(votes)
    whole.settle(max_rounds=2)
    np.testing.assert_array_equal(whole.posterior.argmax(axis=1), trial.labels)
    assert trial.to_table().columns == ["queries", "accuracy", "expected"]
    assert trial.needed(2.0) == float("inf")


def test_what_a_worker_would_say_is_the_same_for_all_policies():
    truth = np.arange(30) % 3
    table = np.full((5, 3, 3), 0.1) + 0.7 * np.eye(3)
    np.testing.assert_array_equal(drawn(truth, table, 1), drawn(truth, table, 1))
    assert (drawn(truth, table, 1) != drawn(truth, table, 2)).any()
    assert (drawn(np.repeat(truth, 100), table, 3) == np.repeat(truth, 100)[:, None]).mean() == pytest.approx(
        0.8, abs=0.02
    )


@pytest.mark.slow
def test_an_answer_takes_milliseconds_whatever_the_number_of_tasks():
    """The short form of `python -m benchmarks.active speed`: CPU time, 95th percentile, at 1,000 and 30,000 tasks."""
    found = {}
    for n in (1_000, 30_000):
        rng = np.random.default_rng(0)
        model = OnlineModel(10, n_tasks=n, n_workers=200)
        for task, worker in zip(
            rng.integers(n, size=2 * n).tolist(), rng.integers(200, size=2 * n).tolist(), strict=True
        ):
            model.update(task, worker, int(task % 10 if rng.random() < 0.7 else rng.integers(10)))
        session = Session(model, stop=Stopping(target=1.0), settings=Settings(sweep_at=0.0), seed=0)
        took = []
        for worker in rng.integers(200, size=400).tolist():
            asked = session.ask(worker)
            assert isinstance(asked, NextTask)
            begun = time.process_time()
            session.tell(asked.task, worker, asked.task % 10)
            again = session.ask(worker)
            took.append(time.process_time() - begun)
            session.release(again.task, worker)
        found[n] = float(np.percentile(took[20:], 95))
    assert found[30_000] < 0.005
    assert found[30_000] < 5 * found[1_000] + 0.001
