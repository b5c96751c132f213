"""A large crowd that compares."""

from __future__ import annotations

import numpy as np

from crowdwise.kinds.comparisons.maths.models import PairRows


def large(ties: bool, n: int = 1_000_000, k: int = 10_000, m: int = 10_000) -> PairRows:
    """Answers of a large crowd, a fifth of whom toss a coin."""
    rng = np.random.default_rng(0)
    score, trust = 1.5 * rng.normal(size=k), np.where(rng.random(m) < 0.2, 0.5, rng.beta(6, 2, m))
    left, worker = rng.integers(0, k, n), rng.integers(0, m, n)
    right = (left + rng.integers(1, k, n)) % k
    p = 1 / (1 + np.exp(score[right] - score[left]))
    outcome = (rng.random(n) > trust[worker] * p + (1 - trust[worker]) * (1 - p)).astype(np.int8)
    outcome = np.where(rng.random(n) < 0.15, 2, outcome).astype(np.int8) if ties else outcome
    return PairRows(*(x.astype(np.int32) for x in (left, right)), outcome, worker.astype(np.int32), None, k, m)
