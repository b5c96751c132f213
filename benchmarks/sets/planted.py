"""Planted crowds of label sets: every method, and what one would find who knew all rates."""

from __future__ import annotations

import numpy as np

from crowdwise.kinds.sets.simulate import SET_SCENARIOS
from tests.crowds.sets import ORACLE, one
from tests.open_sets.sets import METHODS

SEEDS = 3


def rows() -> list[list[str]]:
    """Mean over seeds of micro F1 / exact sets, by crowd."""
    crowds = {"30 classes": (30, {}), "10 classes": (10, {})}
    crowds |= {name.removeprefix("sets_"): (30, dict(SET_SCENARIOS[name].options)) for name in SET_SCENARIOS
               if name not in ("sets_plain",)}  # fmt: skip
    found = {name: [one(k, seed, told) for seed in range(SEEDS)] for name, (k, told) in crowds.items()}
    out = []
    for method in (*METHODS, ORACLE):
        means = [np.mean([each[method] for each in found[crowd]], axis=0) for crowd in crowds]
        out.append([method, *(f"{f1:.3f} / {exact:.3f}" for f1, exact in means)])
        print(*out[-1], flush=True)
    return [["", *crowds], *out]
