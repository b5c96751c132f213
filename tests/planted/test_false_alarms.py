"""Independent crowds: nobody copies, and nobody honest may be accused. The worst cells of the benchmark, few seeds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate, workers
from crowdwise.kinds.classes.workers.dependence import spammer_scores
from crowdwise.kinds.classes.workers.judgement import Judgement
from crowdwise.stats.information import spammer_score
from crowdwise.workers.flags import NAMES, RATES, false_alarms
from tests.crowds.independent import Found, independent, measure

DENSE, DENSE_UNEVEN, DENSE_TEMPTED = 3, 7, 11  # seeds: everybody labels everything


def good_and_guessers(k, seed, n=300, good=20, bad=10):
    """Twenty good workers and ten who guess, all independent; ten labels a task."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    right = np.r_[rng.uniform(0.7, 0.95, good), np.full(bad, 1 / k)]
    worker = np.argsort(rng.random((n, good + bad)), axis=1)[:, :10].ravel()
    task = np.repeat(np.arange(n), 10)
    wrong = (truth[task] + rng.integers(1, k, len(task))) % k
    said = np.where(rng.random(len(task)) < right[worker], truth[task], wrong)
    return cw.Annotations.from_arrays(task, worker, said, classes=range(k)), truth


@pytest.mark.parametrize("k", [10, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_good_workers_among_guessers_are_no_ring_where_classes_are_many(k, seed):
    votes, truth = good_and_guessers(k, seed)
    result = cw.classes.Hierarchical().fit(votes)
    flags = workers.collusion_flags(votes, result) + workers.spammer_flags(votes, result)
    assert not [f for f in flags if f.worker < 20]
    assert not [name for group in workers.dependence_groups(votes) for name in group]
    before = (result.posterior.argmax(axis=1) == truth).mean()
    out = workers.drop_flagged(votes, flags)
    assert (cw.classes.Hierarchical().fit(out.annotations).posterior.argmax(axis=1) == truth).mean() >= before - 0.01


@pytest.mark.parametrize("kind", ["sd 1", "sd 2"])
@pytest.mark.parametrize("k", [2, 3, 10])
def test_hard_and_tempting_tasks_make_no_ring(k, kind):
    """GLAD's own crowds: who is good errs on the same hard tasks as others who are good."""
    for seed in (DENSE, DENSE_TEMPTED):
        votes, _ = independent(k, kind, seed)
        assert workers.collusion_flags(votes, cw.classes.Hierarchical().fit(votes)) == []


def test_all_flags_together_stay_below_two_in_a_thousand():
    cells = [(2, "sd 2"), (5, "sd 2"), (10, "sd 1"), (3, "guessers")]
    found = Found()
    for k, kind in cells:
        found += measure(k, kind, range(DENSE_UNEVEN - 1, DENSE_UNEVEN + 1))
    assert found.any_flag <= 0.002 * found.honest
    assert sum(found.by_name.values()) <= 0.005 * found.honest


def test_the_measured_rates_are_low_and_of_many():
    made = json.loads(RATES.read_text(encoding="utf-8"))
    assert set(made["flagged"]) == set(NAMES) - {"unknown", "coachable"}  # neither accuses anybody
    assert made["honest"] >= 20_000
    for name in ("constant", "random", "adversarial", "colluding", "copying", "outlier", "drift"):
        flagged, honest = false_alarms(name)
        assert flagged <= 0.001 * honest, name


def test_copiers_stand_out_where_tasks_are_hard_too():
    """The null that excuses honest workers on hard tasks must not excuse copiers."""
    votes, _ = independent(3, "sd 1", DENSE)
    rng = np.random.default_rng(0)
    said = np.full((votes.n_tasks, votes.n_workers), -1)
    said[votes.task, votes.worker] = votes.label
    for copier in (40, 41, 42):
        taken = rng.random(votes.n_tasks) < 0.95
        said[taken, copier] = said[taken, 39]
    changed = cw.Annotations.from_arrays(votes.task, votes.worker, said[votes.task, votes.worker])
    flags = workers.collusion_flags(changed, cw.classes.Hierarchical().fit(changed))
    assert {f.worker for f in flags} == {39, 40, 41, 42}


def test_who_labels_alone_is_no_guesser():
    """Most tasks have one label, and each worker's are of few classes: the labels lean, but they follow the truth."""
    rng = np.random.default_rng(3)
    task, worker, said, k = [], [], [], 15
    for w in range(60):
        mine = rng.choice(k, 3, replace=False)
        for _ in range(30):
            true, i = rng.choice(mine), len(set(task))
            task.append(i)
            worker.append(w)
            said.append(true if rng.random() < 0.6 else rng.integers(k))
            if rng.random() < 0.3:
                task.append(i)
                worker.append((w + 1 + rng.integers(58)) % 60)
                said.append(true if rng.random() < 0.6 else rng.integers(k))
    votes = cw.Annotations.from_arrays(task, worker, said, duplicates="first")
    flags = workers.spammer_flags(votes, cw.classes.Hierarchical().fit(votes))
    assert len([f for f in flags if f.name in ("random", "constant")]) <= 1


@pytest.mark.parametrize(("k", "labels"), [(10, 3), (10, 5), (20, 5)])
def test_intervals_of_spammer_scores_cover_where_classes_are_many(k, labels):
    inside = []
    for seed in range(6):
        crowd = simulate.crowd(300, k, [simulate.OneCoin(20, low=0.55, high=0.95)], simulate.PerTask(labels), seed=seed)
        score, low, high = spammer_scores(
            Judgement(crowd.annotations, cw.classes.Hierarchical().fit(crowd.annotations))
        )
        true = spammer_score(crowd.confusion)
        inside += ((low <= true) & (true <= high)).tolist()
        assert ((low <= score) & (score <= high)).all()
    assert np.mean(inside) >= 0.88
