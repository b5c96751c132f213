"""The maths of boxes: overlap, matching against brute force, clusters."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from crowdwise.kinds.boxes.maths import (
    assignment,
    average_linkage,
    best_links,
    build_objects,
    clustered_rate,
    count_per_answer,
    drawn_boxes,
    iou,
    match_lists,
    medians,
    soft_f1,
)


def some_boxes(n, rng, room=10.0):
    low = rng.uniform(0, room, (n, 2))
    return np.concatenate([low, low + rng.uniform(0.5, room / 2, (n, 2))], axis=1)


def brute(table):
    """The largest sum over all one-to-one matchings, by trying them all."""
    if table.shape[0] > table.shape[1]:
        table = table.T
    rows = range(table.shape[0])
    return max((sum(table[i, p[i]] for i in rows) for p in permutations(range(table.shape[1]), len(rows))), default=0.0)


def test_overlap_by_hand():
    a = np.array([[0.0, 0, 2, 2], [0, 0, 2, 2], [0, 0, 2, 2], [1, 1, 1, 1]])
    b = np.array([[0.0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6], [1, 1, 1, 1]])
    assert iou(a, b).tolist() == pytest.approx([1, 1 / 3, 0, 0])


@pytest.mark.parametrize("seed", range(60))
def test_matching_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 7, 2)
    a, b = some_boxes(n, rng), some_boxes(m, rng)
    zero = [np.zeros(k, dtype=np.int64) for k in (n, m)]
    one = [np.array([k]) for k in (0, n, 0, m)]
    _, i, j, overlap = match_lists(a, b, *one, tag_a=zero[0], tag_b=zero[1])
    table = iou(a[:, None], b[None])
    assert len(set(i)) == len(i)
    assert len(set(j)) == len(j)
    assert overlap.sum() == pytest.approx(brute(table))
    _, i, j, overlap = match_lists(a, b, *one, tag_a=zero[0], tag_b=zero[1], min_overlap=0.3)
    good = np.where(table >= 0.3, 1 + table / 100, 0.0)
    assert len(i) == int(brute(good))
    assert (overlap >= 0.3).all()


def test_many_lists_at_once_are_matched_as_one_by_one():
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 5, (30, 2))
    lists = [(some_boxes(n, rng, 4), some_boxes(m, rng, 4)) for n, m in sizes]
    a, b = (np.concatenate([pair[k] for pair in lists]) for k in (0, 1))
    begin = [np.concatenate([[0], np.cumsum(sizes[:, k])[:-1]]) for k in (0, 1)]
    tags = [np.zeros(len(each), dtype=np.int64) for each in (a, b)]
    group, _, _, overlap = match_lists(a, b, begin[0], sizes[:, 0], begin[1], sizes[:, 1], tag_a=tags[0], tag_b=tags[1])
    total = np.bincount(group, weights=overlap, minlength=30)
    for each, (one, two) in zip(total, lists, strict=True):
        assert each == pytest.approx(brute(iou(one[:, None], two[None])) if len(one) and len(two) else 0.0)
    f1 = soft_f1(overlap, group, sizes[:, 0], sizes[:, 1])
    assert ((f1 >= 0) & (f1 <= 1 + 1e-12)).all()
    assert (f1[(sizes == 0).all(axis=1)] == 1).all()


def test_no_links_is_no_matching():
    none = np.empty(0, dtype=np.int64)
    assert best_links(none, none, np.empty(0)).tolist() == []


def votes_of(boxes, tags=None):
    """One picture: the boxes of each worker."""
    corner = np.array([box for each in boxes for box in each], dtype=float).reshape(-1, 4)
    tag = np.zeros(len(corner), dtype=np.int64) if tags is None else np.array(tags)
    size, n = np.array([len(each) for each in boxes]), len(boxes)
    return drawn_boxes(corner, tag, size, np.zeros(n, dtype=np.int64), np.arange(n), None, 1, n)


@pytest.mark.parametrize("find", [lambda s: average_linkage(s, 0.3), lambda s: assignment(s, 0.3, 10)[0]])
def test_two_boxes_of_one_worker_are_two_things(find):
    drawn = votes_of([[[0, 0, 4, 4], [1, 0, 5, 4]], [[0, 0, 4, 4]], [[1, 0, 5, 4]]])
    objects = build_objects(drawn, find(drawn))
    assert sorted(objects.support.tolist()) == [2, 2]


@pytest.mark.parametrize("find", [lambda s: average_linkage(s, 0.3), lambda s: assignment(s, 0.3, 10)[0]])
def test_classes_are_kept_apart(find):
    drawn = votes_of([[[0, 0, 4, 4]], [[0, 0, 4, 4]]], [0, 1])
    assert len(build_objects(drawn, find(drawn))) == 2


def test_nobody_confirms_their_own_box():
    drawn = votes_of([[[0, 0, 4, 4]], [[0, 0, 4, 4]], [[0, 0, 4, 4], [8, 8, 9, 9]], []])
    objects = build_objects(drawn, average_linkage(drawn, 0.3))
    counts, _ = count_per_answer(drawn, objects, 0.5)
    assert counts.n_objects.tolist() == [1, 1, 1, 1]
    assert counts.n_drawn.tolist() == [1, 1, 1, 0]
    assert counts.n_spurious.tolist() == [0, 0, 1, 0]


def test_a_box_far_from_the_object_misses_it_and_is_spurious():
    drawn = votes_of([[[0, 0, 4, 4]], [[0, 0, 4, 4]], [[0, 0, 4, 4]], [[0, 0, 4, 1.7]]])
    counts, _ = count_per_answer(drawn, build_objects(drawn, average_linkage(drawn, 0.3)), 0.5)
    assert counts.n_objects.tolist() == [1, 1, 1, 1]
    assert counts.n_drawn.tolist() == [1, 1, 1, 0]
    assert counts.n_spurious.tolist() == [0, 0, 0, 1]


def test_rates_have_intervals_that_hold_them():
    hits, n = np.array([0, 3, 10, 0]), np.array([10, 10, 10, 0])
    value, low, high = clustered_rate(hits, n, np.arange(4), 4)
    assert value[:3].tolist() == [0, 0.3, 1]
    assert np.isnan([value[3], low[3], high[3]]).all()
    assert (low[:3] <= value[:3]).all()
    assert (value[:3] <= high[:3]).all()


def test_independent_trials_have_the_interval_of_jeffreys():
    from scipy.stats import beta

    hits = np.array([1, 0] * 200)
    _, low, high = clustered_rate(hits, np.ones(400), np.zeros(400, dtype=int), 1)
    assert [low[0], high[0]] == pytest.approx(beta(200.5, 200.5).ppf([0.025, 0.975]), abs=1e-3)


def test_objects_that_are_missed_together_widen_the_interval():
    # Ten objects per image, all seen or all missed: as good as one object per image.
    whole = clustered_rate(np.array([10, 0] * 20), np.full(40, 10), np.zeros(40, dtype=int), 1)
    single = clustered_rate(np.array([1, 0] * 20), np.ones(40), np.zeros(40, dtype=int), 1)
    assert whole[1][0] == pytest.approx(single[1][0], abs=0.02)
    assert whole[2][0] == pytest.approx(single[2][0], abs=0.02)


def test_medians_are_numpys():
    rng = np.random.default_rng(0)
    values, group = rng.normal(size=(200, 3)), rng.integers(0, 12, 200)
    found = medians(values, group, 13)
    for g in range(12):
        assert found[g] == pytest.approx(np.median(values[group == g], axis=0))
    assert np.isnan(found[12]).all()
