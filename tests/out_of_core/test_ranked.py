"""Ranks of numbers in parts are those of all numbers; sums of gold add up; samples of parts are those of all."""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
import pytest

from crowdwise.evaluation.guarantee.sequential import Sorted, count_up_to, ladder_of, percentile_scale_of
from crowdwise.out_of_core.ranked import Ranked
from crowdwise.stats.gold_calibration import GoldCalibration, GoldSums, shippable
from crowdwise.stats.hashing import fingerprint_of, sampling_order, sorted_blocks

NUMBERS = {
    "spread": lambda rng: rng.random(20_000),
    "at the top": lambda rng: 1 - rng.random(5000) ** 8 * 1e-3,
    "certain": lambda rng: np.concatenate([np.ones(300), np.zeros(5), rng.random(40)]),
    "tied": lambda rng: np.round(rng.random(2000), 2),
    "one": lambda rng: rng.random(1),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_ranks_of_parts_are_those_of_the_whole(name):
    rng = np.random.default_rng(0)
    values = NUMBERS[name](rng)
    parts = np.array_split(rng.permutation(values), 7)
    one, other = Sorted(values), Ranked(lambda: parts)
    assert one.n == other.n
    ranks = np.unique(np.linspace(0, len(values) - 1, 200).astype(np.int64))
    found = one.at(ranks)
    np.testing.assert_array_equal(other.at(ranks), found)
    np.testing.assert_array_equal(other.below(found), one.below(found))
    np.testing.assert_array_equal(count_up_to(other, found), count_up_to(one, found))
    for a, b in zip(ladder_of(one), ladder_of(other), strict=True):
        np.testing.assert_array_equal(a, b)
    assert percentile_scale_of(one) == percentile_scale_of(other)


def test_labels_that_stand_for_several_ship_as_those_one_by_one():
    rng = np.random.default_rng(1)
    value, times = np.sort(rng.random(300)), rng.integers(1, 9, size=300)
    checked = rng.choice(value, 80)
    right = (rng.random(80) < checked).astype(float)
    learnt = GoldCalibration.around(0.2, checked, right)
    for error in (0.02, 0.1, 0.3):
        whole = shippable(np.repeat(value, times), checked, right, learnt, error)
        assert shippable(value, checked, right, learnt, error, times=times) == whole
    assert whole > 0


def test_sums_of_parts_are_those_of_the_whole():
    rng = np.random.default_rng(2)
    n = 500
    confidence, label, n_labels = rng.random(n), rng.integers(3, size=n), rng.integers(0, 6, size=n)
    gold, right = rng.random(n) < 0.2, rng.random(n)

    def sums(rows):
        mine = gold[rows] & (n_labels[rows] > 0)
        return GoldSums.of(confidence[rows], label[rows], 3, n_labels[rows], gold[rows], right[rows][mine])

    whole, parts = sums(np.arange(n)), [sums(rows) for rows in np.array_split(np.arange(n), 5)]
    added = parts[0]
    for part in parts[1:]:
        added = added + part
    assert (added.labelled, added.others) == (whole.labelled, whole.others)
    assert (added.centre, added.claimed) == pytest.approx((whole.centre, whole.claimed))
    np.testing.assert_array_equal(added.checked, whole.checked)
    np.testing.assert_array_equal(added.right, whole.right)
    assert added.sample_tests() == whole.sample_tests()
    assert min(whole.sample_tests().values()) > 0.01
    chosen = GoldSums.of(
        confidence, label, 3, n_labels, confidence > 0.8, np.ones(int((n_labels[confidence > 0.8] > 0).sum()))
    )
    assert chosen.sample_tests()["confidence"] < 1e-9


def test_a_sample_of_samples_is_the_sample():
    names = pl.Series([f"t{i}" for i in range(3000)])
    whole = names.gather(sampling_order(names, 5)[:40])
    some = pl.concat(
        [part.gather(sampling_order(part, 5)[:40]) for part in (names[:100], names[100:1900], names[1900:])]
    )
    assert some.gather(sampling_order(some, 5)[:40]).to_list() == whole.to_list()
    place = whole.str.slice(1).cast(pl.Int64).to_numpy()
    assert 1100 < place.mean() < 1900  # from everywhere
    assert set(names.gather(sampling_order(names, 6)[:40])) != set(whole)


@pytest.mark.parametrize("most", [10, 300, 10**6])
@pytest.mark.parametrize("names", [[f"t{i}" for i in range(2000)], list(range(1500)), ["a"]])
def test_a_fingerprint_of_blocks_is_that_of_all_names(names, most):
    given = pl.Series(names).sample(fraction=1, shuffle=True, seed=3)
    parts = [given[i::7] for i in range(7)]
    text = "\n".join(sorted(str(name) for name in names))
    made = fingerprint_of(sorted_blocks(lambda: parts, most))
    assert made == hashlib.sha256(text.encode()).hexdigest()[:16]
