"""Planted verdicts of one judge, with truth."""

from __future__ import annotations

import numpy as np

import crowdwise as cw


def judged(n=2000, prevalence=0.3, error=0.12, seed=0, names=("fine", "toxic"), **more):
    """(votes of one judge with stated confidence, truth by task): less sure where they err more."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < prevalence).astype(int)
    sure = rng.beta(6, 1, n)
    right = rng.random(n) < 1 - 2 * error * (1 - sure) / (1 - sure.mean()) * 0.5
    label = np.where(right, truth, 1 - truth)
    tasks = [f"t{i:05}" for i in range(n)]
    votes = cw.Annotations.from_arrays(
        tasks, ["judge-a"] * n, np.array(names)[label], confidence=(0.5 + sure / 2).round(3), **more
    )
    return votes, dict(zip(tasks, np.array(names)[truth].tolist(), strict=True))


def some(truth, n, seed=0):
    """A random part of the truth."""
    rng = np.random.default_rng([seed, 77])
    names = sorted(truth)
    return {names[i]: truth[names[i]] for i in rng.permutation(len(names))[:n]}
