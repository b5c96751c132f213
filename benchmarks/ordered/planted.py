"""Planted crowds on a ladder: methods, and whether biases and scales are found."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.ordered.simulate import PlantedOrder, ordered_crowd

from .sets import METHODS

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


def errors(tasks: int, seed: int) -> tuple[float, float]:
    """Root mean squared error of biases (in steps) and of the scales' logarithms, the common offset left in."""
    crowd = PlantedOrder(ordered_crowd(tasks, 20, 5, per_task=5, seed=seed), 5)
    found = cw.ordered.OrdinalTypes().fit(crowd.votes).extra
    bias = found["bias"] - crowd.planted.bias
    scale = np.log(found["scale"]) - np.log(crowd.planted.scale)
    return float(np.sqrt((bias**2).mean())), float(np.sqrt((scale**2).mean()))


def recovery_rows() -> list[list[str]]:
    """How near ordinal_types comes to what was planted, by the number of answers of a worker."""
    out = []
    for tasks in SIZES:
        bias, scale = np.mean([errors(tasks, seed) for seed in range(SEEDS)], axis=0)
        out.append([f"{tasks * 5 // 20:,}", f"{bias:.3f}", f"{scale:.3f}"])
        print(*out[-1], flush=True)
    return out
