"""What a worker's masks are worth, over all their pictures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...kinds.outlines.answers import Outlines
from ...maths.outlines.masks import beside_others, patterns
from ...maths.outlines.raster import fill_even_odd, grid

F8 = npt.NDArray[np.float64]
# Rounds in which workers are judged by a vote in which the others weigh what they are worth.
ROUNDS = 3
# Pictures' worth of the crowd's own mean that stand beside each worker's.
PSEUDO = 1.0
# An overlap is known well enough from so many pixels.
ENOUGH = 10_000


def trust_by_overlap(votes: Votes[Outlines], told: dict[int, list[F8]], pixels: int, power: float) -> F8:
    """weight[worker]: the mean IoU of their masks with the vote of the others (or with what is told), to the power.

    Pictures on which neither a worker nor the others have anything say nothing.
    """
    seen = [_seen(votes, task, told.get(task), min(pixels, ENOUGH)) for task in range(votes.n_tasks)]
    weight = np.ones(votes.n_workers)
    for _ in range(ROUNDS):
        total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
        for worker, each, said, count, truth in seen:
            iou = beside_others(said, count, each * weight[worker], truth)
            heard = np.isfinite(iou)
            np.add.at(total, worker[heard], iou[heard])
            np.add.at(n, worker[heard], 1.0)
        if not n.sum():
            return weight
        mean = (total + PSEUDO * total.sum() / n.sum()) / (n + PSEUDO)
        weight = np.maximum(mean, 1e-6) ** power
    return weight


def _seen(
    votes: Votes[Outlines], task: int, truth: list[F8] | None, pixels: int
) -> tuple[npt.NDArray[np.int32], F8, F8, F8, F8 | None]:
    """(worker of each row, weight of each row, said[row, pattern], pixels of each pattern, the truth's patterns)."""
    rows = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    each = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
    rows, each = rows[each > 0], each[each > 0]
    drawn = [votes.answers.of_row(int(row)) for row in rows]
    x, y = grid([*(p for some in drawn for p in some), *(truth or [])], pixels)
    worker = votes.worker[rows]
    if not len(rows) or not len(x):
        return worker, each, np.zeros((len(rows), 0)), np.zeros(0), None
    given = drawn if truth is None else [*drawn, truth]
    said, count, _ = patterns(np.array([fill_even_odd(some, x, y).ravel() for some in given]))
    return (worker, each, said, count, None) if truth is None else (worker, each, said[:-1], count, said[-1])
