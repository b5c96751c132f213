"""Confidence learnt over many crowds: what the committee's pool is worth, read off a small table.

    tempered[i, k] ∝ (pool[i, k] + floor / K) ^ power_i,    power_i = exp(level + slope · (log n_i - CENTRE))
    posterior      = (1 - DOUBT) · tempered + DOUBT / K

n_i is the number of labels of task i. Three numbers are learnt on the sets of `datasets.INDEPENDENT` and on thinned
versions of them, every set with the same weight, by the likelihood of the true classes: how much to allow for classes
that nobody named (floor), how far the pool is to be believed (level), and how much more where there are many labels
(slope). DOUBT is fixed: whatever a crowd says, something may be wrong with the task itself, so three labels that agree
are not lightly called 90 % sure. The order of the classes stays, so no label changes. What else can be seen of a crowd
without truth (density, agreement, spread over tasks and workers, held-out likelihood, disagreement of the members) was
tried and predicts nothing on families of sets that were left out.

Crowds differ beyond what can be seen: some agree on what is wrong. So the expected accuracy of a data set has an
interval as wide as the misses on sets left out, on the scale of log odds.
`python -m benchmarks.quality.confidence --write` makes the table again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]

# About the logarithm of five labels.
CENTRE = 1.6
DOUBT = 0.02


@dataclass(frozen=True)
class Table:
    """`floor`, `level` and `slope` as above; `spread` (log odds) holds 90 % of the misses on sets left out."""

    floor: float
    level: float
    slope: float
    spread: float

    def believed(self, pool: F8, n_labels: F8) -> F8:
        """The posterior of a pool[task, class] whose tasks have so many labels."""
        power = np.exp(self.level + self.slope * (np.log(np.maximum(n_labels, 1.0)) - CENTRE))
        log = power[:, None] * np.log(pool + self.floor / pool.shape[1])
        log -= log.max(axis=1, keepdims=True)
        p = np.exp(log)
        return np.asarray((1 - DOUBT) * p / p.sum(axis=1, keepdims=True) + DOUBT / pool.shape[1])

    def expected(self, mean: float) -> tuple[float, float, float]:
        """Expected share of right labels, given the mean confidence, with its 90 % interval: (mean, low, high)."""
        odds = logit(mean)
        low, high = (1 / (1 + np.exp(-(odds + sign * self.spread))) for sign in (-1, 1))
        return mean, float(low), float(high)


def logit(share: float) -> float:
    """Log odds of a share, which is kept away from 0 and 1."""
    p = min(max(share, 1e-3), 1 - 1e-3)
    return float(np.log(p / (1 - p)))


@lru_cache(maxsize=1)
def shipped() -> Table:
    """The table that crowdwise ships."""
    text = files("crowdwise.aggregate.ensemble").joinpath("confidence.json").read_text(encoding="utf-8")
    return Table(**json.loads(text)["table"])
