"""The online model: sweeps end where the batch fit ends, in any order; undo leaves no trace; snapshots hold it all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crowdwise as cw
from crowdwise.active import OnlineModel
from crowdwise.active.stochastic import StochasticModel

from ..conftest import build, crowds, planted


def streamed(votes, order, **options):
    model = OnlineModel(votes.n_classes, n_tasks=votes.n_tasks, n_workers=votes.n_workers, **options)
    for i in order.tolist():
        model.update(int(votes.task[i]), int(votes.worker[i]), int(votes.label[i]))
    return model


def settled(model, tol=1e-9):
    for _ in range(2000):
        if model.sweep() <= tol:
            return model
    raise AssertionError("the sweeps do not settle")


@pytest.mark.data
@pytest.mark.parametrize("name", ["dog", "rte", "web"])
@pytest.mark.parametrize("seed", [0, 1])
def test_sweeps_end_where_the_batch_fit_ends(name, seed):
    votes = cw.datasets.load(name).annotations
    batch = cw.classes.Hierarchical(tol=1e-10, max_iter=20_000).fit(votes)
    model = settled(streamed(votes, np.random.default_rng(seed).permutation(len(votes))))
    assert np.abs(model.posterior - batch.posterior).max() < 1e-6
    np.testing.assert_allclose(model.theta(np.arange(votes.n_workers)), batch.confusion, atol=1e-6)
    again = OnlineModel.of(votes)
    assert again.settle(1e-9, 2000)
    assert np.abs(again.posterior - batch.posterior).max() < 1e-6


def test_gold_and_weights_are_those_of_the_batch_fit():
    votes, truth, _ = planted(n=60, m=8, k=3, labels=4, seed=3)
    rng = np.random.default_rng(0)
    heavy = cw.Annotations.from_arrays(
        votes.task, votes.worker, votes.label, weight=rng.choice([1.0, 2.0], len(votes)),
        tasks=range(60), workers=range(8), classes=range(3),
    )  # fmt: skip
    gold = {t: int(truth[t]) for t in range(10)}
    batch = cw.classes.Hierarchical(tol=1e-11, max_iter=20_000).fit(heavy, gold=gold)
    model = settled(OnlineModel.of(heavy, gold=gold))
    np.testing.assert_allclose(model.posterior, batch.posterior, atol=1e-6)
    assert (model.posterior[:10].argmax(axis=1) == truth[:10]).all()


@given(crowds(), st.randoms(use_true_random=False))
def test_the_order_of_the_stream_leaves_no_trace(crowd, dice):
    votes = build(crowd)
    order = list(range(len(votes)))
    dice.shuffle(order)
    one, two = streamed(votes, np.arange(len(votes))), streamed(votes, np.array(order))
    one.settle(max_rounds=3)
    two.settle(max_rounds=3)
    np.testing.assert_array_equal(one.posterior, two.posterior)
    np.testing.assert_allclose(one.posterior.sum(axis=1), 1.0)
    for model in (one, two):
        _sound(model)


@given(crowds(), st.data())
def test_undo_is_as_if_it_had_never_happened(crowd, data):
    votes = build(crowd)
    gone = data.draw(st.sets(st.integers(0, len(votes) - 1)))
    model = streamed(votes, np.arange(len(votes)))
    for i in sorted(gone):
        model.undo(int(votes.task[i]), int(votes.worker[i]))
        _sound(model)
    kept = np.array([i for i in range(len(votes)) if i not in gone], dtype=int)
    never = streamed(votes, kept)
    assert model.n_labels == never.n_labels
    model.settle(max_rounds=2)
    never.settle(max_rounds=2)
    np.testing.assert_array_equal(model.posterior, never.posterior)
    np.testing.assert_array_equal(
        model.answer_lists.n_answered[: votes.n_workers], never.answer_lists.n_answered[: votes.n_workers]
    )


@given(crowds())
def test_undo_of_the_last_answer_restores_the_state(crowd):
    votes = build(crowd)
    model = streamed(votes, np.arange(len(votes) - 1))
    before = model.snapshot()
    i = len(votes) - 1
    model.update(int(votes.task[i]), int(votes.worker[i]), int(votes.label[i]))
    model.undo(int(votes.task[i]), int(votes.worker[i]))
    np.testing.assert_allclose(model.answer_lists.q[: votes.n_tasks], before["q"], atol=1e-12)
    np.testing.assert_allclose(model.answer_lists.counts[: votes.n_workers], before["counts"], atol=1e-12)
    np.testing.assert_allclose(model.answer_lists.mass, before["mass"], atol=1e-12)


@given(crowds())
def test_a_snapshot_is_the_model(crowd):
    votes = build(crowd)
    half = len(votes) // 2
    model = streamed(votes, np.arange(half))
    model.sweep()
    other = OnlineModel.restore(model.snapshot())
    for i in range(half, len(votes)):
        for each in (model, other):
            each.update(int(votes.task[i]), int(votes.worker[i]), int(votes.label[i]))
    np.testing.assert_array_equal(model.posterior, other.posterior)
    assert model.sweep() == other.sweep()


def _sound(model):
    """All counts are those of the posteriors."""
    kept = model.snapshot()
    model.answer_lists.recount()
    np.testing.assert_allclose(model.answer_lists.counts[: model.n_workers], kept["counts"], atol=1e-9)
    np.testing.assert_allclose(model.answer_lists.mass, kept["mass"], atol=1e-9)
    assert model.n_labels == len(model.answer_lists.rows()[0])


def test_three_answers_are_no_certainty_and_a_new_answer_replaces_the_old_one():
    model = OnlineModel(2)
    for worker in range(3):
        model.update(0, worker, 1)
    assert 0.9 < model.cautious(0)[1] < 0.995
    model.update(0, 2, 0)
    assert model.n_labels == 3
    assert model.posterior[0, 1] < 0.95
    again = OnlineModel(2)
    for worker, label in enumerate([1, 1, 0]):
        again.update(0, worker, label)
    model.settle()
    again.settle()
    np.testing.assert_array_equal(model.posterior, again.posterior)


def test_a_crowd_with_one_answer_a_task_does_not_look_perfect():
    model = OnlineModel(4, n_tasks=200, n_workers=20)
    rng = np.random.default_rng(0)
    for task in range(200):
        model.update(task, int(rng.integers(20)), int(rng.integers(4)))
    model.settle(max_rounds=2)
    assert model.cautious().max() < 0.9


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda m: m.update(0, 0, 2), "label 2 is not one of the 2 classes 0 to 1"),
        (lambda m: m.update(-1, 0, 0), "codes from 0 on"),
        (lambda m: m.update(0, 0, 0, weight=0.0), "must be above 0"),
        (lambda m: m.undo(5, 5), "no answer to task 5"),
        (lambda m: m.set_gold(0, 7), "gold 7 is not one of"),
        (lambda m: OnlineModel(0), "n_classes must be at least 1"),
    ],
)
def test_what_cannot_be_is_refused(call, said):
    model = OnlineModel(2)
    with pytest.raises(cw.CrowdwiseError, match=said):
        call(model)
    assert model.n_labels == 0


def test_one_class_nobody_and_nothing():
    assert OnlineModel(3).posterior.shape == (0, 3)
    assert OnlineModel(3).sweep() == 0.0
    model = OnlineModel(1, n_tasks=2)
    model.update(0, 0, 0)
    assert model.settle()
    np.testing.assert_array_equal(model.posterior, [[1.0], [1.0]])


# ---------------------------------------------------------------- the stochastic form
def test_the_stochastic_form_learns_who_is_right():
    votes, truth, skill = planted(n=800, m=20, k=3, labels=6, seed=1)
    model = StochasticModel(3, n_tasks=800, n_workers=20)
    for i in np.random.default_rng(0).permutation(len(votes)).tolist():
        model.update(int(votes.task[i]), int(votes.worker[i]), int(votes.label[i]))
    model.sweep()
    assert (model.posterior.argmax(axis=1) == truth).mean() > 0.9
    found = np.einsum("wkk->w", model.theta(np.arange(20))) / 3
    assert np.corrcoef(found, skill)[0, 1] > 0.8


@given(crowds(), st.data())
def test_the_stochastic_form_undoes_exactly(crowd, data):
    votes = build(crowd)
    gone = data.draw(st.integers(0, len(votes) - 1))
    rows = list(zip(votes.task.tolist(), votes.worker.tolist(), votes.label.tolist(), strict=True))
    model, never = (StochasticModel(votes.n_classes) for _ in range(2))
    for i, row in enumerate(rows):
        model.update(*row)
        if i != gone:
            never.update(*row)
    model.undo(*rows[gone][:2])
    state, other = model.snapshot(), never.snapshot()
    for name in ("joint", "mass", "events"):
        np.testing.assert_array_equal(state[name][: len(other[name])], other[name])
    np.testing.assert_array_equal(StochasticModel.restore(state).posterior, model.posterior)
