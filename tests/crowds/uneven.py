"""Uneven planted classes: one-coin workers, few labels a task."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise.core.errors import CrowdwiseWarning

SEEDS = 10


def planted(prior: list[float], labels: int, seed: int, tasks: int = 1000, workers: int = 40):
    """Annotations and truth of workers who are right in .55 to .95, whatever the class."""
    rng, k = np.random.default_rng(seed), len(prior)
    truth = rng.choice(k, tasks, p=prior)
    skill = rng.uniform(0.55, 0.95, workers)
    task = np.repeat(np.arange(tasks), labels)
    worker = np.concatenate([rng.choice(workers, labels, replace=False) for _ in range(tasks)])
    right = rng.random(len(task)) < skill[worker]
    label = np.where(right, truth[task], (truth[task] + rng.integers(1, k, len(task))) % k)
    return cw.Annotations.from_arrays(task, worker, label, classes=range(k)), truth


def accuracies(prior: list[float], labels: int, seeds: int = SEEDS) -> dict[str, float]:
    found: dict[str, list[float]] = {"majority_vote": [], "hierarchical": [], "committee": []}
    for seed in range(seeds):
        votes, truth = planted(prior, labels, seed)
        for name, scores in found.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CrowdwiseWarning)
                result = cw.method(name).fit(votes)
            scores.append(cw.evaluate(result, {t: int(c) for t, c in enumerate(truth)}, resamples=0).accuracy)
    return {name: float(np.mean(scores)) for name, scores in found.items()}
