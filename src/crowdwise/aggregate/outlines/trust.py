"""What a worker's masks are worth, over all their pictures."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...core.votes import Votes
from ...kinds.outlines.answers import Outlines
from ...maths.boxes.overlap import iou
from ...maths.outlines.masks import beside_others, patterns
from ...maths.outlines.raster import fill_even_odd, grid

F8 = npt.NDArray[np.float64]
# Rounds in which workers are judged by a vote in which the others weigh what they are worth.
ROUNDS = 3
# Pictures' worth of the crowd's own mean that stand beside each worker's.
PSEUDO = 1.0
# An overlap is known well enough from so many pixels.
ENOUGH = 10_000
# So much of the way from the usual worker to one who always draws the same place is luck. Settled on planted crowds.
LUCK = 0.3
# Where the usual worker nearly always draws the same place, as things lie there, nobody stands out by it.
NARROW = 0.25
# A worker's pictures are held against so many others of theirs.
LAGS = 10


def trust_by_overlap(votes: Votes[Outlines], told: dict[int, list[F8]], pixels: int, power: float) -> F8:
    """weight[worker]: the mean IoU of their masks with the vote of the others (or with what is told), to the power.

    Pictures on which neither a worker nor the others have anything say nothing. Who always draws the same place agrees
    with others who do, and has seen nothing: their IoU counts for less.
    """
    looks = by_picture(votes)
    seen = [_seen(votes, task, told.get(task), min(pixels, ENOUGH)) for task in range(votes.n_tasks)]
    weight = looks**power
    for _ in range(ROUNDS):
        total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
        for worker, each, said, count, truth in seen:
            found = beside_others(said, count, each * weight[worker], truth)
            heard = np.isfinite(found)
            np.add.at(total, worker[heard], found[heard])
            np.add.at(n, worker[heard], 1.0)
        if not n.sum():
            return weight
        mean = (total + PSEUDO * total.sum() / n.sum()) / (n + PSEUDO)
        weight = np.maximum(mean * looks, 1e-6) ** power
    return weight


def by_picture(votes: Votes[Outlines]) -> F8:
    """[worker]: 1, or less the nearer they are to drawing the same place on every picture.

    The IoU of the boxes round what a worker drew on different pictures, beside that of the usual worker: things that
    always lie in the middle are there for all.
    """
    box, worker = _boxes(votes)
    order = np.argsort(worker, kind="stable")
    total, n = np.zeros(votes.n_workers), np.zeros(votes.n_workers)
    for lag in range(1, LAGS + 1):
        i, j = order[:-lag], order[lag:]
        i, j = (each[worker[i] == worker[j]] for each in (i, j))
        np.add.at(total, worker[i], iou(box[i], box[j]))
        np.add.at(n, worker[i], 1.0)
    if (n > 0).sum() < 3:
        return np.ones(votes.n_workers)
    usual = float(np.median(total[n > 0] / n[n > 0]))
    far = ((total + PSEUDO * usual) / (n + PSEUDO) - usual) / max(1 - usual, NARROW)
    return np.asarray(np.clip(1 - (far - LUCK) / (1 - LUCK), 1e-2, 1.0))


def _boxes(votes: Votes[Outlines]) -> tuple[F8, npt.NDArray[np.int32]]:
    """The box (left, top, right, bottom) round what each row drew, and its worker; rows without anything left out."""
    rows, found = [], []
    for row in range(len(votes)):
        shapes = votes.answers.of_row(row)
        if shapes:
            points = np.concatenate(shapes)
            rows.append(row)
            found.append([*points.min(axis=0), *points.max(axis=0)])
    return np.array(found, dtype=np.float64).reshape(len(rows), 4), votes.worker[np.array(rows, dtype=np.int64)]


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
