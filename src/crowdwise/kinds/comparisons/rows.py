"""Votes of comparisons as the maths takes them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...maths.comparisons.rows import PairRows
from .answers import Comparisons


def rows_of(votes: Votes[Comparisons]) -> PairRows:
    """All rows."""
    said = votes.answers
    return PairRows(said.left, said.right, said.outcome, votes.worker, votes.weight, len(said.items), votes.n_workers)


def sides_of_tasks(votes: Votes[Comparisons]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The items of each task, on the sides where most rows have them (else the first by name left); -1: no rows."""
    said = votes.answers
    low, high = np.full(votes.n_tasks, -1, dtype=np.int64), np.full(votes.n_tasks, -1, dtype=np.int64)
    low[votes.task], high[votes.task] = np.minimum(said.left, said.right), np.maximum(said.left, said.right)
    turned = np.bincount(votes.task, np.where(said.left > said.right, 1.0, -1.0), votes.n_tasks) > 0
    return np.where(turned, high, low), np.where(turned, low, high)
