"""What the one-coin rank-one methods share: skills become weights, and weights without a scale get one.

Skill s = (K p - 1) / (K - 1) of accuracy p. Expected agreement of two workers, above chance, is s_m s_m'.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.ties import tie_shares
from ..gold import Gold
from ..voting.base import agreeing, scores

F8 = npt.NDArray[np.float64]


def bounds(n_tasks: int, k: int) -> tuple[float, float]:
    """The range of skills that n tasks can tell from perfect and from perfectly wrong."""
    low = -1 / (k - 1)
    margin = min(1 / np.sqrt(max(n_tasks, 1)), (1 - low) / 4)
    return low + margin, 1 - margin


def log_odds(skill: F8, k: int) -> F8:
    """The optimal weight of a one-coin worker: log p (K - 1) / (1 - p)."""
    p = skill * (k - 1) / k + 1 / k
    return np.asarray(np.log(p * (k - 1) / (1 - p)))


def skill_of(weight: F8, k: int) -> F8:
    """The skill whose log odds these are: `log_odds` the other way round."""
    p = 1 / (1 + (k - 1) * np.exp(-weight))
    return np.asarray((k * p - 1) / (k - 1))


def natural_scale(annotations: Annotations, weight: F8, score: F8, gold: Gold | None) -> float:
    """The factor that brings weights of unknown scale closest to first-order log odds, K/(K-1) · (K p - 1).

    p is each worker's agreement with the winners of `score`. An eigenvector knows directions only; without this its
    posteriors would mean nothing.
    """
    k = annotations.n_classes
    won = tie_shares(score)
    p = agreeing(annotations, won if gold is None else gold.clamp(won)).share()
    target = k / (k - 1) * (k * p - 1)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    size = float(n @ weight**2)
    return max(float(n @ (weight * target)) / size, 1e-3) if size > 0 else 1.0


def upright(annotations: Annotations, weight: F8) -> F8:
    """The weights with the sign under which the weighted vote agrees with the plain vote."""
    return weight * sign_of(annotations, scores(annotations, weight))


def sign_of(annotations: Annotations, score: F8) -> float:
    """1 where the scores go with the votes on the whole, -1 where they go against them."""
    votes = annotations.votes
    return -1.0 if float(((votes - votes.mean(axis=1, keepdims=True)) * score).sum()) < 0 else 1.0


def taught(annotations: Annotations, skill: F8, gold: Gold | None) -> F8:
    """Skills with what gold says: hits on gold are counted as they are, the estimate stands for the other labels.

    A skill is the accuracy p on the scale (K p - 1) / (K - 1), on which a guess is 0.
    """
    if gold is None:
        return skill
    k = annotations.n_classes
    counts = gold.counts(annotations)
    told, hits = counts.sum(axis=(1, 2)), np.einsum("wkk->w", counts)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers) - told
    accuracy = (skill * (k - 1) + 1) / k
    mixed = np.divide(n * accuracy + hits, n + told, out=accuracy.copy(), where=n + told > 0)
    return np.asarray((k * mixed - 1) / (k - 1))
