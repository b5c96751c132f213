"""The vote on every unit, by workers' weights, and those weights."""

from __future__ import annotations

import numpy as np

from ...maths.spans.place import by_place, places
from ...maths.spans.rows import F8
from ...maths.spans.vote import leading, own_and_others, shares, splits, worker_f1
from .found import Judged
from .work import Work

# Rounds in which workers are judged by a vote in which the others weigh what they are worth.
ROUNDS = 4


def weighted_shares(work: Work, weight: F8) -> F8:
    """share[unit, 0 outside / 1 + tag] of the vote; certainty where the truth is known."""
    share = shares(work.cells, work.weight * weight[work.worker], len(work.units), work.n_tags)
    told = work.known >= 0
    share[told] = np.eye(work.n_tags + 1)[work.known[told]]
    return share


def voted(work: Work, weight: F8, cut: float, seed: int) -> Judged:
    """Marked where the tags together have more than `cut`, with the tag that has most; `seed` breaks ties."""
    share = weighted_shares(work, weight)
    inside = share[:, 1:].sum(axis=1)
    tag = np.where(inside > cut + 1e-9, 1 + leading(share[:, 1:], work.units.task, seed), 0).astype(np.int64)
    return Judged(share[:, 1:], tag, split_places(work, weight))


def split_places(work: Work, weight: F8) -> np.ndarray:
    """Units where more than half of those who mark them begin a span."""
    return np.asarray(splits(work.cells, work.weight * weight[work.worker], len(work.units)) > 0.5)


def weights_by_f1(work: Work, power: float) -> tuple[F8, F8]:
    """(weight, F1)[worker] after a few rounds: F1 against the vote of the others, each with their own weight, less what
    the place in the text alone explains."""
    weight, where = np.ones(work.n_workers), places(work.units)
    for _ in range(ROUNDS):
        each = work.weight * weight[work.worker]
        both, own, others = own_and_others(work.cells, each, work.units, work.n_tags, work.known)
        chance = by_place(work.cells, each, work.units, work.n_tags, work.worker, work.n_workers, own > 0, work.known,
                          where)  # fmt: skip
        f1 = worker_f1(both, own, others, work.worker, work.n_workers, chance)
        weight = np.maximum(f1, 1e-6) ** power
    return weight, f1
