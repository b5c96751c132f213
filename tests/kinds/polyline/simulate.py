"""Planted crowds that draw lines."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdwise.core.intake.coding import encode
from crowdwise.core.votes import Votes
from crowdwise.simulate.draws import draw_kinds, draw_workers, numbered
from crowdwise.simulate.planted import Planted, Size, scenarios, worker_columns

from .answers import LineCoder, lines


def draw(size: Size, *, noise=6.0, random=0.0):
    """Lines across an image of 1,000 by 600 pixels; random workers draw theirs anywhere."""
    rng = np.random.default_rng(size.seed)
    truth = [_anywhere(rng) for _ in range(size.tasks)]
    kind = draw_kinds(size.workers, {"random": random}, rng)
    worker = draw_workers(size.tasks, size.workers, size.labels, rng).ravel()
    task = np.repeat(np.arange(size.tasks), size.labels)
    drawn = []
    for t, w in zip(task, worker, strict=True):
        line = _anywhere(rng) if kind[w] == "random" else truth[t] + rng.normal(0, noise, truth[t].shape)
        drawn.append(np.round(line[:: rng.choice([-1, 1])], 1))
    tasks, workers = numbered("t", size.tasks), numbered("w", size.workers)
    columns = {"task": tasks.gather(task), "worker": workers.gather(worker), "line": lines(drawn).columns()["line"]}
    votes = Votes._of(encode(columns, LineCoder, tasks=tasks, workers=workers))
    table = pl.DataFrame({"task": tasks, "line": lines(truth).columns()["line"]})
    return Planted(votes, table, worker_columns(workers, kind))


def _anywhere(rng):
    n = rng.integers(2, 6)
    return np.column_stack([np.sort(rng.uniform(0, 1000, n)), rng.uniform(0, 600, n)])


LINE_SCENARIOS = scenarios(
    "polyline",
    draw,
    {
        "lines_plain": ("lines with noise of six pixels", {}),
        "lines_random": ("lines; a fifth of the workers draw them anywhere", {"random": 0.2}),
    },
)
