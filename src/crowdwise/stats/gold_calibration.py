"""Confidence calibrated on gold: a logistic correction learned on tasks with known truth.

With c the probability of a task's label, x = logit c and x̄ its mean over all tasks,

    c' = σ(x + slope · (x - x̄) + shift)

`slope` and `shift` are the MAP estimate of the logistic regression of right or wrong on the gold tasks, under a normal
prior that was fitted over many crowds. `slope` is above -1, so the order of the tasks never changes; the other classes
share 1 - c' in the same proportions as before, and the label stays the most probable class.

The share of right labels among the other tasks is estimated by the mean of c plus the mean error on gold, shrunk, with
an interval whose variance is pooled with that of other crowds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import ndtr

from ..core.arrays import F8, I8, Mask
from .sampled import holm, rank_sum_of_counts, shares_differ

# Prior covariance of (slope, shift), and bounds of the confidences.
COVARIANCE = np.array([[1.1, 1.2], [1.2, 2.0]])
LOWEST, HIGHEST = 0.002, 0.998
STEEPEST = -0.98
# Pseudo-observations of the mean error and of its variance, and the half-width of a 90 % interval in standard errors.
MEAN_PRIOR, VARIANCE_PRIOR, PRIOR_VARIANCE, HALF_WIDTH = 6.0, 4.0, 0.12, 1.75
# Pseudo-observations if confidence is a score rather than a probability.
SCORE_PRIOR = 1.0
# Probability that the error of the shipped labels is within its bound, and the number of list lengths considered.
CHANCE, STEPS = 0.8, 2000
# Prior intraclass correlation of the errors of one task's decisions, and its weight in tasks.
PRIOR_ICC, PRIOR_TASKS = 0.1, 10.0
# Share of decisions that are wrong whatever their confidence: grid and prior.
LAPSES = ((0.0, 0.5), (0.02, 0.125), (0.04, 0.125), (0.08, 0.125), (0.16, 0.125))
_SIDE = 21  # points of the grid over each parameter
_AHEAD = 1e-6  # minimum lead of the label over the runner-up


def logit(p: F8) -> F8:
    """Log odds of clipped probabilities."""
    clipped = np.clip(p, LOWEST, HIGHEST)
    return np.asarray(np.log(clipped / (1 - clipped)))


@dataclass(frozen=True)
class GoldCalibration:
    """A correction of confidence; `centre` is the mean log odds of all tasks."""

    slope: float
    shift: float
    centre: float

    @classmethod
    def fit(cls, confidence: F8, checked: F8, right: F8, weight: float = 1.0) -> GoldCalibration:
        """Fit the correction.

        Args:
            confidence: Confidence of all tasks.
            checked: Confidence of the checked tasks.
            right: Whether the checked tasks are right (0 to 1).
            weight: What a checked decision counts (below 1 if several are from one task, see `clustering`).
        """
        return cls.around(float(logit(confidence).mean()) if len(confidence) else 0.0, checked, right, weight)

    @classmethod
    def around(cls, centre: float, checked: F8, right: F8, weight: float = 1.0) -> GoldCalibration:
        """Fit the correction with a given mean log odds of all tasks."""
        x = logit(checked)
        design = np.stack([x - centre, np.ones(len(x))], axis=1)
        precision = np.linalg.inv(COVARIANCE)

        def loss(theta: F8) -> tuple[float, F8]:
            z = x + design @ theta
            value = weight * (np.logaddexp(0, z).sum() - (right * z).sum()) + 0.5 * theta @ precision @ theta
            return float(value), np.asarray(weight * (design.T @ (1 / (1 + np.exp(-z)) - right)) + precision @ theta)

        bounds = [(STEEPEST, None), (None, None)]
        best = minimize(loss, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds).x
        return cls(float(best[0]), float(best[1]), centre)

    def of(self, confidence: F8) -> F8:
        """Return the calibrated confidence."""
        x = logit(confidence)
        return np.asarray(1 / (1 + np.exp(-(x + self.slope * (x - self.centre) + self.shift))))

    def apply(self, posterior: F8) -> F8:
        """Return the posterior with calibrated confidence and the same labels."""
        if posterior.shape[1] < 2:
            return posterior
        top = posterior.max(axis=1)
        second = np.partition(posterior, -2, axis=1)[:, -2]
        remainder = np.maximum(1 - top, 1e-12)
        # The label stays the most probable class.
        ratio = second / remainder
        new = np.minimum(np.maximum(self.of(top), ratio / (1 + ratio) + _AHEAD), 1.0)
        best = posterior >= top[:, None] - 1e-12
        tied = best.sum(axis=1) > 1
        scaled = posterior * ((1 - new) / remainder)[:, None]
        out = np.where(best, new[:, None], scaled)
        out[tied] = posterior[tied]  # a tie stays a tie
        return np.asarray(out / out.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Share:
    """An estimated share with a 90 % interval."""

    mean: float
    low: float
    high: float


def share_right(
    others: F8, checked: F8, right: F8, calibrated: F8, weight: float = 1.0, prior: float = MEAN_PRIOR
) -> Share:
    """Estimate the share of right labels among the other tasks.

    `others` and `calibrated` are their confidence before and after calibration. `prior` is the number of tasks that the
    assumption of a right confidence on average counts for; SCORE_PRIOR if confidence is no probability.
    """
    means = float(others.mean()), float(calibrated.mean())
    return share_of_means(*means, len(others), checked, right, weight, prior)


def share_of_means(
    claimed: float, mean: float, n: int, checked: F8, right: F8, weight: float = 1.0, prior: float = MEAN_PRIOR
) -> Share:
    """Estimate the share of right labels from the mean confidence of the `n` other tasks, before and after
    calibration.
    """
    g = weight * len(checked)
    error = right - checked
    point = claimed + g / (g + prior) * float(error.mean())
    variance = (g * float(error.var()) + VARIANCE_PRIOR * PRIOR_VARIANCE) / (g + VARIANCE_PRIOR)
    half = HALF_WIDTH * float(np.sqrt(variance / (g + prior) + variance / (weight * n)))
    return Share(mean, max(min(point - half, mean), 0.0), min(max(point + half, mean), 1.0))


def clustering(task: npt.NDArray[np.int64], error: F8) -> float:
    """Return the weight of one of several decisions of a task: the inverse of the design effect (Kish 1965).

    This is the variance of the errors' sum over that of independent errors, pooled with an intraclass correlation of
    PRIOR_ICC.
    """
    _, place, size = np.unique(task, return_inverse=True, return_counts=True)
    if not len(size) or size.max() == 1:
        return 1.0
    centred = error - error.mean()
    total = float((centred**2).sum())
    observed = float((np.bincount(place, weights=centred) ** 2).sum()) / total if total > 0 else 1.0
    expected = 1 + (float((size**2).sum() / size.sum()) - 1) * PRIOR_ICC
    n = len(size)
    return 1 / max((n * observed + PRIOR_TASKS * expected) / (n + PRIOR_TASKS), 1.0)


def shippable(
    others: F8,
    checked: F8,
    right: F8,
    calibration: GoldCalibration,
    error: float,
    weight: float = 1.0,
    realised: bool = False,
    times: npt.NDArray[np.int64] | None = None,
) -> int:
    """Return how many of the most confident other tasks can ship.

    With probability CHANCE at most a share `error` of them is wrong, by the posterior of slope and shift on a grid.

    Args:
        others: Confidence of the other tasks.
        checked: Confidence of the checked tasks.
        right: Whether the checked tasks are right.
        calibration: The calibration.
        error: Highest share of wrong labels.
        weight: What a checked decision counts.
        realised: For decisions other than labels: bound the realised share rather than the expected one; it varies more
            the fewer they are (and the less each counts). A share of decisions may then be wrong whatever their
            confidence (a span that all workers misplaced), so the probability to be right is (1 - lapse) · σ(...), with
            the lapse as a third dimension of the grid: without it, a curve fitted to all decisions is too optimistic at
            its end.
        times: How many tasks each of `others` stands for (None: one).
    """
    order = np.argsort(-others, kind="stable")
    x, y = logit(others[order]), logit(checked)
    count = np.ones(len(x), dtype=np.int64) if times is None else times[order]
    spread = np.sqrt(np.diag(COVARIANCE))
    slopes = np.maximum(calibration.slope + np.linspace(-2, 2, _SIDE) * spread[0], STEEPEST)
    shifts = calibration.shift + np.linspace(-2, 2, _SIDE) * spread[1]
    theta = np.stack(np.meshgrid(slopes, shifts), axis=-1).reshape(-1, 2)
    z = y[:, None] + (y - calibration.centre)[:, None] * theta[:, 0] + theta[:, 1]
    prior = -0.5 * np.einsum("ti,ij,tj->t", theta, np.linalg.inv(COVARIANCE), theta)
    lapses = LAPSES if realised else ((0.0, 1.0),)
    log = np.concatenate([np.log(share) + prior + weight * _log_likelihood(z, right, lapse) for lapse, share in lapses])
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    until = np.cumsum(count)
    n = int(until[-1]) if len(until) else 0
    ends = np.unique(np.ceil(np.linspace(1, n, min(n, STEPS))).astype(np.int64)) if n else np.empty(0, dtype=np.int64)
    last = np.searchsorted(until, ends)  # index of the entry that contains the last of these tasks
    inside = ends - (until - count)[last]

    def total(values: F8) -> F8:
        """Sum over the first tasks, for every length in `ends`."""
        whole = values * count
        return np.asarray((np.cumsum(whole) - whole)[last] + inside * values[last])

    chance = np.zeros(len(ends))
    for at in np.flatnonzero(mass >= 1e-6):
        (slope, shift), lapse = theta[at % len(theta)], lapses[at // len(theta)][0]
        doubt = 1 - (1 - lapse) / (1 + np.exp(-(x + slope * (x - calibration.centre) + shift)))
        wrong = total(doubt)
        if realised:
            spread = np.sqrt(total(doubt * (1 - doubt)) / weight)
            chance += mass[at] * ndtr((error * ends - wrong) / np.maximum(spread, 1e-12))
        else:
            chance += mass[at] * (wrong <= error * ends)
    passing = np.flatnonzero(chance >= CHANCE)
    return int(ends[passing[-1]]) if len(passing) else 0


def _log_likelihood(z: F8, right: F8, lapse: float) -> F8:
    """Log-likelihood of right[checked] under log odds z[checked, theta] if a share `lapse` is wrong in any case."""
    log_right = -np.logaddexp(0, -z)
    if not lapse:
        return np.asarray(right @ z - np.logaddexp(0, z).sum(axis=0))
    return np.asarray(
        right @ (np.log(1 - lapse) + log_right) + (1 - right) @ np.log1p(-(1 - lapse) * np.exp(log_right))
    )


# ----------------------------------------------------------------
# What calibration on gold needs of all tasks, as sums, which add up over partitions.
# Whether the checked tasks are a random sample is tested on counts: of labels, of confidence in bins, of the number of
# labels. The tests therefore do not depend on how the tasks are partitioned, and are not randomized.


# Bins of confidence. Their edges are shifted so that simple fractions, the usual shares of votes, lie inside a bin and
# rounding errors do not move them to another one.
BINS, SHIFT = 100_000, 0.381966


@dataclass(frozen=True, eq=False)
class GoldSums:
    """Sums over tasks of a fit without gold.

    Attributes:
        labelled: Number of tasks with labels.
        logits: Sum of their log odds.
        others: Number of tasks without gold.
        claimed: Sum of their confidence.
        checked: Confidence of the checked tasks.
        right: Outcome of the checked tasks.
        label: Counts of labels, a row for unchecked tasks and one for checked tasks.
        level: The same by bin of confidence.
        n_labels: The same by number of labels.
    """

    labelled: int
    logits: float
    others: int
    claimed: float
    checked: F8
    right: F8
    label: I8
    level: I8
    n_labels: I8

    @classmethod
    def of(
        cls,
        confidence: F8,
        label: I8,
        n_classes: int,
        n_labels: I8,
        gold: Mask,
        right: F8,
        in_fit: Mask | None = None,
    ) -> Self:
        """Return the sums of some tasks.

        `right` is the outcome of the tasks in `gold` that have labels, in their order. Tasks in `in_fit` have gold that
        was only used in the fit: they are neither checked nor among the others.
        """
        has_labels = n_labels > 0
        drawn_from = has_labels if in_fit is None else has_labels & ~in_fit
        others = ~gold if in_fit is None else ~(gold | in_fit)
        sides = [np.flatnonzero(drawn_from & side) for side in (~gold, gold)]
        bins = (confidence * BINS + SHIFT).astype(np.int64)
        n_most = int(n_labels.max(initial=0)) + 1
        return cls(
            int(has_labels.sum()),
            float(logit(confidence[has_labels]).sum()),
            int(others.sum()),
            float(confidence[others].sum()),
            confidence[gold & has_labels],
            right,
            np.stack([np.bincount(label[side], minlength=n_classes) for side in sides]),
            np.stack([np.bincount(bins[side], minlength=BINS + 2) for side in sides]),
            np.stack([np.bincount(n_labels[side], minlength=n_most) for side in sides]),
        )

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.labelled + other.labelled,
            self.logits + other.logits,
            self.others + other.others,
            self.claimed + other.claimed,
            np.concatenate([self.checked, other.checked]),
            np.concatenate([self.right, other.right]),
            self.label + other.label,
            self.level + other.level,
            _padded(self.n_labels, other.n_labels),
        )

    @property
    def centre(self) -> float:
        """Mean log odds of the labelled tasks."""
        return self.logits / self.labelled if self.labelled else 0.0

    def sample_tests(self) -> dict[str, float]:
        """Return p-values (Holm) of the checked tasks being a random sample; empty if every task is checked."""
        if not self.label[0].any():
            return {}
        p = {
            "label": shares_differ(self.label[1], self.label[0]),
            "confidence": rank_sum_of_counts(self.level[1], self.level[0]),
            "number of labels": rank_sum_of_counts(self.n_labels[1], self.n_labels[0]),
        }
        return dict(zip(p, holm(list(p.values())), strict=True))


def _padded(one: I8, two: I8) -> I8:
    """Return the sum of two tables, the narrower one padded with zeros."""
    if one.shape[1] < two.shape[1]:
        one, two = two, one
    out = one.copy()
    out[:, : two.shape[1]] += two
    return out
