"""Tests of fit: are the errors of different workers on one task independent given its class?

`EvidencePower` is the power at which the other labels of a task best predict a label (maths/leave_out.py): 1 under
independence, lower if workers share errors. `dispersion` is log mean z² over tasks, where z compares a task's expected
number of right labels with the prediction from its workers' accuracies: about 0 under independence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.interpolate import CubicSpline

from .....core.arrays import F8
from .....em.kernels import Stats, Workspace, stats_of
from .....em.loop import plus
from .....em.rows import row_weights
from ...maths.leave_out import POWERS, LeaveOutTables, Predictions
from ..partitioned import PartitionedVotes, Predictor, apply_predictor, mean_posterior

# The evidence power from which the models are used, and the width of the step around it (in log b).
POWER, WIDTH = 0.7, 0.05
# Mean and spread of log b over real crowds.
TYPICAL, SPREAD = 0.4, 0.5
# Tasks with two labels or more from which a dispersion is given.
FEWEST = 5
_GRID = np.linspace(np.log(POWERS[0]), np.log(POWERS[-1]), 97)


@dataclass(frozen=True)
class EvidencePower:
    """The power at which the other labels of a task best predict a label.

    Attributes:
        power: The power; None if no task has two labels.
        low: Lower end of its 90 % interval.
        high: Upper end of its 90 % interval.
        share: Probability that it is above POWER, smoothed by WIDTH: the weight of the models.
    """

    power: float | None
    low: float
    high: float
    share: float

    @classmethod
    def of(cls, test: Predictions, n_tasks: float) -> EvidencePower:
        """Estimate the power from the likelihood of left-out labels, tempered as labels of a task are dependent."""
        weight = float(test.weight[0])
        if not weight:
            return cls.unknown()
        curve = CubicSpline(np.log(POWERS), test.curve / np.sqrt(max(weight / n_tasks, 1.0)))(_GRID)
        log = curve - 0.5 * ((_GRID - np.log(TYPICAL)) / SPREAD) ** 2
        p = np.exp(log - log.max())
        p /= p.sum()
        step = 1 / (1 + np.exp(-(_GRID - np.log(POWER)) / WIDTH))
        low, high = np.exp(np.interp([0.05, 0.95], np.cumsum(p), _GRID))
        return cls(float(np.exp(p @ _GRID)), float(low), float(high), float(p @ step))

    @classmethod
    def unknown(cls) -> EvidencePower:
        """Return the estimate where no task has two labels."""
        return cls(None, float(POWERS[0]), float(POWERS[-1]), 0.0)

    def to_dict(self) -> dict[str, float | None]:
        """Return the fields for JSON."""
        return {"power": self.power, "low": self.low, "high": self.high, "share": self.share}


def expected_counts(predictor: Predictor, space: Workspace) -> Stats:
    """Return the expected counts under a predictor's posterior of a part."""
    return stats_of(space, apply_predictor(predictor, space, keep=True).posterior)


def tables_of(data: PartitionedVotes, predictor: Predictor, counts: F8 | None = None) -> LeaveOutTables:
    """Return the tables of a predictor's posterior, from counts[worker, true, observed] where they are available."""
    if counts is None:
        stats = data.sum(partial(expected_counts, predictor), plus)
        return LeaveOutTables.of(stats.counts, stats.mass)
    return LeaveOutTables.of(counts.transpose(0, 2, 1), mean_posterior(data, predictor) * data.n_tasks)


def dispersion(data: PartitionedVotes, predictor: Predictor, tables: LeaveOutTables) -> dict[str, float | None]:
    """Return the overdispersion of the number of right labels per task, and the share of tasks with too few of them.

    The overdispersion is log mean z², about 0 if errors are independent given the class. Both are None with too few
    tasks. `tables` are those of the posterior of `predictor`.
    """
    squares, low, tasks = data.sum(partial(_residual_sums, predictor, tables.hits, tables.n), plus).tolist()
    if tasks < FEWEST:
        return {"dispersion": None, "low_share": None}
    return {"dispersion": float(np.log(np.clip(squares / tasks, 0.05, 20.0))), "low_share": low / tasks}


def _residual_sums(predictor: Predictor, hits: F8, n: F8, space: Workspace) -> F8:
    """Return the sum of z², the number of z < -1.5, and the number of z, over tasks with at least two labels."""
    rows = space.shard
    posterior = apply_predictor(predictor, space, keep=True).posterior
    weight = row_weights(rows)
    hit = posterior[rows.task, rows.label]
    mean = float(hits.sum() / max(float(n.sum()), 1e-12))
    w = rows.worker
    expected = np.clip((hits[w] - weight * hit + 4 * mean) / np.maximum(n[w] - weight + 4, 1e-9), 0.02, 0.98)
    excess = np.bincount(rows.task, weights=weight * (hit - expected), minlength=rows.n_tasks)
    spread = np.bincount(rows.task, weights=weight**2 * expected * (1 - expected), minlength=rows.n_tasks)
    several = rows.labels_per_task >= 2
    z = excess[several] / np.sqrt(np.maximum(spread[several], 1e-12))
    return np.array([(z**2).sum(), (z < -1.5).sum(), len(z)], dtype=np.float64)
