"""Gold that is stated to be random and is not: how often it is refused, and how often random gold is refused."""

from __future__ import annotations

import numpy as np
import polars as pl

from crowdwise.core.errors import DataError
from crowdwise.evaluation.guarantee import estimators as double
from crowdwise.evaluation.guarantee.gold import GoldSample
from crowdwise.evaluation.guarantee.sampling import check_random
from crowdwise.evaluation.guarantee.verdicts import Verdicts

from .coverage import SCORE, counts

RUNS, TASKS, GOLD = 1000, 3000, 150


def world(rng: np.random.Generator) -> tuple[Verdicts, np.ndarray]:
    """One judge of an imbalanced question: confidence tells where it errs."""
    truth = (rng.random(TASKS) < 0.2).astype(np.int64)
    sure = rng.beta(5, 1.2, TASKS)
    right = rng.random(TASKS) < 0.5 + 0.5 * sure
    label = np.where(right, truth, 1 - truth)
    tasks = pl.Series("task", np.arange(TASKS))
    return Verdicts(
        tasks, "judge", label, pl.Series("label", ["fail", "pass"]), 0.5 + 0.5 * sure, np.ones(TASKS, dtype=np.int64)
    ), truth


def pick(kind: str, found: Verdicts, truth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "random":
        return rng.permutation(TASKS)[:GOLD]
    if kind == "where the judge is unsure":
        weight = 1.02 - found.confidence
    elif kind == "balanced by truth":
        weight = np.where(truth == 1, 1 / (truth == 1).sum(), 1 / (truth == 0).sum())
    else:  # "where judge and truth differ"
        weight = np.where(found.label != truth, 3.0, 1.0)
    return rng.choice(TASKS, GOLD, replace=False, p=weight / weight.sum())


KINDS = ("random", "where the judge is unsure", "balanced by truth", "more where judge and truth differ")


def refusal_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    for kind in KINDS:
        rng, refused, covered = np.random.default_rng([21, KINDS.index(kind)]), 0, 0
        for _ in range(runs):
            found, truth = world(rng)
            gold = pick(kind, found, truth, rng)
            try:
                check_random(GoldSample(gold, truth[gold]), found)
            except DataError:
                refused += 1
            covered += _covers(found, truth, gold, rng)
        out.append([kind, f"{refused / runs:.3f}", f"{covered / runs:.3f}"])
        print(*out[-1], flush=True)
    return out


def _covers(found: Verdicts, truth: np.ndarray, gold: np.ndarray, rng: np.random.Generator) -> bool:
    low, high = double.central(double.draws(*counts(truth, found.label, gold), SCORE, rng, size=1000), 0.95)
    return bool(low <= truth.mean() <= high)
