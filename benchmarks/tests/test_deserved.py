"""Whether flags of real sets are deserved: who is no better than chance by the truth, where that is planted."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from benchmarks.flags.deserved import LEAST, held


def crowd():
    """Twelve workers of sixty tasks: four near the truth, four who do not look, four who say one number."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=60)
    task, worker = np.repeat(np.arange(60), 12), np.tile(np.arange(12), 60)
    value = np.where(worker < 4, truth[task] + rng.normal(0, 0.7, 720), rng.normal(size=720))
    value = np.where(worker >= 8, 0.5, value)
    votes = cw.numbers.number_votes(task, worker, value)
    return votes, [(np.arange(len(votes)), votes.answers.value[:, 0], truth[votes.task])]


def test_those_who_look_are_better_than_chance():
    votes, known = crowd()
    found = held(votes, known, range(4))
    assert (found.chance, found.better) == (0, 4)
    assert 0.7 < found.correlation < 0.95


def test_those_who_do_not_look_are_not_nor_who_says_one_thing():
    votes, known = crowd()
    assert held(votes, known, range(4, 12)).chance >= 7
    one = held(votes, known, range(8, 12))
    assert (one.chance, one.better, one.correlation) == (4, 0, 0.0)


def test_who_is_right_upside_down_is_no_better_than_chance():
    votes, [(rows, said, true)] = crowd()
    found = held(votes, [(rows, said, -true)], range(4))
    assert (found.chance, found.better) == (4, 0)
    assert found.correlation < -0.7


def test_few_known_tasks_are_not_checked():
    votes, [(rows, said, true)] = crowd()
    few = votes.task[rows] < LEAST - 1
    found = held(votes, [(rows[few], said[few], true[few])], range(12))
    assert (found.chance, found.better) == (0, 0)
    assert found.words() == ""
