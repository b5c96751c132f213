"""Workers by distances between answers: alpha against its definition, planted workers found, honest ones left alone."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.annotations import ClassHooks
from crowdwise.kinds.numbers.maths.workers import reliability
from crowdwise.stats.agreement import Sums, alpha, terms
from crowdwise.stats.distance_based import TaskRows, closeness, pairs_within_tasks
from crowdwise.workers import distance_based as study_module
from crowdwise.workers.distance_based import FlagInputs, answer_codes, by_distance, distance_flags
from crowdwise.workers.timing import speed

from ..conftest import planted


def unlike(label, i, j):
    return (label[i] != label[j]).astype(float)


def rows_of(votes):
    return TaskRows(votes.task, votes.worker, votes.n_tasks, votes.n_workers)


@pytest.mark.parametrize("labels", [2, 3, 6, 9])
def test_every_pair_of_a_task_is_met_once(labels):
    votes, _, _ = planted(n=40, m=12, k=3, labels=labels, seed=1)
    i, j = pairs_within_tasks(rows_of(votes), np.random.default_rng(0))
    assert (votes.task[i] == votes.task[j]).all()
    pairs = {(min(a, b), max(a, b)) for a, b in zip(i.tolist(), j.tolist(), strict=True)}
    assert len(pairs) == len(i) == 40 * labels * (labels - 1) // 2


def test_alpha_is_krippendorffs():
    votes, _, _ = planted(n=300, m=20, k=4, labels=5, seed=2)
    found = closeness(rows_of(votes), partial(unlike, votes.label))
    counts = votes.votes.astype(float)
    sums = Sums.of(terms(counts, np.zeros(len(counts), dtype=np.int64), 1)[0], 4)
    exact = float(alpha(sums, "nominal", np.arange(4.0)))
    assert found.alpha == pytest.approx(exact, abs=0.01)
    assert found.alpha_low < exact < found.alpha_high
    assert found.alpha_high - found.alpha_low < 0.2


def test_dealt_out_answers_follow_nothing():
    """A worker whose answers are dealt out has 0 whatever their habits; a copy of the truth has the most."""
    rng = np.random.default_rng(3)
    votes, truth, _ = planted(n=600, m=15, k=4, labels=6, seed=3)
    label = votes.label.copy()
    label[votes.worker == 0] = np.where(rng.random((votes.worker == 0).sum()) < 0.8, 1, 2)
    label[votes.worker == 1] = truth[votes.task[votes.worker == 1]]
    found = closeness(rows_of(votes), partial(unlike, label))
    assert abs(found.follows[0]) < 3 * found.error[0] + 1e-9
    assert found.follows.argmax() == 1
    assert (found.error > 0).all()


def classes_by_distance(monkeypatch):
    """Classes seen through the general study."""
    hooks = {
        "distance": lambda answers, i, j: unlike(answers.label, i, j),
        "estimated_answers": lambda votes, result: type(votes.answers)(
            np.asarray(result.posterior.argmax(1), dtype=votes.label.dtype), votes.classes
        ),
    }
    for name, function in hooks.items():
        monkeypatch.setattr(ClassHooks, name, lambda self, *args, function=function: function(*args))


def look(votes, astray=None):
    rows = rows_of(votes)
    close = closeness(rows, partial(unlike, votes.label))
    return distance_flags(votes, FlagInputs(rows, close, answer_codes(votes), astray, by_distance(close)), speed(votes))


def test_planted_workers_are_found(monkeypatch):
    classes_by_distance(monkeypatch)
    rng = np.random.default_rng(4)
    votes, truth, _ = planted(n=800, m=30, k=12, labels=5, seed=4)
    label = votes.label.copy()
    label[votes.worker == 0] = 3
    random = votes.worker == 1
    label[random] = rng.integers(12, size=random.sum())
    # 3 copies 2 where both met, and 2 errs often
    two = {int(t): int(c) for t, c in zip(votes.task[votes.worker == 2], label[votes.worker == 2], strict=True)}
    for row in np.flatnonzero(votes.worker == 2):
        if rng.random() < 0.6:
            two[int(votes.task[row])] = int((truth[votes.task[row]] + rng.integers(1, 12)) % 12)
            label[row] = two[int(votes.task[row])]
    task, worker, said = votes.task.tolist(), votes.worker.tolist(), label.tolist()
    keep = [w != 3 for w in worker]
    task, worker, said = ([v for v, k in zip(x, keep, strict=True) if k] for x in (task, worker, said))
    for t, c in two.items():
        task.append(t), worker.append(3), said.append(c)
    made = cw.Annotations.from_arrays(task, worker, said)
    found = study_module.study_by_distance(made, cw.MajorityVote().fit(made))
    flags = {(flag.worker, flag.name) for flag in found.flags}
    assert {(0, "constant"), (1, "random"), (2, "copying"), (3, "copying")} <= flags
    assert {w for w, name in flags if name != "unknown"} == {0, 1, 2, 3}
    assert found.agreement[0].value > 0.2
    table = found.quality
    assert table.filter(table["worker"] == 0)["follows"][0] == pytest.approx(0, abs=0.03)
    assert any("Workers" in block.title for block in found.blocks(5, 3) if hasattr(block, "title"))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 20])
@pytest.mark.parametrize("uneven", [False, True])
def test_honest_workers_are_left_alone(k, uneven, monkeypatch):
    classes_by_distance(monkeypatch)
    flagged = honest = 0
    for seed in range(8):
        rng = np.random.default_rng([k, uneven, seed])
        n, m, labels = 300, 40, 6
        prior = np.r_[0.8, np.full(k - 1, 0.2 / (k - 1))] if uneven else np.full(k, 1 / k)
        truth = rng.choice(k, size=n, p=prior)
        ability, ease = rng.uniform(0.55, 0.97, m), rng.normal(0, 1, n)
        task = np.repeat(np.arange(n), labels)
        worker = np.argsort(rng.random((n, m)), axis=1)[:, :labels].ravel()
        right = 1 / (1 + np.exp(-(np.log(ability / (1 - ability))[worker] + ease[task])))
        tempting = (truth + 1) % k
        wrong = np.where(rng.random(len(task)) < 0.6, tempting[task], (truth[task] + rng.integers(1, k, len(task))) % k)
        said = np.where(rng.random(len(task)) < right, truth[task], wrong)
        votes = cw.Annotations.from_arrays(task, worker, said)
        found = study_module.study_by_distance(votes, cw.MajorityVote().fit(votes))
        flagged += len({f.worker for f in found.flags if f.name != "unknown"})
        honest += m
    assert flagged <= 0.002 * honest + 1


def test_squared_gaps_of_numbers_give_the_interval_alpha():
    rng = np.random.default_rng(5)
    task, worker = np.repeat(np.arange(200), 4), np.tile(np.arange(4), 200)
    value = rng.normal(size=200)[task] + rng.normal(0, 0.5, 800)
    votes = cw.numbers.number_votes(task, worker, value)
    from crowdwise.kinds.numbers.fitting import rows_of as number_rows

    exact = reliability(number_rows(votes)[0]).alpha[0]
    top = (value.max() - value.min()) ** 2
    got = closeness(rows_of(votes), lambda i, j: (votes.answers.value[i, 0] - votes.answers.value[j, 0]) ** 2 / top)
    assert got.alpha == pytest.approx(exact, abs=0.02)


def test_nothing_to_say():
    one = cw.Annotations.from_arrays([1, 2], ["a", "b"], ["x", "y"])
    found = closeness(rows_of(one), partial(unlike, one.label))
    assert np.isnan(found.alpha)
    assert found.n_tasks == 0
    assert {flag.name for flag in look(one)} == {"unknown"}
