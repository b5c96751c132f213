"""Planted crowds on a ladder: how far estimates are from what was planted."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise.kinds.ordered.simulate import PlantedOrder, ordered_crowd


def errors(tasks: int, seed: int) -> tuple[float, float]:
    """Root mean squared error of biases (in steps) and of the scales' logarithms, the common offset left in."""
    crowd = PlantedOrder(ordered_crowd(tasks, 20, 5, per_task=5, seed=seed), 5)
    found = cw.ordered.OrdinalTypes().fit(crowd.votes).extra
    bias = found["bias"] - crowd.planted.bias
    scale = np.log(found["scale"]) - np.log(crowd.planted.scale)
    return float(np.sqrt((bias**2).mean())), float(np.sqrt((scale**2).mean()))
