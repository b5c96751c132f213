"""Laws that every registered method for numbers obeys."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.numbers.cards import METHODS as NUMBERS

every = pytest.mark.parametrize("name", sorted(NUMBERS))


def having(ability):
    return pytest.mark.parametrize("name", sorted(n for n, c in NUMBERS.items() if ability in c.can))


def crowd(n=60, m=9, labels=4, seed=0):
    """task, worker, value and the truth: biases, noise of different size, one worker who always says the same."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(50, 10, n)
    bias, spread = rng.normal(0, 3, m), rng.uniform(1, 6, m)
    task = np.repeat(np.arange(n), labels)
    worker = np.concatenate([rng.choice(m, labels, replace=False) for _ in range(n)])
    value = truth[task] + bias[worker] + spread[worker] * rng.normal(size=len(task))
    return task, worker, np.where(worker == 0, 50.0, value).round(1), truth


def fit(name, votes, gold=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(votes, gold=gold, **how)


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "numbers")
    assert getattr(cw.numbers, cls.__name__) is cls
    assert cls.__doc__


@every
def test_row_order_does_not_matter(name):
    task, worker, value, _ = crowd()
    order = np.random.default_rng(1).permutation(len(task))
    one = fit(name, cw.numbers.number_votes(task, worker, value))
    other = fit(name, cw.numbers.number_votes(task[order], worker[order], value[order]))
    assert np.array_equal(one.mean, other.mean)


@every
def test_units_do_not_matter(name):
    task, worker, value, _ = crowd()
    one = fit(name, cw.numbers.number_votes(task, worker, value))
    other = fit(name, cw.numbers.number_votes(task, worker, 1000 * value - 7))
    np.testing.assert_allclose(other.mean, 1000 * one.mean - 7, rtol=1e-6)


@every
def test_who_says_nothing_changes_nobody(name):
    task, worker, value, _ = crowd()
    one = fit(name, cw.numbers.number_votes(task, worker, value, tasks=range(60), workers=range(9)))
    other = fit(name, cw.numbers.number_votes(task, worker, value, tasks=range(500), workers=range(100)))
    np.testing.assert_allclose(other.mean[:60], one.mean, rtol=1e-9)
    np.testing.assert_allclose(other.worker_summary.bias[:9], one.worker_summary.bias, atol=1e-7)
    assert np.isfinite(other.mean).all()


@every
def test_a_row_of_weight_zero_is_absent_and_two_is_twice(name):
    task, worker, value, _ = crowd()
    weight = np.ones(len(task))
    weight[::7] = 0.0
    keep = weight > 0
    one = fit(name, cw.numbers.number_votes(task, worker, value, weight=weight, tasks=range(60), workers=range(9)))
    other = fit(name, cw.numbers.number_votes(task[keep], worker[keep], value[keep], tasks=range(60), workers=range(9)))
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-7)


@every
def test_gold_stays_put_and_teaches(name):
    task, worker, value, truth = crowd(seed=3)
    votes = cw.numbers.number_votes(task, worker, value)
    gold = {int(i): float(truth[i]) for i in range(25)}
    blind, taught = fit(name, votes), fit(name, votes, gold)
    np.testing.assert_allclose(taught.mean[:25], truth[:25])
    assert np.flatnonzero(taught.gold).tolist() == list(range(25))
    if name not in ("mean", "median", "trimmed_mean"):  # these know nothing of workers
        assert np.abs(taught.mean[25:] - blind.mean[25:]).max() > 1e-6
    error = [np.sqrt(((found.mean[25:] - truth[25:]) ** 2).mean()) for found in (blind, taught)]
    assert error[1] < error[0] * 1.05


@every
def test_save_and_load_are_the_identity(name, tmp_path):
    task, worker, value, _ = crowd()
    votes = cw.numbers.number_votes(task, worker, np.stack([value, value**2 / 50], axis=1), parts=["x", "y"])
    result = fit(name, votes)
    cw.Run(result, votes).save(tmp_path / "run")
    again = cw.Run.load(tmp_path / "run")
    assert again.result.to_table().equals(result.to_table())
    assert again.result.worker_table().equals(result.worker_table())
    assert again.votes.to_frame().equals(votes.to_frame())
    before, after = result.infer(votes), again.result.infer(votes)
    assert np.array_equal(before.estimate.value, after.estimate.value)


@having("infer")
def test_inferring_the_same_tasks_gives_the_same_estimates(name):
    task, worker, value, _ = crowd()
    votes = cw.numbers.number_votes(task, worker, value)
    result = fit(name, votes)
    np.testing.assert_allclose(result.infer(votes).mean, result.mean, rtol=1e-9)


@every
def test_inferring_a_part_is_a_part_of_inferring(name):
    task, worker, value, _ = crowd()
    votes = cw.numbers.number_votes(task, worker, value)
    result = fit(name, votes)
    part = result.infer(votes.select(tasks=range(10, 20)))
    np.testing.assert_allclose(part.mean, result.infer(votes).mean[10:20], rtol=1e-9)


@every
def test_the_number_of_shards_does_not_matter(name):
    task, worker, value, _ = crowd()
    votes = cw.numbers.number_votes(task, worker, value)
    np.testing.assert_allclose(fit(name, votes, n_shards=5).mean, fit(name, votes).mean, rtol=1e-9)


@having("monotone")
def test_the_objective_never_falls_within_a_stage(name):
    task, worker, value, _ = crowd(n=200, m=20)
    result = fit(name, cw.numbers.number_votes(task, worker, value))
    steps = np.diff(result.trace)[np.diff(result.stage) == 0]
    assert len(steps)
    assert (steps >= -1e-7 * np.abs(result.trace).max()).all()


@every
@pytest.mark.parametrize(
    "rows",
    [
        ([1], [1], [3.0]),
        ([1, 2, 3], [1, 1, 1], [1.0, 2.0, 3.0]),
        ([1, 1, 1], [1, 2, 3], [1.0, 2.0, 30.0]),
        ([1, 1, 2, 2], [1, 2, 1, 2], [5.0, 5.0, 5.0, 5.0]),
        ([1, 1, 2, 2], [1, 2, 1, 2], [1e12, -1e12, 3.0, 4.0]),
    ],
    ids=["one row", "one worker", "one task", "all equal", "huge"],
)
def test_degenerate_crowds_get_an_answer(name, rows):
    result = fit(name, cw.numbers.number_votes(*rows))
    assert np.isfinite(result.mean).all()
    assert np.isfinite(result.worker_summary.bias).all()
    assert (result.worker_summary.spread >= 0).all()
    if rows[2][0] == 5.0:
        np.testing.assert_allclose(result.mean, 5.0)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([1.0, np.inf], "not a usable number"),
        ([1.0, 1e300], "not a usable number"),
        (["1.5", "three"], "is not a number"),
    ],
)
def test_what_is_no_number_is_refused_with_its_row(value, says):
    with pytest.raises(cw.DataError, match=says) as found:
        cw.numbers.number_votes(["a", "b"], ["x", "x"], value)
    assert "row 2" in str(found.value)


def test_empty_cells_are_no_answers():
    votes = cw.numbers.number_votes(["a", "a", "b"], ["x", "y", "x"], [1.0, None, float("nan")])
    assert (len(votes), votes.n_tasks) == (1, 2)
    assert votes.ledger.dropped == {"no label": 2}


def test_a_table_will_do():
    frame = pl.DataFrame({"item": ["a", "a", "b"], "rater": ["x", "y", "x"], "score": [1.0, 2.0, 5.0]})
    assert cw.numbers.Mean().fit(frame).mean.tolist() == [1.5, 5.0]


def test_classes_are_refused_with_what_to_do():
    votes = cw.Annotations.from_arrays([1], ["a"], ["x"])
    with pytest.raises(cw.DataError, match="kind='numbers'"):
        cw.numbers.Mean().fit(votes)
