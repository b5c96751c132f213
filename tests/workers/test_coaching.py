"""Whom a word may help, and who leads the lists: planted swaps, honest crowds, lucky workers with one label."""

from __future__ import annotations

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise import simulate
from crowdwise.workers.studied import best_and_worst, best_first, worst_first

from ..conftest import planted


def swapped_crowd(seed=3):
    """Ten honest workers of three classes; the first says c2 for c1, the second is right on about half of the tasks."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=300)
    rows = []
    for worker in range(10):
        for task in rng.choice(300, 150, replace=False).tolist():
            true = int(truth[task])
            label = true if rng.random() < (0.55 if worker == 1 else 0.85) else int((true + rng.integers(1, 3)) % 3)
            if worker == 0 and true == 1:
                label = 2 if rng.random() < 0.95 else 1
            rows.append((f"t{task}", f"w{worker}", f"c{label}"))
    task, worker, label = zip(*rows, strict=True)
    return cw.Annotations.from_arrays(task, worker, label), truth


def test_a_steady_confusion_is_named_as_it_is_seen():
    votes, truth = swapped_crowd()
    look = cw.workers.study(votes, cw.classes.Hierarchical().fit(votes))
    found = {flag.worker: flag for flag in look.coachable}
    assert set(found) == {"w0", "w1"}
    seen = found["w0"]
    n = sum(truth[int(t[1:])] == 1 for t in votes.to_frame().filter(pl.col("worker") == "w0")["task"])
    words, _, rest = seen.evidence.partition(" of ")
    assert words.startswith("labels 'c1' as 'c2' in 9")
    assert words.endswith(" %")
    assert abs(int(rest.split()[0]) - n) <= 0.1 * n
    assert seen.probability > 0.999
    assert np.mean([truth[int(task[1:])] == 1 for task in seen.tasks]) > 0.9
    assert found["w1"].evidence.startswith("right on about 5")
    assert "the crowd on" in found["w1"].evidence
    assert not any(word in flag.evidence for flag in look.coachable for word in ("knows", "wants", "tries", "lies"))


def test_honest_crowds_and_spammers_have_nobody_to_coach():
    votes, _, _ = planted(n=400, m=20, k=3, labels=8, low=0.75, high=0.9)
    assert cw.workers.coachable(votes, cw.classes.Hierarchical().fit(votes)) == []
    groups = [simulate.OneCoin(8, low=0.75, high=0.9), simulate.Constant(2, label=0)]
    crowd = simulate.crowd(200, 3, groups, simulate.PerTask(6), seed=1)
    look = cw.workers.study(crowd.annotations, cw.classes.Hierarchical().fit(crowd.annotations))
    assert {flag.name for flag in look.flags} == {"constant"}
    assert look.coachable == []
    one = cw.Annotations.from_arrays(["t"], ["w"], ["c"])
    assert cw.workers.coachable(one, cw.MajorityVote().fit(one)) == []


def test_luck_with_one_label_leads_neither_list():
    table = pl.DataFrame(
        {
            "worker": ["lucky", "sure", "good", "unlucky", "bad", "nobody"],
            "n_labels": [1, 200, 100, 1, 300, 0],
            "skill": [0.95, 0.93, 0.94, 0.2, 0.3, 0.7],
            "skill_low": [0.4, 0.9, 0.85, 0.01, 0.25, 0.1],
            "skill_high": [0.99, 0.96, 0.98, 0.8, 0.35, 0.9],
        }
    )
    assert best_first(table)["worker"].to_list() == ["sure", "good", "lucky", "bad", "unlucky"]
    assert worst_first(table)["worker"].to_list() == ["bad", "unlucky", "sure", "good", "lucky"]
    best, worst = best_and_worst(table, 2)
    assert (best["worker"].to_list(), worst["worker"].to_list()) == (["sure", "good"], ["bad", "unlucky"])
    best, worst = best_and_worst(table, 3)
    assert (len(best), len(worst)) == (5, 0)


def yes_or_no(seed, source=None):
    """Eight good workers on yes/no questions, and one who guessed on 196 of 400, with luck."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=400)
    skill = rng.uniform(0.75, 0.95, size=8)
    rows = [
        (i, f"w{w}", int(truth[i] if rng.random() < skill[w] else 1 - truth[i]))
        for i in range(400)
        for w in rng.choice(8, 4, replace=False)
    ]
    rows += [(i, "guess", int(rng.integers(2))) for i in rng.choice(400, 196, replace=False)]
    votes = cw.Annotations.from_arrays(*zip(*rows, strict=True))
    if source is not None:
        votes = votes.about(workers={"worker": votes.workers, "source": [source] * votes.n_workers})
    return votes


def test_a_worker_at_chance_is_not_coached():
    # The guesses of seed 10 were right in 59 % of the cases: too often for the flag, and no sign of knowledge.
    for seed in (3, 10):
        votes = yes_or_no(seed)
        look = cw.workers.study(votes, cw.classes.Hierarchical().fit(votes))
        assert "guess" not in {flag.worker for flag in look.coachable}


def test_models_are_not_coached():
    truth = np.tile(np.arange(3), 60)
    rows = [(i, f"w{w}", int(truth[i])) for i in range(180) for w in range(5)]
    rows += [(i, "swap", int({0: 1, 1: 1, 2: 2}[truth[i]])) for i in range(180)]
    votes = cw.Annotations.from_arrays(*zip(*rows, strict=True))
    result = cw.classes.Hierarchical().fit(votes)
    assert {flag.worker for flag in cw.workers.coachable(votes, result)} == {"swap"}
    model = votes.about(workers={"worker": ["swap"], "source": ["model"]})
    assert cw.workers.coachable(model, result) == []
