"""A planted crowd at the real API: same crowd for all policies, fewer answers than fixed overlap, what ends it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.client.records import Batch, Receipt, Stop, Task
from crowdwise.core.errors import ParameterError
from crowdwise.server.config import Config
from crowdwise.server.simulated_clients import compare, drive
from crowdwise.server.simulated_clients.crowd import SimulatedCrowd, plant

ENOUGH = Stop("enough", True)
TASKS = [f"t{i}" for i in range(24)]


def test_the_crowd_is_what_was_planted():
    crowd = plant(TASKS, ("a", "b", "c"), seed=3)
    again = plant(TASKS, ("a", "b", "c"), seed=3)
    assert (crowd.answers == again.answers).all()
    truth = {task: crowd.classes[k] for task, k in zip(crowd.tasks, crowd.truth, strict=True)}
    assert crowd.accuracy(truth) == 1.0
    assert crowd.accuracy({}) == 0.0
    right = (crowd.answers == crowd.truth[:, None]).mean()
    assert 0.6 < right < 0.85  # one_coin: between .55 and .9
    given = plant(TASKS, ("a", "b", "c"), truth=dict.fromkeys(TASKS, "b"), seed=3)
    assert set(given.truth.tolist()) == {1}


def test_what_cannot_be_planted_is_said():
    with pytest.raises(ParameterError, match="no crowd"):
        plant(TASKS, ("a", "b"), crowd="nobody")
    with pytest.raises(ParameterError, match="'t1' is missing"):
        plant(TASKS, ("a", "b"), truth={"t0": "a"})


class Worker:
    """A server that hands out so many tasks and then stops."""

    def __init__(self, tasks, stop=ENOUGH):
        self.left, self.stop, self.said = [Task(t, {}) for t in tasks], stop, []

    def next(self):
        return Batch((self.left.pop(0),)) if self.left else Batch((), self.stop)

    def answer(self, task, answer, following):
        assert following == 1
        self.said.append((task.id, answer))
        return Receipt(len(self.said), task.id, "counted", next=self.next())


def crowd_of(n):
    return SimulatedCrowd(
        ("x", "y"), tuple(f"w{i}" for i in range(n)), ("a", "b"), np.zeros(2, np.int64), np.zeros((2, n), np.int16)
    )


def test_driving_ends_when_the_project_does_or_nobody_gets_a_task():
    one, two = Worker(["x", "y"]), Worker(["x"])
    n, why = drive([one, two], crowd_of(2), seed=1)
    assert why == "enough"
    assert n == len(one.said) + len(two.said)
    waiting = Worker(["x"], Stop("nothing at present", False))
    assert drive([waiting], crowd_of(1)) == (1, "nothing at present")
    assert drive([Worker(["x", "y"])], crowd_of(1), answers=1) == (1, "1 answers were asked for")
    assert drive([Worker(["x", "y"])], crowd_of(1), progress=lambda n: True) == (1, "it was enough")


def test_policies_beside_fixed_overlap():
    config = Config(question="Which?", classes=("a", "b", "c"), cap=8, target=0.9)
    crowd = plant(TASKS, config.classes, workers=10, seed=3)
    fixed, adaptive = compare(config, crowd, ["information"], accuracy=0.9, seed=3)
    assert fixed.policy == "fixed overlap"
    assert fixed.needed == fixed.answers
    assert adaptive.needed is not None
    assert adaptive.needed < fixed.needed
    assert adaptive.why == "no task is open"
    assert adaptive.accuracy >= 0.9
    assert adaptive.answers <= 8 * len(TASKS)


def test_the_command(tmp_path, capfd):
    from crowdwise.cli import main

    def run(*arguments):
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        return stop.value.code, *capfd.readouterr()

    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps({"id": t, "text": t}) + "\n" for t in TASKS))
    folder = tmp_path / "p"
    made = [
        "project",
        "create",
        folder,
        "--question",
        "Which?",
        "--classes",
        "a,b",
        "--tasks",
        tmp_path / "tasks.jsonl",
    ]
    assert run(*made)[0] == 0
    code, out, err = run("project", "simulate", folder, "--tasks", 12, "--workers", 6, "--accuracy", 0.8, "--json")
    assert code == 0, err
    assert [each["policy"] for each in json.loads(out)] == ["fixed overlap", "information"]
    code, _, err = run("project", "simulate", folder, "--crowd", "numbers_plain")
    assert (code, err.count("\n")) == (2, 1)
    code, _, err = run("project", "simulate", "http://127.0.0.1:9", "--tasks", 3)
    assert (code, "apply to a folder only" in err) == (2, True)
