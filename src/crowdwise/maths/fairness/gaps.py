"""Rates by group and what lies between them, from verdicts on all tasks and gold on few: double sampling in each cell.

positive P(said k | z), recall P(said k | true k, z), false P(said k | true not k, z), accuracy P(said = true | z)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..guarantee.double import _rows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
MEASURES = ("positive", "recall", "false", "accuracy")
LEAST = 10
DRAWS = 4000


class Rates(NamedTuple):
    """rate[..., measure, class, group] with gold[measure, class, group], how many gold labels stand behind it."""

    rate: F8
    gold: F8


def rates(table: F8) -> F8:
    """rate[..., measure, class, group] of table[..., group, said, true]; the accuracy stands at class 0, NaN else."""
    groups, k = table.shape[-3], table.shape[-1]
    total = table.sum(axis=(-2, -1))
    said, true = table.sum(axis=-1), table.sum(axis=-2)  # ..., group, class
    hit = np.diagonal(table, axis1=-2, axis2=-1)[..., :k]
    out = np.full((*table.shape[:-3], len(MEASURES), k, groups), np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        out[..., 0, :, :] = np.swapaxes(said[..., :k] / total[..., None], -1, -2)
        out[..., 1, :, :] = np.swapaxes(hit / true, -1, -2)
        out[..., 2, :, :] = np.swapaxes((said[..., :k] - hit) / (total[..., None] - true), -1, -2)
        out[..., 3, 0, :] = hit.sum(axis=-1) / total
    return out


def behind(counts: F8) -> F8:
    """gold[measure, class, group] of gold counts[group, said, true]; parity needs none."""
    k = counts.shape[-1]
    true, total = counts.sum(axis=1).T, counts.sum(axis=(1, 2))
    everyone = np.broadcast_to(total, (k, len(total)))
    return np.stack([np.full_like(true, np.inf), true, everyone - true, everyone])


def points(tasks: F8, counts: F8) -> F8:
    """The rates as double sampling estimates them: tasks[group, said], gold counts[group, said, true]."""
    n = counts.sum(axis=-1, keepdims=True)
    pooled = counts.sum(axis=1, keepdims=True)
    pooled = pooled / np.maximum(pooled.sum(axis=-1, keepdims=True), 1)
    return rates(tasks[..., None] * np.where(n > 0, counts / np.maximum(n, 1), pooled))


def draws(tasks: F8, counts: F8, rng: np.random.Generator, *, new: bool = False, size: int = DRAWS) -> F8:
    """Plausible rates[draw, measure, class, group] of these tasks, or of new ones of their kind."""
    groups, said, k = counts.shape
    within = _rows((counts + 1 / k).reshape(groups * said, k), rng, size).reshape(size, groups, said, k)
    if new:
        shares = _rows(tasks + 0.5, rng, size)
        return rates(shares[..., None] * within)
    rest = np.maximum(np.rint(tasks - counts.sum(axis=-1)), 0).astype(np.int64)
    table = rng.multinomial(np.broadcast_to(rest, (size, groups, said)), within)
    return rates(table + counts)


def pairs(n: int) -> list[tuple[int, int]]:
    """Pairs of groups, each once."""
    return [(a, b) for a in range(n) for b in range(a + 1, n)]


def simultaneous(drawn: F8, level: float) -> tuple[F8, F8]:
    """(low, high) of many differences at once, drawn[draw, difference]: mean ± c·sd, c from the largest |t| of each
    draw; a single difference gets its plain interval."""
    centre, spread = drawn.mean(axis=0), drawn.std(axis=0)
    moving = spread > 1e-12
    if not moving.any():
        return centre, centre.copy()
    largest = (np.abs(drawn[:, moving] - centre[moving]) / spread[moving]).max(axis=1)
    wide = float(np.quantile(largest, level)) * spread
    return centre - wide, centre + wide
