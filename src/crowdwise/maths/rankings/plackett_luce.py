"""Plackett and Luce's model with a temperature of each worker: from what is left, item i is taken next with chance
proportional to exp(b_m score_i), b_m ~ N(1, sd²): 0 guesses, below 0 ranks upside down.

Plackett (1975), doi:10.2307/2346567. Tied items are taken one by one from what their whole group leaves (Breslow).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..comparisons.rows import total
from ..comparisons.uncertainty import Block
from .rows import RankRows

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PlackettLuce:
    """x = scores of the entries, then temperatures of the workers (held at `held` where `spread` is 0)."""

    rows: RankRows
    strength: float
    spread: float
    held: F8 | None = None

    @cached_property
    def _stage(self) -> tuple[I8, npt.NDArray[np.bool_]]:
        """The place at which the group of each place begins, and which places are choices that tell something."""
        rows = self.rows
        width = rows.entry.shape[1]
        place = np.broadcast_to(np.arange(width), rows.entry.shape)
        new = np.ones_like(rows.there)
        new[:, 1:] = rows.level[:, 1:] != rows.level[:, :-1]
        start = np.maximum.accumulate(np.where(new, place, 0), axis=1)
        last = rows.level == np.take_along_axis(rows.level, np.maximum(rows.size - 1, 0)[:, None], axis=1)
        tells = rows.there & ~(last & rows.rest[:, None])
        # All items in one group, or the last item alone, tell nothing.
        alone = last & (start == (rows.size - 1)[:, None])
        return start, tells & ~alone & ~(rows.level.max(axis=1, initial=0) == 0)[:, None]

    def parts(self, x: F8) -> tuple[F8, F8]:
        """Scores and temperatures."""
        k = self.rows.n_entries
        held = np.ones(self.rows.n_workers) if self.held is None else self.held
        return x[:k], x[k:] if self.spread > 0 else held

    def start(self) -> F8:
        """All alike."""
        return np.concatenate([np.zeros(self.rows.n_entries), np.ones(self.rows.n_workers)])

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        rows = self.rows
        score, b = self.parts(x)
        value, by_entry, by_row = self._pass(score, b)
        value -= 0.5 * self.strength * float(score @ score)
        entry = rows.entry[rows.there]
        gs = total(entry, by_entry[0], rows.n_entries) - self.strength * score
        hs = total(entry, by_entry[1], rows.n_entries) + self.strength + 1e-9
        gb, hb = np.zeros(rows.n_workers), np.ones(rows.n_workers)
        if self.spread > 0:
            gap = (b - 1) / self.spread
            value -= 0.5 * float(gap @ gap)
            gb = total(rows.worker, by_row[0], rows.n_workers) - gap / self.spread
            hb = total(rows.worker, by_row[1], rows.n_workers) + 1 / self.spread**2
        return value, np.concatenate([gs, gb]), np.concatenate([hs, hb])

    def _pass(self, score: F8, b: F8) -> tuple[float, tuple[F8, F8], tuple[F8, F8]]:
        """Log-likelihood; gradient and curvature of each place's score, and of each row's temperature."""
        rows = self.rows
        there, weight = rows.there, rows.weights[:, None]
        start, tells = self._stage
        own = np.where(there, score[np.maximum(rows.entry, 0)], 0.0)
        heat = b[rows.worker][:, None]
        u = np.where(there, heat * own, -np.inf)
        top = u.max(axis=1, keepdims=True, initial=-1e300)
        mass = np.where(there, np.exp(u - top), 0.0)
        left = _from(mass, start)
        log_left = np.log(np.maximum(left, 1e-300))
        gone = np.where(tells, 1 / np.maximum(left, 1e-300), 0.0)
        value = float((weight * np.where(tells, u - top - log_left, 0.0)).sum()) if len(rows) else 0.0
        once, twice = _until(gone, start), _until(gone**2, start)
        pick = mass * once  # expected number of times that it would have been taken
        gu = weight * np.where(there, tells - pick, 0.0)
        hu = weight * np.where(there, mass * once - mass**2 * twice, 0.0)
        mean = _from(mass * own, start) * gone
        square = _from(mass * own**2, start) * gone
        hb = (weight * (square - mean**2)).sum(axis=1)
        return value, ((heat * gu)[there], (heat**2 * hu)[there]), ((own * gu).sum(axis=1), hb)

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores of each task, temperatures taken as known."""
        rows = self.rows
        score, b = self.parts(x)
        start, tells = self._stage
        out = []
        for task, own in enumerate(rows.by_task):
            begin, end = int(rows.begin[task]), int(rows.begin[task + 1])
            if end > begin:
                info = _information(rows, own, score, b, start, tells, begin, end - begin)
                full = np.linalg.inv(info + self.strength * np.eye(end - begin))
                full = full - full.mean(axis=0, keepdims=True)
                full = full - full.mean(axis=1, keepdims=True)
                variance = np.maximum(np.diag(full), 0.0)
                out.append(Block(np.arange(begin, end)[None], full[None], variance[None]))
        return out


def _information(
    rows: RankRows, own: I8, score: F8, b: F8, start: I8, tells: npt.NDArray[np.bool_], begin: int, k: int
) -> F8:
    """Fisher's information of a task's scores: over all choices, diag(p) - p p'."""
    info = np.zeros((k, k))
    if not len(own):
        return info
    there, entry = rows.there[own], np.maximum(rows.entry[own] - begin, 0)
    heat = b[rows.worker[own]][:, None]
    u = np.where(there, heat * score[np.maximum(rows.entry[own], 0)], -np.inf)
    mass = np.where(there, np.exp(u - u.max(axis=1, keepdims=True)), 0.0)
    w = rows.weights[own] * b[rows.worker[own]] ** 2
    at = np.arange(len(own))[:, None]
    for stage in range(mass.shape[1]):
        choice = tells[own, stage]
        if not choice.any():
            continue
        some = np.where(np.arange(mass.shape[1])[None, :] >= start[own, stage][:, None], mass, 0.0)
        p = some / np.maximum(some.sum(axis=1, keepdims=True), 1e-300)
        full = np.zeros((len(own), k))
        np.add.at(full, (at, entry), np.where(there, p, 0.0))
        full, weight = full[choice], w[choice]
        info += np.diag(weight @ full) - (full * weight[:, None]).T @ full
    return info


def _from(values: F8, start: I8) -> F8:
    """Sums from the place where a place's group begins to the end of the row."""
    tail = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return np.take_along_axis(tail, start, axis=1)


def _until(values: F8, start: I8) -> F8:
    """Sums over all choices that an item was still there for: those of earlier groups and of its own."""
    width = values.shape[1]
    head = np.cumsum(values, axis=1)
    # The end of the group of a place: one before the next group's begin.
    following = np.full_like(start, width - 1)
    for place in range(width - 2, -1, -1):
        same = start[:, place + 1] == start[:, place]
        following[:, place] = np.where(same, following[:, place + 1], place)
    return np.take_along_axis(head, following, axis=1)
