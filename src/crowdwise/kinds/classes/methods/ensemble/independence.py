"""Tests of fit: are the errors of different workers on one task independent given its class?

`EvidencePower` is the power at which the other labels of a task best predict a label (maths/trust): 1 under
independence, below it where workers err together. `dispersion` is log mean z² over tasks, where z compares a task's
expected number of right labels with what its workers' accuracies predict: about 0 under independence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline

from .....core.errors import ParameterError
from .....em.kernels import Stats, Workspace, stats_of
from .....em.loop import Additive, plus
from ...annotations import Annotations
from ...maths.leave_out import POWERS, LeaveOutTables, Predictions
from ..spread import Judge, Spread, judged, mean_posterior

if TYPE_CHECKING:
    from .....core.result import Result

F8 = npt.NDArray[np.float64]

# The evidence power from which the models are believed, and the width of the step around it (in log b).
POWER, WIDTH = 0.7, 0.05
# Mean and spread of log b over real crowds.
TYPICAL, SPREAD = 0.4, 0.5
# Tasks with two labels or more from which a dispersion is given.
FEWEST = 5
_GRID = np.linspace(np.log(POWERS[0]), np.log(POWERS[-1]), 97)


@dataclass(frozen=True)
class EvidencePower:
    """The power at which the other labels of a task best predict a label, with a 90 % interval (None: no task has two
    labels); `share` is the probability that it is above POWER, smoothed by WIDTH: how far the models are believed."""

    power: float | None
    low: float
    high: float
    share: float

    @classmethod
    def of(cls, test: Predictions, n_tasks: float) -> EvidencePower:
        """From the likelihood of left-out labels; labels of one task are not independent, so it is flattened."""
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
        """Where no task has two labels."""
        return cls(None, float(POWERS[0]), float(POWERS[-1]), 0.0)

    def to_dict(self) -> dict[str, float | None]:
        """For JSON."""
        return {"power": self.power, "low": self.low, "high": self.high, "share": self.share}


def expected_counts(judge: Judge, space: Workspace) -> Stats:
    """Expected counts of a judge's posterior of a part."""
    return stats_of(space, judged(judge, space, keep=True).posterior)


def tables_of(data: Spread, judge: Judge, counts: F8 | None = None) -> LeaveOutTables:
    """The tables of a judge's posterior, from its counts[worker, true, observed] where they are there already."""
    if counts is None:
        stats = data.sum(partial(expected_counts, judge), plus)
        return LeaveOutTables.of(stats.counts, stats.mass)
    return LeaveOutTables.of(counts.transpose(0, 2, 1), mean_posterior(data, judge) * data.n_tasks)


@dataclass(frozen=True)
class _Residuals(Additive):
    """Sums over tasks with two labels or more: z², z < -1.5, and their number."""

    z: F8


def dispersion(data: Spread, judge: Judge, tables: LeaveOutTables) -> dict[str, float | None]:
    """Overdispersion of the tasks' numbers of right labels (log mean z², about 0 where errors are independent given the
    class), and the share of tasks with far fewer right labels than expected; None where tasks are too few.

    `tables` are those of the posterior of `judge`.
    """
    squares, low, tasks = data.sum(partial(_residuals, judge, tables.hits, tables.n), plus).z.tolist()
    if tasks < FEWEST:
        return {"dispersion": None, "low_share": None}
    return {"dispersion": float(np.log(np.clip(squares / tasks, 0.05, 20.0))), "low_share": low / tasks}


def _residuals(judge: Judge, hits: F8, n: F8, space: Workspace) -> _Residuals:
    rows = space.shard
    posterior = judged(judge, space, keep=True).posterior
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    hit = posterior[rows.task, rows.label]
    mean = float(hits.sum() / max(float(n.sum()), 1e-12))
    w = rows.worker
    expected = np.clip((hits[w] - weight * hit + 4 * mean) / np.maximum(n[w] - weight + 4, 1e-9), 0.02, 0.98)
    excess = np.bincount(rows.task, weights=weight * (hit - expected), minlength=rows.n_tasks)
    spread = np.bincount(rows.task, weights=weight**2 * expected * (1 - expected), minlength=rows.n_tasks)
    several = rows.labels_per_task >= 2
    z = excess[several] / np.sqrt(np.maximum(spread[several], 1e-12))
    return _Residuals(np.array([(z**2).sum(), (z < -1.5).sum(), len(z)], dtype=np.float64))


# ----------------------------------------------------------------
# A test of fit: do the workers' errors on one task look independent given its class?
# Models with confusion matrices multiply the evidence of a task's labels as if errors were independent. Where workers
# err together (hard tasks, shared instructions, models of one family) such a model is too sure. Two statistics show
# it:
#
#     power        the power at which the other labels of a task best predict a label; 1 where errors are independent
#     dispersion   log mean z² over tasks, where z compares a task's expected number of right labels with what its
#                  workers' accuracies predict; about 0 where errors are independent
#
# Neither sees a crowd that is wrong alike on every task: for that the truth of some tasks is needed (gold).

KEY = "independence"
# Workers err together where the power is below this with 95 % probability; errors pass for independent where it is
# above it with this probability.
TOGETHER, SURE = 0.7, 0.9


@dataclass(frozen=True)
class Independence:
    """`power` with its 90 % interval (`low`, `high`), the probability `share` that it is above .7, `dispersion`, and
    `low_share`, the share of tasks with far fewer right labels than expected. None: too few tasks with two labels."""

    power: float | None
    low: float
    high: float
    share: float
    dispersion: float | None = None
    low_share: float | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Independence:
        """From a result's extra["independence"], or from `to_dict`."""
        values: dict[str, Any] = {each.name: entry.get(each.name) for each in fields(cls)}
        return cls(**values)

    @property
    def together(self) -> bool:
        """Whether workers surely err together."""
        return self.power is not None and self.high < TOGETHER

    @property
    def independent(self) -> bool:
        """Whether errors pass for independent."""
        return self.power is not None and self.share >= SURE

    def sentence(self) -> str:
        """The verdict in words."""
        if self.power is not None and self.together:
            return (
                "workers err together more than independent errors explain: the labels of one task count for about "
                f"{100 * self.power:.0f} % of what they would tell by themselves"
            )
        if self.independent:
            return "nothing speaks against independent errors of the workers"
        return "these labels are too few to tell whether workers err together"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and verdict, for JSON."""
        verdict = "together" if self.together else "independent" if self.independent else "unclear"
        return {**asdict(self), "verdict": verdict, "sentence": self.sentence()}


def independence(votes: Annotations, result: Result | None = None) -> Independence:
    """Test whether the errors of different workers on one task are independent given its class.

    The test is about the votes: `result` only saves work, where it is a fit by the default, which has tested already
    (groups of workers who repeat each other's labels counted once), or by `hierarchical`.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=500, labels=6, seed=1)
    >>> cw.independence(crowd.annotations).sentence()
    'nothing speaks against independent errors of the workers'
    """
    from .adaptive import fit_tests

    if votes.kind.name != "classes":
        raise ParameterError(f"independence tests labels of classes, got {votes.kind.name}; leave it out for this kind")
    if result is not None and result.kind.name != "classes":
        raise ParameterError(f"result must be a fit of classes, got one of {result.kind.name}; fit these votes first")
    if result is not None and list(result.tasks) != list(votes.tasks):
        raise ParameterError("result is a fit of other tasks than these votes; fit these votes, or leave result out")
    if result is not None and KEY in result.extra:
        return Independence.of(result.extra[KEY])
    return Independence.of(fit_tests(votes, result))
