"""Calibration and interval coverage where the model is right: planted one-coin crowds."""

from __future__ import annotations

from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry

from . import cells
from .ours import _quiet

LABELS = (3, 5, 10)
SEEDS = 8


def contenders() -> list[str]:
    few = ["majority_vote", "dawid_skene", "hierarchical", registry.DEFAULT]
    return [name for name in dict.fromkeys(few) if name in registry.METHODS]


def run(seeds: int, *, fresh: bool) -> list[dict[str, Any]]:
    """Rows of method, labels per task, seed."""
    rows = []
    for labels in LABELS:
        for method in contenders():
            for seed in range(seeds):
                rows.append(one(method, labels, seed, fresh=fresh))
    return rows


def one(method: str, labels: int, seed: int, *, fresh: bool) -> dict[str, Any]:
    """One cell."""
    key = {"method": method, "labels": labels, "seed": seed, "version": cells.version(method)}
    return cells.cell("planted", key, lambda: _fit(method, labels, seed), fresh=fresh)


def _fit(method: str, labels: int, seed: int) -> dict[str, Any]:
    group = simulate.OneCoin(60, low=0.2, high=0.95, beta=(4.0, 2.5))
    crowd = simulate.crowd(1000, 4, [group], simulate.PerTask(labels), seed=seed)
    result = _quiet(method, 0, crowd.annotations)
    score = cw.evaluate(result, crowd.truth_table())
    true = np.einsum("wkk->w", crowd.confusion) / 4
    inside = ((result.skill_low <= true) & (true <= result.skill_high)).mean()
    return {
        "accuracy": score.expected_accuracy,
        "log_loss": score.log_loss,
        "ece": score.ece,
        "coverage": float(inside),
    }
