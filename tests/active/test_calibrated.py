"""Stopping and expected accuracy by calibrated confidence: they agree with what a whole fit states."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise import active
from crowdwise.active import OnlineModel, Session, Settings, Stopping, kernels
from crowdwise.active.refit import refit
from crowdwise.active.stopping import Doubt, Progress, StatedAccuracy
from crowdwise.stats.gold_calibration import GoldCalibration


def session_of(n=200, m=12, k=3, per_task=4, skill=0.7, fooled=0.0, seed=0, **options):
    """Answers of a planted crowd that on a share `fooled` of the tasks errs together."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    tends = np.where(rng.random(n) < fooled, (truth + 1) % k, truth)
    session = Session(OnlineModel(k, n_tasks=n, n_workers=m), settings=Settings(sweep_at=0.0), seed=seed, **options)
    for task in range(n):
        for worker in rng.choice(m, per_task, replace=False).tolist():
            label = tends[task] if rng.random() < skill else rng.integers(k)
            session.tell(task, worker, int(label))
    return session, truth


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_kernel_and_numpy_calibrate_alike(n_classes):
    rng = np.random.default_rng(n_classes)
    posterior = rng.dirichlet(np.full(n_classes, 0.4), size=500)
    posterior[0], posterior[1] = 1 / n_classes, np.eye(n_classes)[0]
    learnt = GoldCalibration(-0.6, 0.7, 1.3)
    rows = posterior.copy()
    for row in rows:
        kernels.calibrate(row, learnt.slope, learnt.shift, learnt.centre)
    np.testing.assert_allclose(rows, learnt.apply(posterior), atol=1e-12)


def test_checked_tasks_calibrate_what_stopping_goes_by():
    session, truth = session_of(n=400, per_task=5, skill=0.9, fooled=0.25, stop=Stopping(target=0.95))
    session.sweep()
    right = session.model.posterior.argmax(axis=1) == truth
    before = session.task_index.posterior.max(axis=1).mean()
    assert before - right.mean() > 0.15  # the model cannot know that all err together
    refit(session)
    assert session.task_index.calibration is None
    checked = {int(t): int(truth[t]) for t in np.random.default_rng(1).permutation(400)[:80]}
    refit(session, checked)
    others = np.array([t not in checked for t in range(400)])
    sure = session.task_index.posterior.max(axis=1)[others].mean()
    assert abs(sure - right[others].mean()) < 0.08
    _, low, high = session.task_index.progress.accuracy
    assert low < right[others].mean() < high
    assert (session.task_index.reason[list(checked)] != 5).all()  # checked tasks go on like any other


def test_without_checked_tasks_the_doubt_is_that_of_the_expected_accuracy_alone():
    plain, doubted = (session_of(stop=Stopping(target=0.95, accuracy=0.7))[0] for _ in range(2))
    plain.sweep()
    posterior = plain.model.posterior
    plain.rebase(posterior)
    doubted.sweep()
    doubted.rebase(posterior, stated=StatedAccuracy(0.8, 0.6, 0.92))
    np.testing.assert_array_equal(doubted.task_index.posterior, plain.task_index.posterior)
    assert doubted.task_index.progress.accuracy == pytest.approx((0.8, 0.6, 0.92), abs=0.01)
    assert "of the labels are expected to be right" in plain.finished()
    assert doubted.finished() == ""
    doubted.rebase(posterior)
    assert doubted.task_index.progress.doubt is None


def test_the_interval_is_never_narrower_than_the_models_own():
    progress = Progress(10, 9.0, 0.9)
    narrow = Progress(10, 9.0, 0.9, Doubt.of(0.9, StatedAccuracy(0.9, 0.899, 0.901)))
    assert narrow.accuracy == pytest.approx(progress.accuracy)
    wide = Progress(10, 9.0, 0.9, Doubt.of(0.95, StatedAccuracy(0.9, 0.6, 0.99, measured=True)))
    mean, low, high = wide.accuracy
    assert mean < 0.9
    assert (low, high) < progress.accuracy[1:]


def test_answer_by_answer_the_board_follows_its_calibration():
    session, truth = session_of(n=150, per_task=3, fooled=0.2)
    refit(session, {int(t): int(truth[t]) for t in range(0, 150, 3)})
    assert session.task_index.calibration is not None
    rng = np.random.default_rng(5)
    for task in range(0, 150, 2):
        free = [w for w in range(12) if not session.model.has(task, w)]
        session.tell(task, free[0], int(rng.integers(3)))
        np.testing.assert_allclose(session.task_index.posterior[task], session.task_index._row(task), atol=1e-12)
    board = session.task_index
    assert board.progress.right == pytest.approx(board.posterior.max(axis=1).sum())
    assert session.model.answer_lists.gold.max() == -1


@pytest.mark.slow
def test_a_trial_with_fits_expects_what_comes():
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=120)
    table = np.full((20, 3, 3), 0.15)
    table[:, np.arange(3), np.arange(3)] = 0.7
    how = {"stop": Stopping(target=0.9, cap=12), "every": 60, "seed": 1}
    trial = active.simulate(truth, table, fits=True, checks=40, **how)
    assert abs(trial.expected[-1] - trial.accuracy[-1]) < 0.1
    sure, right = trial.sure_and_right
    assert right >= 0.85 * sure
    plain = active.simulate(truth, table, fits=True, **how)
    assert len(plain.queries) > 2


def test_nothing_answered_is_nothing_to_fit():
    session = Session(OnlineModel(2, n_tasks=3, n_workers=2), seed=1)
    assert refit(session) == []
