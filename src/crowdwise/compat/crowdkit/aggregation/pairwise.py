"""crowd-kit's pairwise aggregators: BradleyTerry and NoisyBradleyTerry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ....em.ascent import Point, climb
from ....kinds.comparisons.maths.models import NoisyObjective, PairRows
from .base import InputError, select_columns

# Name of a Series of scores.
SCORES = "agg_score"


def _rows(data: Any, worker: bool) -> tuple[PairRows, Any, Any]:
    """Return the rows of a frame, its items and its workers."""
    data = select_columns(data, ["left", "right", "label", *["worker"] * worker])
    items, codes = np.unique(data[["left", "right", "label"]].to_numpy(), return_inverse=True)
    left, right, won = codes.reshape(-1, 3).T
    is_invalid = (won != left) & (won != right)
    if is_invalid.any():
        row = int(np.flatnonzero(is_invalid)[0])
        raise InputError(f"row {row}: the label {items[won[row]]!r} is neither its left nor its right item")
    worker_codes, workers = pd.factorize(data["worker"]) if worker else (np.zeros(len(left), dtype=np.int64), [""])
    outcome = np.where(won == left, 0, 1)
    return PairRows(left, right, outcome, worker_codes, None, len(items), len(workers)), items, workers


@dataclass(eq=False)
class PairwiseAggregator:
    """Base of the two; `scores_` is a Series by item."""

    def fit(self, data: Any) -> Any:
        """Fit to a frame of comparisons; return self."""
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """scores_ of the data."""
        return self.fit(data).scores_


@dataclass(eq=False)
class BradleyTerry(PairwiseAggregator):
    """Bradley-Terry by minorisation-maximisation: at most `n_iter` sweeps, until the scores change by less than `tol`.

    crowd-kit compares an array with itself in this criterion and stops after the second sweep.

    >>> data = pd.DataFrame([["a", "b", "a"], ["b", "a", "a"], ["a", "b", "b"]], columns=["left", "right", "label"])
    >>> BradleyTerry(1000).fit_predict(data).round(3).to_dict()
    {'a': 0.667, 'b': 0.333}
    """

    n_iter: int
    tol: float = 1e-5
    scores_: Any = field(init=False, repr=False, default=None)
    loss_history_: list[float] = field(init=False, repr=False, default_factory=list)

    def fit(self, data: Any) -> BradleyTerry:
        """Fit to `data` with left, right and label (the winner)."""
        self.loss_history_ = []
        if not len(data):
            self.scores_ = pd.Series([], dtype=np.float64, name=SCORES)
            return self
        rows, items, _ = _rows(data, worker=False)
        one, two, won, lost = rows.pairs
        k = len(items)
        wins = np.bincount(one, won, k) + np.bincount(two, lost, k)
        score = np.full(k, 1 / k)
        for _ in range(self.n_iter):
            part = (won + lost) / np.maximum(score[one] + score[two], 1e-300)
            new = wins / np.maximum(np.bincount(one, part, k) + np.bincount(two, part, k), 1e-300)
            new /= new.sum()
            loss = float(np.abs(new - score).sum())
            self.loss_history_.append(loss)
            score = new
            if loss < self.tol:
                break
        self.scores_ = pd.Series(score, index=items, name=SCORES)
        return self


@dataclass(eq=False)
class NoisyBradleyTerry(PairwiseAggregator):
    """A worker compares the items with probability `skills_`, and else prefers the left one with probability `biases_`.

    `random_state` draws the start, as in crowd-kit. crowd-kit's gradients of the worker parameters contain only the
    last row of each worker and are shifted by one position; here they are those of the likelihood.
    `regularization_ratio` shrinks the scores to 0.

    >>> data = pd.DataFrame({"worker": [*"xyxy"], "left": [*"aabb"], "right": [*"bbaa"], "label": [*"aaab"]})
    >>> sorted(NoisyBradleyTerry().fit_predict(data).index)
    ['a', 'b']
    """

    n_iter: int = 100
    tol: float = 1e-5
    regularization_ratio: float = 1e-5
    random_state: int = 0
    skills_: Any = field(init=False, repr=False, default=None)
    biases_: Any = field(init=False, repr=False, default=None)
    scores_: Any = field(init=False, repr=False, default=None)

    def fit(self, data: Any) -> NoisyBradleyTerry:
        """Fit to `data` with worker, left, right and label (the winner)."""
        if not len(data):
            empty = pd.Series([], dtype=np.float64)
            self.scores_, self.biases_, self.skills_ = (empty.rename(name) for name in (SCORES, "bias", "skill"))
            return self
        rows, items, workers = _rows(data, worker=True)
        # crowd-kit has no prior on skills and biases; a weak one keeps them finite.
        objective = NoisyObjective(rows, max(self.regularization_ratio, 1e-5), 0.1, 0.1, 3.0)
        draws = np.random.RandomState(self.random_state).rand(rows.n_items + 2 * rows.n_workers)
        draws[: rows.n_items] *= 0.1
        draws[rows.n_items :] -= 0.5 * (np.arange(len(draws) - rows.n_items) >= rows.n_workers)
        draws[rows.n_items : rows.n_items + rows.n_workers] += 1.0
        solution = climb(lambda x: Point(*objective(x)), draws, max_iter=self.n_iter, tol=self.tol * 1e-2)
        score, skill, habit = objective.parts(solution.x)
        self.scores_ = pd.Series(1 / (1 + np.exp(-score)), index=pd.Index(items, name="label"), name=SCORES)
        self.biases_ = pd.Series(1 / (1 + np.exp(-habit)), index=workers, name="bias")
        self.skills_ = pd.Series(skill, index=workers, name="skill")
        return self
