"""Sessions: policies by seed, caps under any order of events, gold, pauses, and stops with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise import active
from crowdwise.active import POLICIES, NextTask, OnlineModel, Session, Settings, Stopped, Stopping
from crowdwise.active.rules import EpsilonGreedy, WorkerStats, best_pair, thompson, upper_bound
from crowdwise.active.stopping import CAP, NOBODY, SURE, WORTH, Flips, Progress
from crowdwise.stats.information import expected_gain


def crowd(seed=0, n=200, m=20, k=3, low=0.6, high=0.95):
    rng = np.random.default_rng(seed)
    skill = rng.uniform(low, high, m)
    table = np.repeat(((1 - skill) / (k - 1))[:, None, None], k, 1).repeat(k, 2)
    table[:, np.arange(k), np.arange(k)] = skill[:, None]
    return rng.integers(k, size=n), table


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("choose", [False, True])
def test_the_same_seed_asks_the_same(policy, choose):
    truth, table = crowd(n=40, m=8)
    stop = Stopping(budget=120)
    one, two = (active.simulate(truth, table, policy, choose=choose, stop=stop, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.n_labels, two.n_labels)
    np.testing.assert_array_equal(one.labels, two.labels)
    other = active.simulate(truth, table, policy, choose=choose, stop=stop, seed=4)
    assert (other.n_labels != one.n_labels).any() or (other.labels != one.labels).any()
    assert int(one.n_labels.sum()) == one.queries[-1] <= 120


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["ask", "tell", "release", "undo"])), max_size=60))
def test_the_cap_holds_under_any_interleaving(events):
    session = Session(OnlineModel(2, n_tasks=3, n_workers=6), stop=Stopping(cap=2, target=1.0), seed=1)
    answered = set()
    for worker, what in events:
        held = session.assigned.get(worker, [])
        if what == "ask":
            asked = session.ask(worker)
            assert isinstance(asked, NextTask | Stopped)
            if isinstance(asked, NextTask):
                assert (asked.task, worker) not in answered
        elif what == "undo" and any(w == worker for _, w in answered):
            task = next(t for t, w in sorted(answered) if w == worker)
            session.undo(task, worker)
            answered.discard((task, worker))
        elif held and what == "release":
            session.release(held[0], worker)
        elif held and what == "tell":
            task = held[0]
            session.tell(task, worker, worker % 2)
            answered.add((task, worker))
        n = session.model.answer_lists.n[:3] + session.task_index.busy[:3]
        assert (n <= 2).all()
        assert session.model.n_labels == len(answered)
        assert session.spent == pytest.approx(len(answered))
        _index_is_sound(session.task_index.priority_buckets)


def _index_is_sound(levels):
    n = levels.n
    np.testing.assert_array_equal(levels.order[levels.place[:n]], np.arange(n))
    assert (np.diff(levels.level[levels.order[:n]]) >= 0).all()
    np.testing.assert_array_equal(levels.start, np.searchsorted(levels.level[levels.order[:n]], np.arange(256)))


def test_the_index_hands_out_the_highest_level_first():
    truth, table = crowd(n=300, m=12)
    session = Session(OnlineModel(3, n_tasks=300, n_workers=12), "uncertainty", seed=0)
    says = np.random.default_rng(0)
    for _ in range(700):
        asked = session.ask(int(says.integers(12)))
        if isinstance(asked, NextTask):
            session.tell(asked.task, asked.worker, int(says.choice(3, p=table[asked.worker, truth[asked.task]])))
    _index_is_sound(session.task_index.priority_buckets)
    best = session.task_index.priority_buckets.best(5, session.model.answer_lists)
    opened = np.flatnonzero(session.task_index.reason == 0)
    priority = session.task_index.priority(opened)
    assert session.task_index.priority(best).min() >= np.sort(priority)[-5] - 1 / 128


def test_tasks_and_workers_may_come_later():
    session = Session(OnlineModel(2), seed=0)
    assert session.ask(0) == Stopped("no task is open", final=True)
    assert session.tell(7, 3, 1) == ""
    assert session.model.n_tasks == 8
    assert isinstance(session.ask(0), NextTask)
    _index_is_sound(session.task_index.priority_buckets)
    session.tell(40, 9, 0)
    _index_is_sound(session.task_index.priority_buckets)
    assert session.task_index.priority_buckets.n_open == 41


def test_a_perfect_worker_needs_one_answer_and_a_crowd_of_spammers_never_stops_before_the_cap():
    model = OnlineModel(2, n_tasks=400, n_workers=8)
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    for task in range(200):
        for worker in range(5):
            model.update(task, worker, int(truth[task]))
    model.settle()
    session = Session(model, settings=Settings(sweep_at=0))
    assert session.tell(300, 0, int(truth[300])) == SURE
    spam = active.simulate(truth[:60], np.full((20, 2, 2), 0.5), "information", stop=Stopping(cap=8), seed=0)
    assert (np.array(spam.reason) == SURE).mean() < 0.1
    assert (spam.n_labels[np.array(spam.reason) == CAP] == 8).all()


def test_every_stop_has_a_reason():
    truth, table = crowd(n=50, m=10)
    capped = active.simulate(truth, table, stop=Stopping(cap=3, target=0.999))
    assert set(capped.reason) <= {SURE, CAP}
    assert capped.why == "no task is open"
    dear = active.simulate(truth, table, stop=Stopping(value=5.0, target=1.0), choose=True)
    assert WORTH in dear.reason
    all_asked = active.simulate(truth, table[:4], stop=Stopping(target=1.0), choose=True)
    assert set(all_asked.reason) == {NOBODY}
    spent = active.simulate(truth, table, stop=Stopping(budget=20))
    assert spent.why == "the budget of 20 is spent"
    right = active.simulate(truth, table, stop=Stopping(accuracy=0.9, target=0.999))
    assert "of the labels are expected to be right" in right.why
    calm = active.simulate(truth, table, stop=Stopping(flips=0.1, window=40, target=0.9999))
    assert calm.why.startswith("of the last 40 answers")


def test_gold_is_mixed_in_and_who_fails_it_is_asked_no_more():
    truth, _ = crowd(n=120, m=6)
    gold = {t: int(truth[t]) for t in range(30)}
    settings = Settings(qualify=10, gold_rate=0.3, floor=0.5)
    session = Session(OnlineModel(3, n_tasks=120, n_workers=6), gold=gold, settings=settings, seed=2)
    rng, seen = np.random.default_rng(1), []
    for step in range(300):
        worker = step % 6
        asked = session.ask(worker)
        if isinstance(asked, Stopped):
            continue
        assert asked.gold == (asked.task in gold)
        if worker == 1:
            seen.append(asked.gold)
        spam = worker == 0
        label = int(rng.integers(3)) if spam else int(truth[asked.task]) if rng.random() < 0.9 else 0
        session.tell(asked.task, worker, label)
    assert all(seen[:10])
    assert 0.1 < np.mean(seen[10:]) < 0.6
    assert "below the floor of 50%" in session.refused(0)
    assert session.refused(1) == ""
    assert isinstance(session.ask(0), Stopped)
    session.pause(1, "asked to rest")
    assert session.ask(1) == Stopped("asked to rest")
    session.resume(1)
    assert isinstance(session.ask(1), NextTask)


def test_gold_that_the_crowd_gets_wrong_makes_the_posterior_softer():
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=300)
    model = OnlineModel(2, n_tasks=300, n_workers=9)
    for task in range(300):
        fooled = rng.random() < 0.3  # everybody together
        for worker in rng.choice(9, 4, replace=False).tolist():
            model.update(task, worker, int(truth[task] != fooled))
    plain = Session(OnlineModel.restore(model.snapshot()))
    plain.sweep()
    known = Session(model, gold={t: int(truth[t]) for t in range(60)})
    known.sweep()
    assert plain.task_index.temperature == 1.0
    assert known.task_index.temperature > 2
    assert (
        known.task_index.posterior[60:].max(axis=1).mean() < plain.task_index.posterior[60:].max(axis=1).mean() - 0.05
    )


def test_loads_are_kept_and_tasks_in_hand_count_half():
    truth, table = crowd(n=60, m=10)
    trial = active.simulate(truth, table, choose=True, settings=Settings(load=15), stop=Stopping(target=0.999))
    assert trial.queries[-1] <= 150
    session = Session(OnlineModel(2, n_tasks=2, n_workers=3), "uncertainty", seed=0)
    first = session.ask(0)
    assert session.ask(1).task != first.task
    assert session.finished() == ""


def test_rules_for_workers():
    rng = np.random.default_rng(0)
    known = WorkerStats(np.array([90.0, 50.0, 1.0]), np.array([100.0, 100.0, 1.0]), np.ones(3), 1000)
    greedy = [EpsilonGreedy()(known, rng) for _ in range(200)]
    assert 0.9 < np.mean(np.array(greedy) == 0) < 1
    assert upper_bound(known, rng) == 2
    drawn = np.bincount([thompson(known, rng) for _ in range(300)], minlength=3)
    assert drawn[0] > drawn[1]
    assert drawn[2] > 20
    dear = WorkerStats(known.right, known.n_answered, np.array([10.0, 1.0, 10.0]), 1000)
    assert thompson(dear, rng) == 1


def test_information_is_nothing_for_a_spammer_or_a_certain_task():
    q = np.array([[0.5, 0.5], [1.0, 0.0], [0.8, 0.2]])
    table = np.array([[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]]])
    told = expected_gain(q, table)
    np.testing.assert_allclose(told[:, 0], 0.0, atol=1e-12)
    np.testing.assert_allclose(told[1], 0.0, atol=1e-12)
    assert told[0, 1] > told[2, 1] > 0
    may = np.ones((3, 2), dtype=bool)
    assert best_pair(q, table, np.ones(2), may, np.random.default_rng(0)) == (0, 1)
    assert best_pair(q, table, np.ones(2), ~may, np.random.default_rng(0)) is None


def test_progress_and_flips():
    progress = Progress()
    for p in (0.9, 0.8):
        progress.change(None, p)
    progress.change(0.8, 1.0)
    mean, low, high = progress.accuracy
    assert mean == pytest.approx(0.95)
    assert 0 < low < mean < high <= 1
    flips = Flips(3)
    for flipped in (True, True, False, False):
        flips.add(flipped)
    assert flips.n == 1
    assert flips.settled(0.34)
    assert not flips.settled(0.3)


def test_unknown_policies_and_settings_are_refused():
    with pytest.raises(cw.CrowdwiseError, match="there is no policy 'best'; take one of random"):
        Session(OnlineModel(2), "best")
    with pytest.raises(cw.CrowdwiseError, match="target"):
        Stopping(target=1.5)
    with pytest.raises(cw.CrowdwiseError, match="explore"):
        Settings(explore=-0.1)


def test_a_task_that_nobody_was_left_for_opens_when_somebody_comes():
    session = Session(OnlineModel(2, n_tasks=1, n_workers=2), stop=Stopping(target=1.0), seed=0)
    for _ in range(2):
        asked = session.ask_any()
        session.tell(asked.task, asked.worker, asked.worker)
    assert isinstance(session.ask_any(), Stopped)
    assert session.ask(2) == NextTask(0, 2)
    session.tell(0, 2, 1)
    assert isinstance(session.ask_any(), Stopped)
    session.undo(0, 1)
    assert session.ask_any() == NextTask(0, 1)
