"""What the place alone explains: against a count place by place, and in a crowd that marks beginnings."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.spans.maths import (
    CHANCE_FACTOR,
    agreement_by_place,
    cells,
    span_rows,
    unit_positions,
    units_between_ends,
    worker_f1,
)
from crowdwise.kinds.spans.simulate import span_crowd


def counted(marks, extent, task, side):
    """The mean over other texts that reach there of what is marked, place by place of a text."""
    out = np.zeros(extent[task])
    for p in range(extent[task]):
        at = [p if side == "begin" else p + extent[t] - extent[task] for t in range(len(extent))]
        there = [marks[t][at[t]] for t in range(len(extent)) if t != task and 0 <= at[t] < extent[t]]
        out[p] = np.mean(there) if there else 0.0
    return out


def test_elsewhere_is_a_count_place_by_place():
    rng = np.random.default_rng(3)
    extent = np.array([20, 31, 9, 40])
    start = np.array([rng.integers(0, extent[t] - 4) for t in np.repeat(np.arange(4), 3)])
    rows, _ = span_rows(np.repeat(np.arange(4), 3), start, start + 4, np.zeros(12, dtype=int), 4)
    units = units_between_ends(rows, np.arange(4), 4, extent)
    mark = rng.random(len(units))
    full = [np.repeat(mark[units.task == t], units.length[units.task == t]) for t in range(4)]
    for side, way in zip(unit_positions(units), ("begin", "end"), strict=True):
        every = [counted(full, extent, t, way) for t in range(4)]
        want = [every[t][a:b].sum() for t, a, b in zip(units.task, units.start, units.end, strict=True)]
        np.testing.assert_allclose(side.marked_elsewhere(mark), want, atol=1e-12)


def test_marks_at_one_place_are_explained_and_others_are_not():
    n = 40
    rng = np.random.default_rng(1)
    begin = rng.integers(10, 80, n)
    # Workers 0 and 1 mark the first five places of every text, 2 and 3 the five that are meant.
    start = np.column_stack([np.zeros(n), np.zeros(n), begin, begin]).astype(int).ravel()
    row = np.arange(4 * n)
    rows, _ = span_rows(row, start, start + 5, np.zeros(4 * n, dtype=int), 4 * n)
    task, worker = row // 4, (row % 4).astype(np.int32)
    units = units_between_ends(rows, task, n, np.full(n, 100))
    weight = np.where(worker == 3, 1.5, 1.0) + np.where(worker == 0, 2.0, 0.0)  # the beginnings are voted for
    found = agreement_by_place(
        cells(rows, task, units), weight, units, 1, worker, 4, np.ones(4 * n, bool), np.full(len(units), -1),
        unit_positions(units),
    )  # fmt: skip
    anywhere = 5 * n * (5 * n) / (100 * n)
    np.testing.assert_allclose(found, [5 * n - CHANCE_FACTOR * anywhere] * 2 + [0.0] * 2)


def test_chance_is_taken_off_both_what_was_found_and_what_could_be():
    both, own, others = np.array([4.0, 3.0]), np.array([5.0, 5.0]), np.array([6.0, 4.0])
    who = np.array([0, 1], dtype=np.int32)
    crowd, row = (14 - 6) / (20 - 6), (20 - 6) / 2
    want = [(8 + row * crowd) / (11 + row), (6 - 6 + row * crowd) / (9 - 6 + row)]
    np.testing.assert_allclose(worker_f1(both, own, others, who, 2, np.array([0.0, 3.0])), want)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_crowd_of_which_half_mark_the_beginning_is_not_led_by_them(seed):
    crowd = simulate.PlantedSpans(
        span_crowd(60, 20, per_task=5, words=(80, 200), length=(5, 25), density=0.015, tags=(), miss=(0.2, 0.6),
                   spurious=(0.0, 0.8), slip=(0.2, 0.7), constant=0.5, seed=seed)
    )  # fmt: skip
    ours, plain = (
        cw.evaluate(cw.method(name).fit(crowd.votes), crowd.truth_table(), resamples=0).f1
        for name in ("span_vote", "span_majority")
    )
    assert ours > 0.55
    assert ours > plain + 0.2
