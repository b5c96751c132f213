"""The workers of a result in a few rows: the best and the worst, for the terminal."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.result import Result
from .ranking import best_and_worst

Rows = tuple[list[str], list[list[str]]]


def worker_rows(result: Result, limit: int = 5) -> Rows:
    """Of classes: by the ends of their skills' intervals, those without labels left out."""
    best, worst = best_and_worst(result.worker_table(), limit)
    picked = best.vstack(worst.reverse())
    rows = [
        [str(w), f"{n:,}", f"{s:.3f}", f"{lo:.3f} – {hi:.3f}", bar(s, lo, hi)] for w, n, s, lo, hi in picked.iter_rows()
    ]
    if len(worst):
        rows.insert(limit, ["…", "", "", "", ""])
    return ["worker", "labels", "skill", "95 % interval", ""], rows


def number_rows(result: Result, limit: int = 5) -> Rows:
    """Of numbers: by their spread in the tasks' own units, those without answers left out.

    Whoever says always the same has no spread, and a slope of 0: they tell nothing, and stand last.
    """
    picture: Any = result.picture
    heard = np.flatnonzero(result.labels_per_worker > 0)
    unit = np.maximum(np.abs(picture.slope), 1e-12)
    noise = np.log(np.maximum(picture.spread, 1e-300) / unit).mean(axis=1)
    order = heard[np.argsort(noise[heard], kind="stable")]
    some = order if len(order) <= 2 * limit else np.concatenate([order[:limit], order[-limit:]])
    names = result.workers.gather(some).to_list()
    ends = [f" {part}" if part else "" for part in picture.parts.to_list()]
    header = ["worker", "answers", *(f"{what}{end}" for end in ends for what in ("bias", "spread", "slope"))]
    rows = [
        [str(name), f"{result.labels_per_worker[w]:,}"]
        + [f"{values[w, j]:.3g}" for j in range(len(ends)) for values in (picture.bias, picture.spread, picture.slope)]
        for name, w in zip(names, some, strict=True)
    ]
    if len(some) < len(order):
        rows.insert(limit, ["…"] + [""] * (len(header) - 1))
    return header, rows


def bar(value: float, low: float, high: float, width: int = 24) -> str:
    """An interval drawn on 0..1: ┄┄━━●━━┄┄."""
    cells = ["┄"] * width
    a, b, dot = (min(width - 1, max(0, int(x * width))) for x in (low, high, value))
    cells[a : b + 1] = "━" * (b + 1 - a)
    cells[dot] = "●"
    return "".join(cells)
