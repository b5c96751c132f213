"""Maths of spans: overlaps against sets of places, forward-backward against enumeration, HMM against Dawid-Skene."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.spans.fitting import cut_texts, span_layer, unit_annotations
from crowdwise.kinds.spans.maths import (
    ChainData,
    TextUnits,
    allowed,
    bsc,
    cells,
    counts,
    e_step,
    f1_distance,
    has_overlapping_tags,
    hmm_crowd,
    marked_lengths,
    ratios,
    shared_lengths,
    shares_of_states,
    span_rows,
    units_between_ends,
    viterbi,
)


def some_rows(n=40, tags=2, seed=0):
    rng = np.random.default_rng(seed)
    row = rng.integers(n, size=4 * n)
    start = rng.integers(30, size=4 * n)
    return span_rows(row, start, start + rng.integers(1, 9, size=4 * n), rng.integers(tags, size=4 * n), n)[0]


def places(rows, r):
    own = slice(rows.offsets[r], rows.offsets[r + 1])
    marks = zip(rows.start[own], rows.end[own], rows.tag[own], strict=True)
    return {(p, int(t)) for s, e, t in marks for p in range(s, e)}


def test_overlaps_are_those_of_sets_of_places():
    a, b = some_rows(seed=1), some_rows(seed=2)
    both = [len(places(a, r) & places(b, r)) for r in range(len(a))]
    assert shared_lengths(a, b).tolist() == both
    assert marked_lengths(a).tolist() == [len(places(a, r)) for r in range(len(a))]
    i, j = np.arange(len(a) - 1), np.arange(1, len(a))
    every = [places(a, r) for r in range(len(a))]
    want = [1 - 2 * len(x & y) / max(len(x) + len(y), 1) for x, y in pairwise(every)]
    np.testing.assert_allclose(f1_distance(a, i, j), want)


def test_spans_of_a_row_and_tag_never_overlap():
    rows = some_rows(seed=3)
    for r in range(len(rows)):
        for t in range(2):
            own = rows.only(t)
            s = slice(own.offsets[r], own.offsets[r + 1])
            assert (own.start[s][1:] >= own.end[s][:-1]).all()
    assert has_overlapping_tags(rows).any()
    assert not has_overlapping_tags(rows.only(0)).any()


def test_units_between_ends_are_exact():
    rows = some_rows(tags=1, seed=4)
    task = np.arange(len(rows)) // 4
    units = units_between_ends(rows, task, 10, np.full(10, 50))
    said = cells(rows, task, units)
    marked = np.bincount(said.row, weights=units.length[said.unit] * (said.label > 0), minlength=len(rows))
    np.testing.assert_array_equal(marked, marked_lengths(rows))
    assert (np.bincount(units.task, weights=units.length) == 50).all()


def test_scores_by_hand():
    found, _ = span_rows(np.array([0, 0]), np.array([0, 10]), np.array([5, 12]), np.array([0, 0]), 1)
    true, _ = span_rows(np.array([0, 0]), np.array([0, 11]), np.array([5, 14]), np.array([0, 0]), 1)
    got = {key: float(value[0]) for key, value in ratios(counts(found, true)).items()}
    assert got["f1"] == pytest.approx(12 / 15)
    assert got["exact_f1"] == pytest.approx(0.5)
    assert got["overlap_f1"] == 1.0


def chain(n_tags=1, lengths=(4, 3), workers=3, seed=0):
    """A few texts, everybody reads all, random labels."""
    rng = np.random.default_rng(seed)
    k = 1 + 2 * n_tags
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    units = TextUnits(offsets, np.arange(offsets[-1]), np.arange(offsets[-1]) + 1)
    task = np.repeat(np.arange(len(lengths)), workers)
    empty, _ = span_rows(*(np.empty(0, dtype=np.int64),) * 4, len(task))
    said = cells(empty, task, units)
    said.label[:] = rng.integers(k, size=len(said.label))
    worker = np.tile(np.arange(workers), len(lengths)).astype(np.int32)
    rows = np.arange(len(lengths) + 1) * workers
    return ChainData(units, said, rows, worker, np.ones(len(task)), workers, n_tags, np.full(offsets[-1], -1))


@pytest.mark.slow
@pytest.mark.parametrize("previous", [False, True])
def test_forward_backward_is_enumeration(previous):
    data, rng = chain(), np.random.default_rng(1)
    k = data.n_states
    a = rng.dirichlet(np.ones(k), size=(3, k if previous else 1, k)).swapaxes(2, 3)  # worker, previous, label, state
    first, then = allowed(1)
    start, move = np.where(first, rng.random(k), 0), np.where(then, rng.random((k, k)), 0)
    start, move = start / start.sum(), move / move.sum(axis=1, keepdims=True)
    q = np.zeros((7, k))
    loglik, count, begins, steps = e_step(data, np.log(a), start, move, q)
    total, want, want_count, want_steps, want_begins = (
        0.0,
        np.zeros((7, k)),
        np.zeros_like(a),
        np.zeros((k, k)),
        np.zeros(k),
    )
    for t, (lo, hi) in enumerate(((0, 4), (4, 7))):
        paths, weights = list(product(range(k), repeat=hi - lo)), []
        for path in paths:
            p = start[path[0]] * np.prod([move[x, y] for x, y in pairwise(path)])
            for r in range(3 * t, 3 * t + 3):
                last = 0
                for i, z in enumerate(path):
                    said = data.cells.label[data.cells.offsets[r] + i]
                    p *= a[data.worker[r], last, said, z]
                    last = said if previous else 0
            weights.append(p)
        weights = np.array(weights)
        total += np.log(weights.sum())
        for path, w in zip(paths, weights / weights.sum(), strict=True):
            want_begins[path[0]] += w
            for i, z in enumerate(path):
                want[lo + i, z] += w
                if i:
                    want_steps[path[i - 1], z] += w
    for r in range(6):
        last = 0
        for i in range(data.cells.offsets[r + 1] - data.cells.offsets[r]):
            said = data.cells.label[data.cells.offsets[r] + i]
            want_count[data.worker[r], last, said] += want[data.cells.unit[data.cells.offsets[r] + i]]
            last = said if previous else 0
    assert loglik == pytest.approx(total)
    np.testing.assert_allclose(q, want, atol=1e-12)
    np.testing.assert_allclose(steps, want_steps, atol=1e-12)
    np.testing.assert_allclose(begins, want_begins, atol=1e-12)
    np.testing.assert_allclose(count, want_count, atol=1e-12)


@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.ConvergenceWarning")
@pytest.mark.parametrize("rounds", [1, 4, 8])
def test_hmm_with_uniform_moves_is_dawid_skene_with_a_uniform_prior(rounds):
    """The same posterior after as many rounds from the same start."""
    crowd = cw.simulate.scenario("spans_plain", tasks=30, workers=6, labels=4, seed=3)
    work = span_layer(crowd.votes, cut_texts(crowd.votes, None, True), None, None)
    shares = shares_of_states(work.chain, 0.0)
    found = hmm_crowd(work.chain, smoothing=0.5, learn_moves=False, max_iter=rounds, tol=0.0, start=shares)
    votes = unit_annotations(work, "states")
    ours = cw.DawidSkene(smoothing=0.5, prior_class=1e15, max_iter=rounds, tol=0.0).fit(votes)
    np.testing.assert_allclose(found.q, ours.posterior, atol=1e-9)


@pytest.mark.parametrize("n_tags", [1, 2])
def test_the_best_path_is_enumerations_and_never_goes_on_without_a_beginning(n_tags):
    rng = np.random.default_rng(n_tags)
    k = 1 + 2 * n_tags
    units = TextUnits(np.array([0, 4, 4, 7]), np.arange(7), np.arange(7) + 1)
    score, start, move = rng.normal(size=(7, k)), rng.normal(size=k), rng.normal(size=(k, k))
    first, then = allowed(n_tags)
    path = viterbi(units, score, start, move, n_tags)
    for lo, hi in ((0, 4), (4, 7)):

        def value(p, lo=lo):
            ok = first[p[0]] and all(then[x, y] for x, y in pairwise(p))
            gained = sum(score[lo + i, z] for i, z in enumerate(p)) + start[p[0]]
            return gained + sum(move[x, y] for x, y in pairwise(p)) if ok else -np.inf

        best = max(product(range(k), repeat=hi - lo), key=value)
        assert tuple(path[lo:hi]) == best
        assert value(best) > -np.inf


@pytest.mark.slow
def test_both_fits_climb():
    data = chain(n_tags=2, lengths=(9,) * 20, workers=4, seed=5)
    for found in (
        hmm_crowd(data, smoothing=0.1, learn_moves=True, max_iter=40, tol=0.0),
        bsc(data, prior=0.1, prior_right=1.0, max_iter=40, tol=0.0),
    ):
        assert np.diff(found.trace).min() > -1e-8 * np.abs(found.trace).max()
        np.testing.assert_allclose(found.q.sum(axis=1), 1)


def test_no_texts_at_all():
    votes = cw.spans.span_votes([1, 2], ["a", "b"], [[], []])
    for name in cw.methods("spans"):
        assert cw.method(name).fit(votes).to_table()["spans"].to_list() == ["[]", "[]"]
    assert pl.DataFrame(votes.to_frame()).height == 2
