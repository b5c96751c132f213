"""Confidence learnt over many crowds: calibration of the committee's pool with a small table.

    tempered[i, k] ∝ (pool[i, k] + floor / K) ^ power_i
    power_i        = exp(level + slope · (log n_i - CENTRE) + crowd · (logit skill - logit AVERAGE) / n_i)
    posterior      = (1 - DOUBT) · tempered + DOUBT / K

n_i is the number of labels of task i, `skill` the probability that a label is right, inferred from how often two labels
of a task agree. Four numbers are learnt on the sets of `datasets.INDEPENDENT` and on thinned versions of them, every
set with the same weight, by the likelihood of the true classes: the allowance for classes without labels (floor), the
reliability of the pool (level), its increase with the number of labels (slope), and the weight of the crowd's skill for
tasks with few labels (crowd), as a vote treats a single label as certain. DOUBT is fixed: the task itself may be
flawed, so three agreeing labels should not easily reach 90 % confidence. The order of the classes is kept, so no label
changes.
Other features of a crowd that are observable without truth (density, spread over tasks and workers, held-out
likelihood, disagreement of the members, agreement where a task has several labels) were tried and predict nothing on
held-out families of sets.

Crowds differ in unobservable ways: some agree on wrong labels. The expected accuracy of a data set therefore has an
interval as wide as the errors on held-out sets, on the scale of log odds.
`python -m benchmarks.quality.confidence --write` creates the table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np

from .....core.arrays import F8

# About the logarithm of five labels.
CENTRE = 1.6
DOUBT = 0.02
# The typical skill of a crowd, and the prior of the agreement: so many pairs that agree at this rate.
AVERAGE = 0.75
PAIRS, AGREE = 20.0, 0.6


@dataclass(frozen=True)
class ConfidenceTable:
    """`floor`, `level`, `slope` and `crowd` as above; `spread` (log odds) covers 90 % of errors on held-out sets."""

    floor: float
    level: float
    slope: float
    spread: float
    crowd: float = 0.0

    def calibrate(self, pool: F8, n_labels: F8, skill: float = AVERAGE) -> F8:
        """Return the calibrated posterior.

        Args:
            pool: The average posterior, [task, class].
            n_labels: Number of labels of each task.
            skill: Skill of the crowd.
        """
        n = np.maximum(n_labels, 1.0)
        crowd_effect = self.crowd * (logit(skill) - logit(AVERAGE)) / n
        power = np.exp(self.level + self.slope * (np.log(n) - CENTRE) + crowd_effect)
        log = power[:, None] * np.log(pool + self.floor / pool.shape[1])
        log -= log.max(axis=1, keepdims=True)
        p = np.exp(log)
        return np.asarray((1 - DOUBT) * p / p.sum(axis=1, keepdims=True) + DOUBT / pool.shape[1])

    def expected(self, mean: float) -> tuple[float, float, float]:
        """Return the expected share of right labels given the mean confidence, with its 90 % interval."""
        odds = logit(mean)
        low, high = (1 / (1 + np.exp(-(odds + sign * self.spread))) for sign in (-1, 1))
        return mean, float(low), float(high)


def skill(agreeing: float, pairs: float, n_classes: int) -> float:
    """Return the probability a that a label is right, from the pairs of labels of one task that agree.

    With uniform errors it is the larger root of a² + (1 - a)² / (K - 1) = share of pairs that agree.
    """
    if n_classes < 2:
        return AVERAGE
    agree = (agreeing + PAIRS * AGREE) / (pairs + PAIRS)
    inner = 1 - n_classes * (1 - agree * (n_classes - 1))
    return float((1 + np.sqrt(max(inner, 0.0))) / n_classes)


def logit(share: float) -> float:
    """Return the log odds of a share, clipped away from 0 and 1."""
    p = min(max(share, 1e-3), 1 - 1e-3)
    return float(np.log(p / (1 - p)))


@lru_cache(maxsize=1)
def shipped() -> ConfidenceTable:
    """Return the table shipped with crowdwise."""
    text = files("crowdwise.kinds.classes.methods.ensemble").joinpath("confidence.json").read_text(encoding="utf-8")
    return ConfidenceTable(**json.loads(text)["table"])
