"""Group-aware Dawid-Skene: without groups it is Dawid-Skene; copies are found, independent workers left alone."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.em.kernels import Workspace
from crowdwise.kinds.classes.methods import dependence as search
from crowdwise.kinds.classes.methods.dependence import GroupModel, GroupParams, as_units, find_groups
from tests.conftest import planted


def coin_crowd(seed, noise=0.05, n=500, copies=30):
    """Three experts and noisy copies of one coin: (votes, truth)."""
    rng = np.random.default_rng(seed)
    truth, coin = rng.integers(2, size=(2, n))
    columns = [np.where(rng.random(n) < p, truth, 1 - truth) for p in (0.9, 0.85, 0.8)]
    columns += [np.where(rng.random(n) < noise, 1 - coin, coin) for _ in range(copies)]
    return cw.Annotations.from_matrix(np.stack(columns, axis=1), classes=[0, 1]), truth


@pytest.mark.parametrize("gold", [None, {0: 0, 1: 1}])
def test_groups_of_one_are_dawid_skene(gold):
    votes = planted(n=80, m=10)[0]
    alone = cw.classes.GroupAware(groups=(), smoothing=0.1).fit(votes, gold=gold)
    plain = cw.DawidSkene(smoothing=0.1).fit(votes, gold=gold)
    np.testing.assert_allclose(alone.posterior, plain.posterior, atol=1e-9)
    np.testing.assert_allclose(alone.confusion, plain.confusion, atol=1e-9)
    np.testing.assert_allclose(alone.counts, plain.counts, atol=1e-9)
    np.testing.assert_allclose(alone.trace, plain.trace)


def test_the_e_step_is_exact():
    """Against the sum over all states of the tree, with a task that one group did not label."""
    rng = np.random.default_rng(0)
    votes = cw.Annotations.from_arrays([0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 0, 1], [0, 1, 1, 2, 2, 2], classes=range(3))
    group, k = np.array([0, 0, 1, 1]), 3
    within = rng.dirichlet(np.ones(k), (4, k)).transpose(0, 2, 1)  # worker, observed, c
    between, prior = rng.dirichlet(np.ones(k), (2, k)), rng.dirichlet(np.ones(k))
    model = GroupModel(group, k, 0.1, 0.0)
    params, space = GroupParams(within, between, prior), Workspace.of(votes)
    stats, log_likelihood = model.accumulate(params, space)
    posterior = model.posterior(params, space)
    total, links = 0.0, np.zeros((2, k, k))
    for task in range(2):
        rows = np.flatnonzero(votes.task == task)
        there = sorted({int(group[votes.worker[r]]) for r in rows})
        joint = {}
        for z, *g in product(range(k), repeat=1 + len(there)):
            state = dict(zip(there, g, strict=True))
            p = prior[z] * np.prod([between[j, z, state[j]] for j in there])
            p *= np.prod([within[votes.worker[r], votes.label[r], state[group[votes.worker[r]]]] for r in rows])
            joint[z, *g] = p
        norm = sum(joint.values())
        total += np.log(norm)
        for z in range(k):
            assert posterior[task, z] == pytest.approx(sum(p for s, p in joint.items() if s[0] == z) / norm)
        for state, p in joint.items():
            for j, c in zip(there, state[1:], strict=True):
                links[j, state[0], c] += p / norm
    assert log_likelihood == pytest.approx(total)
    np.testing.assert_allclose(stats.links, links)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_thirty_copies_of_a_coin_do_not_outvote_three_experts(noise):
    right, fooled = [], []
    for seed in range(5):
        votes, truth = coin_crowd(seed, noise)
        result = cw.classes.GroupAware().fit(votes)
        right.append((result.labels == truth).mean())
        fooled.append((cw.DawidSkene().fit(votes).labels == truth).mean())
        assert np.bincount(result.extra["group"]).tolist() == [1, 1, 1, 30], seed
        assert (np.diff(result.trace) >= -1e-9 * np.abs(result.trace[1:])).all()
    assert np.mean(right) >= 0.92
    assert np.mean(fooled) < 0.55


def test_given_groups_are_used():
    votes, _ = coin_crowd(0)
    named = tuple(votes.workers[3:].to_list())
    given = cw.classes.GroupAware(groups=(named,)).fit(votes)
    np.testing.assert_allclose(given.posterior, cw.classes.GroupAware().fit(votes).posterior)
    text = ",".join(map(str, named))  # as on the command line
    assert cw.classes.GroupAware(groups=text).fit(votes).extra["group"].tolist() == given.extra["group"].tolist()
    with pytest.raises(cw.ParameterError, match="list the workers"):
        cw.classes.GroupAware(groups=("ann", "bob"))
    with pytest.raises(cw.ParameterError, match="without annotations"):
        cw.classes.GroupAware(groups=((999, named[0]),)).fit(votes)
    with pytest.raises(cw.ParameterError, match="one group only"):
        cw.classes.GroupAware(groups=(named, named[:1])).fit(votes)


def test_independent_workers_are_left_alone():
    crowds = [
        ([simulate.OneCoin(30, low=0.5, high=0.95)], simulate.PerTask(8)),
        ([simulate.DirichletConfusion(20)], simulate.Dense()),
        ([simulate.OneCoin(12, low=0.6, high=0.9), simulate.Constant(6), simulate.Guesser(6)], simulate.PerTask(8)),
        ([simulate.OneCoin(12, low=0.7, high=0.9), simulate.Adversary(6, p=0.1)], simulate.PerTask(8)),
    ]
    for groups, assignment in crowds:
        for seed in range(3):
            votes = simulate.crowd(800, 3, groups, assignment, seed=seed).annotations
            assert len(np.unique(find_groups(votes, 0.001, 0.1))) == votes.n_workers


@pytest.mark.parametrize("seed", range(3))
def test_a_ring_of_colluders_is_found_and_silenced(seed):
    groups = [simulate.OneCoin(20, low=0.55, high=0.9), simulate.Colluder(16, p_corr=0.9, accuracy=0.7)]
    crowd = simulate.crowd(1000, 3, groups, simulate.PerTask(10), seed=seed)
    result = cw.classes.GroupAware().fit(crowd.annotations)
    assert np.bincount(result.extra["group"])[-1] == 16
    assert cw.evaluate(result, crowd.truth_table()).accuracy > 0.9
    assert cw.evaluate(cw.classes.Hierarchical().fit(crowd.annotations), crowd.truth_table()).accuracy < 0.1


def test_half_a_group_is_still_a_group_when_judging_new_tasks():
    votes, _ = coin_crowd(0)
    result = cw.classes.GroupAware().fit(votes)
    names = votes.workers.to_list()
    one = result.infer(cw.Annotations.from_arrays(["new"], [names[3]], [0], classes=[0, 1]))
    ten = result.infer(cw.Annotations.from_arrays(["new"] * 10, names[3:13], [0] * 10, classes=[0, 1]))
    # The coin says nothing about the truth, however often it is repeated.
    assert abs(one.posterior - ten.posterior).max() < 0.05
    stranger = cw.Annotations.from_arrays(["new"], ["stranger"], [0], classes=[0, 1])
    assert result.infer(stranger, unknown_workers="average").posterior.shape == (1, 2)


def test_the_search_is_no_larger_than_its_limit(monkeypatch):
    # Before, every pair of all workers had a place in ten tables of 3,000 × 3,000.
    votes = simulate.scenario("one_coin", tasks=1000, workers=3000, labels=40, classes=2, seed=0).annotations
    monkeypatch.setattr(search, "MAX_WORKERS", 100)
    monkeypatch.setattr(search, "LEVELS", 2)
    tracemalloc.start()
    group = find_groups(votes, 0.05, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(np.unique(group)) == 3000
    assert peak < 60e6


@pytest.mark.slow
def test_groups_beyond_the_limit_stay_single_and_others_are_found(monkeypatch):
    votes, _ = coin_crowd(0)
    whole = find_groups(votes, 0.05, 0.1)
    rare = cw.Annotations.from_arrays(range(15), ["rare"] * 15, [0] * 15, classes=[0, 1])
    frame = votes.to_frame().with_columns(worker=pl.col("worker").cast(pl.String))
    more = cw.Annotations.from_frame(frame).append(rare)
    monkeypatch.setattr(search, "MAX_WORKERS", votes.n_workers)
    group = find_groups(more, 0.05, 0.1)
    place = {name: i for i, name in enumerate(more.workers.to_list())}
    same = np.array([group[place[str(w)]] for w in votes.workers.to_list()])
    assert (same[:, None] == same).tolist() == (whole[:, None] == whole).tolist()
    assert (group == group[place["rare"]]).sum() == 1


def test_units_carry_nothing_of_the_single_rows():
    votes = cw.Annotations.from_arrays(
        [1, 1, 1, 2], [*"abca"], [*"xxyx"], time=[1, 2, 3, 4], duration=[5, 6, 7, 8], confidence=[1, 1, 0, 1]
    )
    units = as_units(votes, np.array([0, 0, 1]))
    assert len(units) == 3
    assert list(units.numbers) == ["weight"]
    assert units.take(np.array([0, 2])).weight.tolist() == [1.0, 1.0]
