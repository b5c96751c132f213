"""Moments, imputation, permutations and rank-one fits against brute force and exact population values."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.maths import moments
from crowdwise.kinds.classes.maths.factors import align, best_order, impute_blocks, orthogonal_components
from crowdwise.kinds.classes.maths.moments import PairTables
from crowdwise.kinds.classes.methods.moments import (
    class_frequencies,
    corners,
    factors,
    pair_sweep,
    successive_projection,
)
from tests.conftest import planted


def crowd_of(m, k, seed, sharp=4.0):
    """Random confusions [worker, true, observed] that lean to the diagonal, and a class prior."""
    rng = np.random.default_rng(seed)
    rows = [rng.dirichlet(np.ones(k) + sharp * np.eye(k)[t], size=m) for t in range(k)]
    return np.stack(rows, axis=1), rng.dirichlet(10 * np.ones(k))


def population(confusion, prior, n=1e6):
    """The pair tables of infinitely many tasks."""
    first, second = np.array(list(combinations(range(len(confusion)), 2))).T
    share = np.einsum("k,pkl,pkm->plm", prior, confusion[first], confusion[second])
    return PairTables(first, second, n * share, len(confusion))


def test_pair_tables_are_counts():
    votes = planted(n=30, m=6, k=3, labels=4)[0]
    found = moments.pairs(votes, 3)
    label = np.full((30, 6), -1)
    label[votes.task, votes.worker] = votes.label
    expected = {}
    for i, j in combinations(range(6), 2):
        table = np.zeros((3, 3))
        for a, b in label[(label[:, i] >= 0) & (label[:, j] >= 0)][:, [i, j]]:
            table[a, b] += 1
        if table.sum() >= 3:
            expected[i, j] = table
    assert list(zip(found.first.tolist(), found.second.tolist(), strict=True)) == sorted(expected)
    np.testing.assert_array_equal(found.count, [expected[p] for p in sorted(expected)])
    seen = moments.agreement(votes)
    for (i, j), table in expected.items():
        assert seen.n[i, j] == seen.n[j, i] == table.sum()
        assert seen.agree[i, j] == np.trace(table)
        assert seen.skill_products()[i, j] == pytest.approx((3 * np.trace(table) / table.sum() - 1) / 2)
    assert not seen.n.diagonal().any()


def test_a_rank_one_matrix_with_gaps_is_completed():
    rng = np.random.default_rng(0)
    s = rng.uniform(-0.2, 0.9, 12)
    first, second = np.array([p for p in combinations(range(12), 2) if rng.random() < 0.6]).T
    found, _, converged = moments.complete_rank_one(
        first,
        second,
        rng.integers(1, 50, len(first)).astype(float),
        s[first] * s[second],
        np.full(12, 0.5),
        -1,
        1,
        10_000,
        1e-12,
    )
    assert converged
    np.testing.assert_allclose(found, s, atol=1e-6)


def test_successive_projection_finds_the_corners():
    rng = np.random.default_rng(0)
    corner = rng.dirichlet(np.ones(4), 4)
    inside = rng.dirichlet(np.ones(4), 30) @ corner
    assert sorted(successive_projection(np.concatenate([inside, corner]), 4).tolist()) == [30, 31, 32, 33]
    assert successive_projection(np.ones((5, 3)) / 3, 3) is None


def test_shuffled_rows_come_back_in_order():
    confusion, prior = crowd_of(9, 4, seed=1, sharp=8.0)
    rng = np.random.default_rng(2)
    shuffled = np.stack([a[rng.permutation(4)] for a in confusion])
    found = align(shuffled, population(confusion, prior), np.ones(9, dtype=bool))
    np.testing.assert_array_equal(found, confusion)
    np.testing.assert_array_equal(best_order(np.eye(4)[[2, 0, 3, 1]]), [2, 0, 3, 1])


def test_experts_make_multi_spa_exact():
    confusion, prior = crowd_of(8, 3, seed=3)
    confusion[0] = np.eye(3)
    seen = population(confusion, prior)
    found, good = corners(seen, 3, 1.0)
    found = align(found, seen, good)
    # The expert alone has no pure partner; everybody else has the expert.
    np.testing.assert_allclose(found[1:], confusion[1:], atol=1e-9)
    exact = class_frequencies(confusion, seen, np.ones(8, dtype=bool))
    np.testing.assert_allclose(exact, prior, atol=1e-6)


def test_cnmf_recovers_population_confusions_and_never_falls():
    confusion, prior = crowd_of(8, 3, seed=4, sharp=2.0)
    confusion[:2] = 0.94 * np.eye(3) + 0.02
    seen = population(confusion, prior)
    a, d, last = np.tile(0.6 * np.eye(3) + 0.4 / 3, (8, 1, 1)), np.full(3, 1 / 3), -np.inf
    for _ in range(1500):
        mass, objective = pair_sweep(seen, a, d)
        assert objective >= last - 1e-9 * abs(objective)
        a, d, last = *factors(mass, a), objective
    assert ((a - confusion) ** 2).sum() / 24 < 1e-3
    np.testing.assert_allclose(d, prior, atol=0.03)


def test_missing_blocks_follow_from_the_others():
    confusion, prior = crowd_of(7, 3, seed=5)
    full = population(confusion, prior)
    keep = np.ones(len(full.first), dtype=bool)
    keep[[0, 5, 9]] = False
    seen = replace(full, first=full.first[keep], second=full.second[keep], count=full.count[keep])
    blocks = impute_blocks(seen, np.ones(7, dtype=bool))
    np.testing.assert_allclose(blocks, np.einsum("k,ikl,jkm->ijlm", prior, confusion, confusion), atol=1e-9)


def test_the_power_method_takes_a_tensor_apart():
    rng = np.random.default_rng(0)
    v = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    size = np.array([4.0, 3.0, 2.0, 1.0])
    found, direction = orthogonal_components(np.einsum("k,ak,bk,ck->abc", size, v, v, v), rng)
    np.testing.assert_allclose(found, size, atol=1e-6)
    np.testing.assert_allclose(direction, v, atol=1e-6)


def test_kos_is_the_published_iteration():
    votes = planted(n=40, m=10, k=2, labels=4)[0]
    sign, y = 2.0 * votes.label - 1, 1 + np.random.default_rng(5).standard_normal(len(votes))
    for _ in range(10):
        x = np.array(
            [sum(sign[f] * y[f] for f in np.flatnonzero(votes.task == votes.task[e]) if f != e) for e in range(160)]
        )
        y = np.array(
            [sum(sign[f] * x[f] for f in np.flatnonzero(votes.worker == votes.worker[e]) if f != e) for e in range(160)]
        )
        y /= np.sqrt((y**2).mean())
    score = np.bincount(votes.task, weights=sign * y)
    with pytest.warns(cw.errors.ConvergenceWarning):  # ten rounds are usual, and not enough here
        result = cw.classes.KOS(seed=5).fit(votes)
    np.testing.assert_array_equal(result.labels, score > 0)
    odds = np.log(result.posterior[:, 1] / result.posterior[:, 0])
    np.testing.assert_allclose(odds, result.extra["vote_scale"] * score, atol=1e-9)


def test_mmsr_sees_through_adversaries():
    groups = [simulate.OneCoin(14, low=0.6, high=0.9), simulate.Adversary(6)]
    crowd = simulate.crowd(500, 2, groups, simulate.Dense(), seed=1)
    result = cw.classes.MMSR().fit(crowd.annotations)
    assert cw.evaluate(result, crowd.truth_table()).accuracy > 0.97
    assert (result.extra["vote_weight"][14:] < 0).all()


def test_too_little_overlap_is_said():
    votes = cw.Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1])
    with pytest.raises(cw.DataError, match="no two of them share 10 or more"):
        cw.classes.CNMF().fit(votes)
    votes = planted(n=60, m=4, k=2, labels=4)[0]
    frame = votes.to_frame()
    task, worker, label = (frame[c].to_list() for c in ("task", "worker", "label"))
    newcomer = cw.Annotations.from_arrays([*task, 0], [*worker, 9], [*label, 1])
    for method in (cw.classes.CNMF(), cw.classes.MultiSPA(), cw.classes.SML()):
        with pytest.warns(cw.errors.IdentifiabilityWarning, match="1 of 5 workers share too few tasks"):
            method.fit(newcomer)


def test_too_many_workers_are_refused_with_an_alternative():
    votes = cw.Annotations.from_arrays(np.arange(201) // 3, np.arange(201), np.arange(201) % 2)
    with pytest.raises(cw.DataError, match=r"at most 200, these data have 201; dawid_skene"):
        cw.classes.SymNMF().fit(votes)
    wide = cw.Annotations.from_arrays(np.repeat(range(40), 3), list(range(3)) * 40, np.arange(120) % 12)
    with pytest.raises(cw.DataError, match="at most 10 classes"):
        cw.classes.Tensor(min_overlap=1).fit(wide)


def test_dawid_skene_starts_where_it_is_told():
    votes = planted(n=200, m=12)[0]
    plain, told = cw.DawidSkene().fit(votes), cw.DawidSkene(init="cnmf").fit(votes)
    assert told.trace[-1] >= plain.trace[-1] - 1e-9
    truth = {0: 1, 5: 2}
    np.testing.assert_array_equal(cw.DawidSkene(init="multi_spa").fit(votes, gold=truth).labels[[0, 5]], [1, 2])
    with pytest.raises(cw.ParameterError, match="there is no method 'nothing'"):
        cw.DawidSkene(init="nothing")
