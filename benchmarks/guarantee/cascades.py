"""A cheap and a strong judge: what labels cost with each alone and with both, and whether the promise holds."""

from __future__ import annotations

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee.verdicts import Verdicts

RUNS, TASKS = 60, 4000
# (prices), (errors of cheap and strong), error asked for, gold
CASES = (
    ((1, 10, 100), (0.27, 0.07), 0.05, 400),
    ((1, 10, 100), (0.27, 0.07), 0.05, 800),
    ((1, 40, 100), (0.14, 0.07), 0.05, 800),
    ((1, 40, 100), (0.14, 0.07), 0.1, 400),
)


def judge(truth: np.ndarray, error: float, rng: np.random.Generator) -> Verdicts:
    """A judge who errs in this share of tasks, more where they are less sure; what they state is too high."""
    spread = 1.8 * rng.normal(size=TASKS)
    low, high = -5.0, 12.0
    for _ in range(50):  # where the log-odds of being right must lie
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(spread + middle))).mean() > error else (low, middle)
    logit = spread + high
    right = rng.random(TASKS) < 1 / (1 + np.exp(-logit))
    stated = np.clip(1 / (1 + np.exp(-(1.3 * logit + 0.5))), 0.5, 0.9999)
    return Verdicts(
        pl.Series("task", np.arange(TASKS)), "judge", np.where(right, truth, 1 - truth),
        pl.Series("label", ["fine", "toxic"]), stated, np.ones(TASKS, dtype=np.int64),
    )  # fmt: skip


def cascade_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    for prices, errors, alpha, n in CASES:
        rng, costs, broken = np.random.default_rng([41, n, round(100 * alpha)]), [], 0
        for run in range(runs):
            truth = (rng.random(TASKS) < 0.4).astype(np.int64)
            both = [judge(truth, error, rng) for error in errors]
            drawn = cw.draw(both[0], n, seed=run)
            gold = {t: ("fine", "toxic")[truth[t]] for t in drawn.tasks}
            found = cw.cascade(*both, gold=gold, prices=prices, error=alpha, sampling=drawn, seed=run)
            costs.append([way.cost for way in found.strategies])
            unseen = found.table.filter(pl.col("by").is_in(["cheap", "strong"]))
            wrong = unseen["label"].to_numpy() != np.array(["fine", "toxic"])[truth[unseen["task"].to_numpy()]]
            broken += bool(len(wrong)) and bool(wrong.mean() > alpha)
        name = f"{prices[0]}, {prices[1]}, {prices[2]}; {errors[0]:g}, {errors[1]:g}; {100 * alpha:g} %; {n}"
        out.append([name, *(f"{x:.1f}" for x in np.mean(costs, axis=0)), f"{broken / runs:.3f}"])
        print(*out[-1], flush=True)
    return out
