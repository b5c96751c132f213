"""Doubts about numbers: codes for no answer, and workers who use fractions where others use percentages."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import F8, Mask
from ...core.doubt import InputDoubt
from ...core.vocabulary import quote

# Codes of surveys and of programs for an answer that is not there.
CODES = (-9, -99, -999, -9999, -99999, 999, 9999, 99999, 999999)
# A positive code is this many times as large as any other number.
APART = 3.0
# Answers of a worker, and of both groups to the same tasks, that tell fractions from percentages.
ENOUGH = 5
PERCENT = (30.0, 300.0)


def doubts(votes: Any) -> list[InputDoubt]:
    """Return what is doubtful about these numbers; answers of several parts are not judged."""
    values = np.asarray(votes.answers.value)
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.ndim != 1 or len(values) < 2 * ENOUGH:
        return []
    return [doubt for doubt in (_codes(values), _scales(votes, values)) if doubt]


def _codes(values: F8) -> InputDoubt | None:
    for code in CODES:
        is_code = values == code
        rest = values[~is_code]
        if is_code.sum() < 2 or len(rest) < ENOUGH or is_code.mean() > 0.5:
            continue
        apart = rest.min() >= 0 if code < 0 else rest.max() * APART < code and np.abs(rest).max() > 0
        if apart:
            n = int(is_code.sum())
            return InputDoubt(
                "code",
                f"the number {code} occurs {n:,} times, apart from all others ({rest.min():g} to {rest.max():g}), as a "
                f"code for no answer does; --missing {code} leaves it out",
            )
    return None


def _scales(votes: Any, values: F8) -> InputDoubt | None:
    """Workers whose numbers are fractions, of tasks for which others give about a hundred times as much."""
    if values.min() < 0 or values.max() > 100:
        return None
    n = np.bincount(votes.worker, minlength=len(votes.workers))
    largest = np.zeros(len(n))
    np.maximum.at(largest, votes.worker, values)
    broken = np.bincount(votes.worker, weights=values != np.round(values), minlength=len(n))
    in_fractions = (n >= ENOUGH) & (largest <= 1) & (broken >= 0.5 * n)
    is_fraction = in_fractions[votes.worker]
    if not is_fraction.any() or is_fraction.all():
        return None
    ratio = _ratio(votes, values, is_fraction)
    if ratio is None or not PERCENT[0] <= ratio <= PERCENT[1]:
        return None
    names = votes.workers.gather(np.flatnonzero(in_fractions))
    return InputDoubt(
        "scales",
        f"{len(names)} workers ({quote(names)}) give fractions from 0 to 1 where the others give about {ratio:.0f} "
        "times as much: percentages and fractions are mixed; write all in one scale",
    )


def _ratio(votes: Any, values: F8, is_fraction: Mask) -> float | None:
    """Return the median ratio of both groups' means over the tasks that they share; None if there are few."""
    size = len(votes.tasks)
    sums, counts = (
        [np.bincount(votes.task[rows], weights=weights, minlength=size) for rows, weights in groups]
        for groups in (
            [(is_fraction, values[is_fraction]), (~is_fraction, values[~is_fraction])],
            [(is_fraction, None), (~is_fraction, None)],
        )
    )
    shared = (counts[0] > 0) & (counts[1] > 0) & (sums[0] > 0)
    if shared.sum() < ENOUGH:
        return None
    return float(np.median((sums[1][shared] / counts[1][shared]) / (sums[0][shared] / counts[0][shared])))
