"""Planted crowds on a ladder: methods, and whether biases and scales are found."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from tests.crowds.ordered import errors
from tests.open_sets.ordered import METHODS

SEEDS = 3
SIZES = (200, 800, 3200)


def score_rows() -> list[list[str]]:
    """Accuracy / MAE, mean over seeds, by crowd."""
    crowds = {name: [simulate.scenario(name, tasks=600, workers=40, seed=seed) for seed in range(SEEDS)]
              for name in simulate.ORDERED_SCENARIOS}  # fmt: skip
    out = []
    for method, (known, params) in METHODS.items():
        cells = []
        for drawn in crowds.values():
            found = [cw.evaluate(cw.method(known, **params).fit(c.votes), c.truth_table()) for c in drawn]
            cells.append(f"{np.mean([s.accuracy for s in found]):.3f} / {np.mean([s.mae for s in found]):.3f}")
        out.append([method, *cells])
        print(*out[-1], flush=True)
    return [["accuracy / MAE", *(name.removeprefix("ordered_") for name in crowds)], *out]


def recovery_rows() -> list[list[str]]:
    """How near ordinal_types comes to what was planted, by the number of answers of a worker."""
    out = []
    for tasks in SIZES:
        bias, scale = np.mean([errors(tasks, seed) for seed in range(SEEDS)], axis=0)
        out.append([f"{tasks * 5 // 20:,}", f"{bias:.3f}", f"{scale:.3f}"])
        print(*out[-1], flush=True)
    return out
