"""Answers of workers whom a method has not seen, and pairs that were asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

import crowdwise as cw
from tests.open_sets.comparisons import item_truth, load

SPLITS = 3


def asked_right(result: Any, name: str) -> float:
    """Of the pairs that were asked about and whose items differ in truth, how many the scores have right."""
    truth = dict(item_truth(name).drop_nulls().iter_rows())
    y = np.array([truth.get(item, np.nan) for item in result.items.to_list()], dtype=float)
    gap = y[result.estimate.left] - y[result.estimate.right]
    said = result.score[result.estimate.left] - result.score[result.estimate.right]
    use = np.isfinite(gap) & (gap != 0)
    return float(np.mean(np.where(said[use] == 0, 0.5, (said[use] > 0) == (gap[use] > 0))))


def new_workers(method: str, name: str = "convarg") -> tuple[float, float]:
    """(accuracy, log-loss) on the answers of a fifth of the workers, ties left out; mean over the splits."""
    votes = load(name)
    right, loss = [], []
    for seed in range(SPLITS):
        out = np.random.default_rng(seed).random(votes.n_workers) < 0.2
        kept = cw.method(method).fit(votes.take(np.flatnonzero(~out[votes.worker])))
        own = votes.answers
        rows = np.flatnonzero(out[votes.worker] & (own.outcome < 2))
        place = {item: i for i, item in enumerate(kept.items.to_list())}
        code = np.array([place.get(item, -1) for item in own.items.to_list()])
        left, right_ = code[own.left[rows]], code[own.right[rows]]
        heard = (left >= 0) & (right_ >= 0)
        gap = (kept.score[left] - kept.score[right_])[heard]
        won = own.outcome[rows][heard] == 0
        right.append(float(np.mean(np.where(gap == 0, 0.5, (gap > 0) == won))))
        slope = fitted_slope(kept, votes, out, code)
        loss.append(float(np.mean(np.logaddexp(0.0, np.where(won, -slope * gap, slope * gap)))))
    return float(np.mean(right)), float(np.mean(loss))


def fitted_slope(kept: Any, votes: Any, out: np.ndarray, code: np.ndarray) -> float:
    """Scores of methods have scales of their own: the one that fits the answers of the workers who were seen."""
    own = votes.answers
    rows = np.flatnonzero(~out[votes.worker] & (own.outcome < 2))
    gap = kept.score[code[own.left[rows]]] - kept.score[code[own.right[rows]]]
    sign = np.where(own.outcome[rows] == 0, 1.0, -1.0)
    spread = max(float(np.std(gap)), 1e-12)
    grid = np.geomspace(0.05, 20.0, 60) / spread
    return float(grid[np.argmin([np.mean(np.logaddexp(0.0, -b * sign * gap)) for b in grid])])
