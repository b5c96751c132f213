"""Confidence learnt over many crowds: what the committee's pool is worth, read off a small table.

    tempered[i, k] ∝ (pool[i, k] + floor / K) ^ power_i
    power_i        = exp(level + slope · (log n_i - CENTRE) + crowd · (logit skill - logit AVERAGE) / n_i)
    posterior      = (1 - DOUBT) · tempered + DOUBT / K

n_i is the number of labels of task i, `skill` how often a label is right where two of a task agree as often as these
do. Four numbers are learnt on the sets of `datasets.INDEPENDENT` and on thinned versions of them, every set with the
same weight, by the likelihood of the true classes: how much to allow for classes that nobody named (floor), how far the
pool is to be believed (level), how much more where there are many labels (slope), and how much a lone label of this
crowd is worth (crowd): a vote calls a lone label certain, whoever gave it. DOUBT is fixed: whatever a crowd says,
something may be wrong with the task itself, so three labels that agree are not lightly called 90 % sure. The order of
the classes stays, so no label changes. What else can be seen of a crowd without truth (density, spread over tasks and
workers, held-out likelihood, disagreement of the members, agreement where a task has several labels) was tried and
predicts nothing on families of sets that were left out.

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
# The skill of a crowd like most; before any two labels meet, so many pairs are taken to agree so often.
AVERAGE = 0.75
PAIRS, AGREE = 20.0, 0.6


@dataclass(frozen=True)
class Table:
    """`floor`, `level`, `slope` and `crowd` as above; `spread` (log odds) holds 90 % of the misses on sets left out."""

    floor: float
    level: float
    slope: float
    spread: float
    crowd: float = 0.0

    def believed(self, pool: F8, n_labels: F8, skill: float = AVERAGE) -> F8:
        """The posterior of a pool[task, class] whose tasks have so many labels, of a crowd of such skill."""
        n = np.maximum(n_labels, 1.0)
        alone = self.crowd * (logit(skill) - logit(AVERAGE)) / n
        power = np.exp(self.level + self.slope * (np.log(n) - CENTRE) + alone)
        log = power[:, None] * np.log(pool + self.floor / pool.shape[1])
        log -= log.max(axis=1, keepdims=True)
        p = np.exp(log)
        return np.asarray((1 - DOUBT) * p / p.sum(axis=1, keepdims=True) + DOUBT / pool.shape[1])

    def expected(self, mean: float) -> tuple[float, float, float]:
        """Expected share of right labels, given the mean confidence, with its 90 % interval: (mean, low, high)."""
        odds = logit(mean)
        low, high = (1 / (1 + np.exp(-(odds + sign * self.spread))) for sign in (-1, 1))
        return mean, float(low), float(high)


def skill(agreeing: float, pairs: float, n_classes: int) -> float:
    """How often a label is right, given how many pairs of labels of one task agree, if errors spread evenly: the
    larger root of a² + (1 - a)² / (K - 1) = share of pairs that agree."""
    if n_classes < 2:
        return AVERAGE
    agree = (agreeing + PAIRS * AGREE) / (pairs + PAIRS)
    inner = 1 - n_classes * (1 - agree * (n_classes - 1))
    return float((1 + np.sqrt(max(inner, 0.0))) / n_classes)


def logit(share: float) -> float:
    """Log odds of a share, which is kept away from 0 and 1."""
    p = min(max(share, 1e-3), 1 - 1e-3)
    return float(np.log(p / (1 - p)))


@lru_cache(maxsize=1)
def shipped() -> Table:
    """The table that crowdwise ships."""
    text = files("crowdwise.kinds.classes.methods.ensemble").joinpath("confidence.json").read_text(encoding="utf-8")
    return Table(**json.loads(text)["table"])
