"""Planted judges, from first principles.

    task n: a true class; hard with probability `hard`, and then it has one wrong class that attracts every judge
    family f: log odds of knowing task n, z = logit(hidden) + vary · normal; a hidden answer, right with
              probability sigma(z), else any other class
    judge j: the attractor with probability lured_j where the task is hard; else the hidden answer of the family with
             probability report_j, else any other class. That is their opinion of the task
    verdict: the opinion, or on this occasion another class. Log odds of saying it: logit(firm), and where orders are
             shown, + position_j if the opinion stands first, - position_j if second
    stated confidence: the round value nearest to sigma(shift + slope · z)

>>> from crowdwise.simulate.judges import Panel, judged
>>> drawn = judged(Panel(families=(2, 1), repeats=2), 10, 0)
>>> drawn.rows.columns, len(drawn.rows)
(['task', 'worker', 'label', 'repeat'], 60)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.params import Count, NonNegative, Share, check
from ...core.rules import AtLeast, Note

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# What judges write when they are asked for a confidence.
ROUND = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
ORDERS = ("ab", "ba")


@dataclass(frozen=True)
class Panel:
    """Judges and their tasks; `spread` is how far own skills (report, lured) lie apart, evenly, on either side.

    `firm` 1 says the opinion on every occasion. Of `position`, log odds, judges have from none to twice as much.
    `lost` is the share of verdicts that nobody could parse.
    """

    families: Annotated[tuple[Count, ...], Note("how many judges each family has")] = (5, 2, 2)
    classes: Annotated[int, AtLeast(2)] = 3
    hidden: Share = 0.85
    vary: NonNegative = 0.0
    report: Share = 0.93
    hard: Share = 0.0
    lured: Share = 0.7
    spread: Share = 0.0
    repeats: Count = 1
    orders: bool = False
    firm: Share = 1.0
    position: float = 0.0
    stated: bool = False
    shift: float = 0.0
    slope: NonNegative = 1.0
    lost: Share = 0.0

    def __post_init__(self) -> None:
        check(self)

    @property
    def family(self) -> I8:
        """family[judge]."""
        return np.repeat(np.arange(len(self.families)), self.families)


@dataclass(frozen=True, eq=False)
class Drawn:
    """`rows` (task, worker and label as codes, label null where lost, and the occasion) with what is true of them.

    `opinion[task, judge]` is what a judge means, `position[judge]` what standing first adds (log odds).
    """

    rows: pl.DataFrame
    truth: I8
    hard: npt.NDArray[np.bool_]
    opinion: I8
    position: F8


def judged(panel: Panel, tasks: int, seed: int | np.random.Generator) -> Drawn:
    """Verdicts of every judge on every task, on every occasion."""
    rng = np.random.default_rng(seed)
    k, family = panel.classes, panel.family
    m = len(family)
    truth, hard = rng.integers(k, size=tasks), rng.random(tasks) < panel.hard
    bait = other(truth, k, rng)
    z = logit(panel.hidden) + panel.vary * rng.standard_normal((tasks, len(panel.families)))
    right = rng.random(z.shape) < sigma(z)
    answer = np.where(right, truth[:, None], other(np.repeat(truth[:, None], z.shape[1], axis=1), k, rng))[:, family]
    apart = rng.permutation(np.linspace(-1, 1, m)) if m > 1 else np.zeros(1)
    report = np.clip(panel.report + panel.spread * apart, 0, 1)
    lured = np.clip(panel.lured - panel.spread * apart, 0, 1)  # a better judge falls for less
    own = np.where(rng.random((tasks, m)) < report, answer, other(answer, k, rng))
    opinion = np.where(hard[:, None] & (rng.random((tasks, m)) < lured), bait[:, None], own)
    position = panel.position * rng.permutation(np.linspace(0, 2, m)) if m > 1 else np.array([panel.position])
    rows = _occasions(panel, opinion, position, rng)
    if panel.stated:
        said = nearest(sigma(panel.shift + panel.slope * z))[:, family]
        rows = rows.with_columns(confidence=said[rows["task"].to_numpy(), rows["worker"].to_numpy()])
    if panel.lost:
        rows = rows.with_columns(label=pl.when(pl.Series(rng.random(len(rows)) >= panel.lost)).then("label"))
    return Drawn(rows, truth, hard, opinion, position)


def _occasions(panel: Panel, opinion: I8, position: F8, rng: np.random.Generator) -> pl.DataFrame:
    """One row for each task, judge, repeat and order."""
    orders = len(ORDERS) if panel.orders else 1
    shape = (*opinion.shape, panel.repeats, orders)
    held = np.broadcast_to(opinion[:, :, None, None], shape)
    firm = np.full(shape, logit(panel.firm))
    if panel.orders:  # the first class stands first in "ab", the second in "ba"
        first = held == np.arange(orders)
        firm = firm + np.where(first, 1, -1) * position[None, :, None, None]
    label = np.where(rng.random(shape) < sigma(firm), held, other(held, panel.classes, rng))
    task, judge, repeat, order = (at.ravel() for at in np.indices(shape))
    rows = pl.DataFrame({"task": task, "worker": judge, "label": label.ravel()})
    if panel.repeats > 1:
        rows = rows.with_columns(repeat=pl.Series(repeat + 1))
    return rows.with_columns(order=pl.Series(ORDERS).gather(order)) if panel.orders else rows


def other(code: I8, k: int, rng: np.random.Generator) -> I8:
    """Another class than this one, each as likely."""
    return np.asarray((code + rng.integers(1, k, size=code.shape)) % k)


def nearest(confidence: F8) -> F8:
    """The round value that a judge writes."""
    edges = (ROUND[1:] + ROUND[:-1]) / 2
    return np.asarray(ROUND[np.searchsorted(edges, confidence)])


def sigma(z: F8) -> F8:
    """The probability of log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-z)))


def logit(p: float) -> float:
    """Log odds; of certainty they are infinite."""
    with np.errstate(divide="ignore"):
        return float(np.log(p) - np.log1p(-p))
