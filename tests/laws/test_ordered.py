"""Laws that every registered method for ordered classes obeys."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.ordered.cards import METHODS as ORDERED
from crowdwise.kinds.ordered.simulate import ordered_crowd

every = pytest.mark.parametrize("name", sorted(ORDERED))
NAMES = ["awful", "bad", "fair", "good"]  # in the order of the alphabet and of the ladder


def having(ability):
    return pytest.mark.parametrize("name", sorted(n for n, c in ORDERED.items() if ability in c.can))


def crowd(n=60, m=9, seed=0, order=NAMES, **how):
    drawn = ordered_crowd(n, m, len(order), per_task=4, constant=0.1, seed=seed)
    said = [order[i] for i in drawn.level]
    return cw.Annotations.from_arrays(drawn.task, drawn.worker, said, classes=sorted(order), order=order, **how), drawn


def fit(name, votes, gold=None, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(votes, gold=gold, **how)


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "classes")
    assert getattr(cw.ordered, cls.__name__) is cls
    assert "order" in registry.card(name).needs


@every
def test_without_an_order_it_refuses_in_one_line(name):
    votes = cw.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    with pytest.raises(cw.DataError, match=f"{name} needs the order of the classes") as error:
        cw.method(name).fit(votes)
    assert "\n" not in str(error.value)


@every
def test_posteriors_are_shares_and_the_estimate_knows_the_order(name):
    votes, _ = crowd(order=["good", "awful", "fair", "bad"])
    result = fit(name, votes)
    np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
    assert result.classes.gather(result.estimate.order).to_list() == ["good", "awful", "fair", "bad"]


@every
def test_names_do_not_matter_where_the_order_does(name):
    plain, _ = crowd()
    other, _ = crowd(order=["zinc", "iron", "gold", "neon"])
    one, two = fit(name, plain), fit(name, other)
    ladder = [np.asarray(each.posterior[:, each.estimate.order]) for each in (one, two)]
    np.testing.assert_allclose(*ladder, atol=1e-6)


@every
def test_upside_down_is_upside_down(name):
    plain, _ = crowd()
    turned = replace(plain, answers=replace(plain.answers, order=plain.answers.order[::-1]))
    one, two = fit(name, plain), fit(name, turned)
    np.testing.assert_allclose(one.posterior, two.posterior, atol=0.02)


@every
def test_row_order_and_silence_do_not_matter(name):
    votes, drawn = crowd()
    order = np.random.default_rng(1).permutation(len(drawn.task))
    said = [NAMES[i] for i in drawn.level[order]]
    more = {"tasks": range(200), "workers": range(50), "order": NAMES}
    other = cw.Annotations.from_arrays(drawn.task[order], drawn.worker[order], said, **more)
    np.testing.assert_allclose(fit(name, other).posterior[:60], fit(name, votes).posterior, atol=1e-6)


@every
def test_gold_stays_put_and_teaches(name):
    votes, drawn = crowd(n=120, seed=3)
    gold = {i: NAMES[drawn.truth[i]] for i in range(40)}
    blind, taught = fit(name, votes), fit(name, votes, gold)
    assert [taught.classes[int(c)] for c in taught.labels[:40]] == list(gold.values())
    truth = {i: NAMES[level] for i, level in enumerate(drawn.truth)}
    scores = [cw.evaluate(found, truth, gold=gold).mae for found in (blind, taught)]
    assert scores[1] <= scores[0] + 0.05


@every
def test_save_and_load_are_the_identity(name, tmp_path):
    votes, _ = crowd(order=["good", "awful", "fair", "bad"])
    result = fit(name, votes)
    cw.Run(result, votes).save(tmp_path / "run")
    again = cw.Run.load(tmp_path / "run")
    assert again.result.to_table().equals(result.to_table())
    assert again.result.estimate.order.tolist() == result.estimate.order.tolist()
    assert again.votes.answers.order.tolist() == votes.answers.order.tolist()
    assert np.array_equal(result.infer(votes).posterior, again.result.infer(votes).posterior)


@having("infer")
def test_inferring_the_same_tasks_gives_the_same_estimates(name):
    votes, _ = crowd()
    result = fit(name, votes)
    np.testing.assert_allclose(result.infer(votes).posterior, result.posterior, atol=1e-9)


@having("monotone")
def test_the_objective_never_falls_within_a_stage(name):
    votes, _ = crowd(n=200, m=20)
    result = fit(name, votes)
    steps = np.diff(result.trace)[np.diff(result.stage) == 0]
    assert len(steps)
    assert (steps >= -1e-7 * np.abs(result.trace).max()).all()


@having("shard")
def test_the_number_of_shards_does_not_matter(name):
    votes, _ = crowd(n=100)
    np.testing.assert_allclose(fit(name, votes, n_shards=4).posterior, fit(name, votes).posterior, atol=1e-6)


@every
@pytest.mark.parametrize(
    "rows",
    [
        ([1], [1], ["bad"]),
        ([1, 1, 1], [1, 2, 3], ["bad", "good", "fair"]),
        ([1, 2, 3], [1, 1, 1], ["bad", "bad", "bad"]),
        ([1, 1, 2, 2], [1, 2, 1, 2], ["awful"] * 4),
    ],
)
def test_degenerate_sizes(name, rows):
    for order in (NAMES, sorted(set(rows[2]))):
        result = fit(name, cw.Annotations.from_arrays(*rows, order=order))
        assert np.isfinite(result.posterior).all()
        np.testing.assert_allclose(result.posterior.sum(axis=1), 1)
