"""The tasks of a simulated crowd: their classes, their features, and which of them mislead everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core.errors import ParameterError
from ..core.vocabulary import Codes
from .groups import F8


@dataclass(frozen=True)
class World:
    """truth[task], how often each class occurs, and for hard[task] the class that everybody takes it for."""

    truth: Codes
    class_prior: F8
    hard: npt.NDArray[np.bool_]
    decoy: Codes
    pull: float

    def mislead(self, task: Codes, label: Codes, rng: np.random.Generator) -> Codes:
        """On a hard task a worker says its decoy with probability `pull`, else what they were about to say."""
        if not self.hard.any():
            return label
        fooled = self.hard[task] & (rng.random(len(task)) < self.pull)
        return np.where(fooled, self.decoy[task], label)


def make_world(
    n_tasks: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    class_prior: Any,
    truth: Any,
    hard_share: float,
    hard_pull: float,
) -> World:
    """Draw the classes (unless `truth` is given) and the hard tasks: exactly round(n_tasks · hard_share) of them."""
    prior = None if class_prior is None else _prior(class_prior, n_classes)
    if truth is not None:
        codes = _codes(truth, n_tasks, n_classes)
        if prior is None:
            prior = np.bincount(codes, minlength=n_classes) / n_tasks
    else:
        prior = np.full(n_classes, 1 / n_classes) if prior is None else prior
        codes = rng.choice(n_classes, size=n_tasks, p=prior).astype(np.int32)
    hard = np.zeros(n_tasks, dtype=bool)
    hard[rng.permutation(n_tasks)[: round(n_tasks * hard_share)]] = True
    return World(codes, prior, hard, wrong_class(codes, n_classes, rng), hard_pull)


def wrong_class(truth: Codes, n_classes: int, rng: np.random.Generator) -> Codes:
    """For each task one class that is not the true one, all of them equally likely."""
    return ((truth + rng.integers(1, n_classes, size=len(truth))) % n_classes).astype(np.int32)


def make_features(
    truth: Codes, n_classes: int, n_features: int, separation: float, rng: np.random.Generator
) -> F8 | None:
    """Gaussian clusters of unit variance, one per class; the two closest centres are `separation` apart."""
    if not n_features:
        return None
    centre = rng.normal(size=(n_classes, n_features))
    if n_features >= n_classes:
        centre = np.linalg.qr(centre.T)[0].T  # right angles: all centres equally far apart
    apart = np.linalg.norm(centre[:, None] - centre[None], axis=2)
    centre = centre * (separation / apart[np.triu_indices(n_classes, 1)].min())
    return np.asarray(centre[truth] + rng.normal(size=(len(truth), n_features)))


def given_features(features: Any, n_tasks: int) -> F8:
    """The user's features, one row a task; images are flattened by the user, not here."""
    x = np.array(features, dtype=np.float64)
    if x.ndim != 2 or len(x) != n_tasks:
        raise ParameterError(f"features must have shape ({n_tasks}, anything), one row a task, got {x.shape}")
    return x


def _prior(class_prior: Any, n_classes: int) -> F8:
    prior = np.array(class_prior, dtype=np.float64)
    if prior.shape != (n_classes,):
        raise ParameterError(f"class_prior must hold {n_classes} numbers, got shape {prior.shape}")
    if not ((prior >= 0).all() and abs(prior.sum() - 1) < 1e-6):
        raise ParameterError(f"class_prior must be non-negative and sum to 1, got {prior.tolist()}")
    return np.asarray(prior / prior.sum(), dtype=np.float64)


def _codes(truth: Any, n_tasks: int, n_classes: int) -> Codes:
    codes = np.array(truth)
    if codes.shape != (n_tasks,) or codes.dtype.kind not in "iu":
        raise ParameterError(
            f"truth must be {n_tasks} whole numbers, one class number a task, got {codes.dtype} of shape {codes.shape}"
        )
    if n_tasks and not (codes.min() >= 0 and codes.max() < n_classes):
        raise ParameterError(
            f"truth must hold class numbers from 0 to {n_classes - 1}, got {codes.min()} to {codes.max()}"
        )
    return codes.astype(np.int32)
