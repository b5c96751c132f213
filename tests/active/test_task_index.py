"""What is done for one task by compiled steps is what numpy does for all of them."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise.active import OnlineModel, Session, Settings, Stopping
from crowdwise.active.rules import COMPILED, POLICIES
from crowdwise.stats.information import expected_gain


def busy(policy, *, k=3, seed=0, **stop):
    """A session in the middle of its work: answers, tasks in hand, gold, an answer changed and one taken back."""
    rng = np.random.default_rng(seed)
    session = Session(OnlineModel(k, n_tasks=40, n_workers=6), policy, stop=Stopping(**stop), seed=seed,
                      settings=Settings(sweep_at=0.0), gold={3: 1})  # fmt: skip
    for _ in range(120):
        worker = int(rng.integers(6))
        asked = session.ask(worker)
        if rng.random() < 0.9 and hasattr(asked, "task"):
            session.tell(asked.task, worker, int(rng.integers(k)))
    session.tell(3, 1, 0)
    session.tell(3, 1, 1)
    session.undo(3, 1)
    return session


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("stop", [{"cap": 4}, {"target": 0.8, "fewest": 2}, {}])
def test_one_task_at_a_time_is_all_tasks_at_once(policy, stop):
    session = busy(policy, **stop)
    board, n = session.task_index, session.model.n_tasks
    assert board.busy.sum() > 0
    sure = board.posterior.max(axis=1)
    np.testing.assert_array_equal(board.reason, board._reasons(sure, session.model.answer_lists.n[:n]))
    # Priorities that differ in their last digit may stand on either side of a border.
    levels = board._buckets(np.arange(n))
    assert np.abs(board.priority_buckets.level[:n] - levels).max() <= 1
    assert (board.priority_buckets.level[:n] != levels).mean() < 0.05
    assert ((board.priority_buckets.level[:n] == 0) == (levels == 0)).all()
    assert board.progress.right == pytest.approx(float(sure.sum()))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_the_best_of_a_few_is_the_best_by_numpy(policy):
    session = busy(policy, cap=5)
    board, tasks = session.task_index, np.arange(0, 40, 2)
    half = 0.5 ** board.busy[tasks]
    for worker in range(6):
        told = expected_gain(board.posterior[tasks], session.model.theta(np.array([worker])))[:, 0] * half
        np.testing.assert_allclose(told[board.best_of(tasks, worker)], told.max(), rtol=0, atol=1e-12)
    score = board.priority(tasks)
    np.testing.assert_allclose(score[board.best_of(tasks, -1)], score.max(), rtol=0, atol=1e-12)


def test_every_rule_of_ours_is_compiled():
    assert {each.priority for each in POLICIES.values()} == set(COMPILED)


def test_a_posterior_taken_over_is_in_all_counts():
    session = busy("information", k=4)
    model = session.model
    fresh = np.random.default_rng(5).dirichlet(np.ones(4), size=model.n_tasks)
    known = model.answer_lists.gold[: model.n_tasks] >= 0
    model.answer_lists.set_posterior(np.arange(model.n_tasks), fresh)
    counts, totals, mass = (
        x.copy() for x in (model.answer_lists.counts, model.answer_lists.totals, model.answer_lists.mass)
    )
    answered = ~model.answer_lists.unanswered() & ~known
    np.testing.assert_array_equal(model.posterior[answered], fresh[answered])
    model.answer_lists.recount()
    for one, two in (
        (counts, model.answer_lists.counts),
        (totals, model.answer_lists.totals),
        (mass, model.answer_lists.mass),
    ):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-9)
