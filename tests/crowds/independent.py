"""Crowds in which nobody copies, and how many honest workers are flagged in them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

import crowdwise as cw
from crowdwise.kinds.classes.workers.judgement import Judgement
from crowdwise.kinds.classes.workers.study import flags_of
from crowdwise.workers import agreement_outliers, covariance_flags, robust_outliers

KINDS = ("sd 0", "sd 1", "sd 2", "guessers")
WORKERS, SEEDS = 60, 20
METHOD = "hierarchical"
# The flags that `study` raises; the others are asked for by name.
STUDIED = ("constant", "random", "adversarial", "colluding", "copying", "drift")


@dataclass
class Found:
    """Of one sort of crowds: honest workers, those with any flag of `study`, and how many get each flag."""

    honest: int = 0
    any_flag: int = 0
    by_name: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Found) -> Found:
        return Found(self.honest + other.honest, self.any_flag + other.any_flag, self.by_name + other.by_name)


def independent(k: int, kind: str, seed: int) -> tuple[cw.Annotations, np.ndarray]:
    """A crowd in which nobody copies, and who of it is honest."""
    rng = np.random.default_rng([seed, k, KINDS.index(kind)])
    n, labels = int(rng.integers(200, 401)), (3, 5, 10, None)[seed % 4]
    prior = np.full(k, 1 / k) if seed // 4 % 2 == 0 else np.r_[0.9, np.full(k - 1, 0.1 / (k - 1))]
    truth = rng.choice(k, n, p=prior)
    ease = np.exp(rng.normal(0, float(kind[3:]), n)) if kind.startswith("sd") else np.ones(n)
    right = 1 / (1 + np.exp(-np.outer(rng.uniform(0.4, 2.5, WORKERS), ease)))
    honest = np.ones(WORKERS, dtype=bool)
    if kind == "guessers":
        right = np.tile(rng.uniform(0.7, 0.95, WORKERS)[:, None], n)
        honest[: WORKERS // 3] = False
        right[~honest] = 1 / k
    here = np.argsort(rng.random((n, WORKERS)), axis=1)[:, : labels or WORKERS]
    task, worker = np.repeat(np.arange(n), here.shape[1]), here.ravel()
    wrong = (truth[task] + rng.integers(1, k, len(task))) % k
    if seed // 8 % 2 and kind != "guessers":
        tempting = (truth + rng.integers(1, k, n)) % k
        wrong = np.where(rng.random(len(task)) < 0.7, tempting[task], wrong)
    said = np.where(rng.random(len(task)) < right[worker, task], truth[task], wrong)
    known = {"tasks": range(n), "workers": range(WORKERS), "classes": range(k)}
    return cw.Annotations.from_arrays(task, worker, said, time=task * 60.0, **known), honest


def measure(k: int, kind: str, seeds: range) -> Found:
    """All flags on crowds of one sort."""
    out = Found()
    for seed in seeds:
        votes, honest = independent(k, kind, seed)
        flags = flags_of(Judgement(votes, cw.method(METHOD).fit(votes)))
        studied = {f.worker for f in flags if f.name in STUDIED and honest[f.worker]}
        outliers = {f.worker: f for f in [*agreement_outliers(votes), *robust_outliers(votes)]}
        flags += [*outliers.values(), *covariance_flags(votes)]
        names = Counter(f.name for f in flags if f.name != "unknown" and honest[f.worker])
        out += Found(int(honest.sum()), len(studied), names)
    return out
