"""The latent-class model of objects: which candidate boxes show a true object, and how well each reader sees them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.arrays import F8, I8, Mask
from ...stats.ragged import sums
from .maths import DrawnBoxes, Objects, Sightings, clustered_rate

# Classes of candidates: false, faint and clear. Faint objects are those that most readers miss; without them the model
# explains every object that few readers drew as a false alarm.
FALSE, FAINT, CLEAR = range(3)
# Candidates drawn by at least this share of the readers start as clear.
STARTS_CLEAR = 0.7
# The crowd draws a faint object with at least this probability on average. Rarer ones cannot be told from false alarms:
# both are boxes of a single reader, and the model would suppose any number of objects that nobody saw.
LEAST_FAINT = 0.3
# Probabilities are kept this far from 0 and 1.
EDGE = 1e-6


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """A fit: posterior[object, class], rate[class, reader] of drawing, unseen[object, class] and the iterations.

    `unseen` is the number of objects of a class on the same image, seen or not, for each one that some reader drew.
    """

    posterior: F8
    rate: F8
    unseen: F8
    n_iter: int
    converged: bool

    @property
    def sure(self) -> F8:
        """Probability that each candidate is a true object."""
        return np.asarray(np.clip(self.posterior[:, FAINT:].sum(axis=1), 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """The pairs of an answer and a candidate, and which candidates are on gold images."""

    reader: I8
    object: I8
    is_drawn: Mask
    weight: F8
    n_readers: int
    n_objects: int
    is_gold: Mask


def fit_latent_classes(
    drawn: DrawnBoxes,
    objects: Objects,
    sighted: Sightings,
    strength: float,
    max_iter: int,
    tol: float,
    fixed: F8 | None = None,
) -> LatentClasses:
    """Fit by EM. Each reader's rates are shrunk to the crowd's by `strength` pseudo-objects, or are `fixed`.

    A candidate exists only because somebody drew it, so its likelihood is conditional on at least one drawing, and the
    M-step adds the expected number of objects of its class that all readers of the image missed.
    """
    pairs = _Pairs(
        drawn.vote_worker[sighted.vote], sighted.object, sighted.is_drawn, drawn.vote_weight[sighted.vote],
        drawn.n_workers, len(objects), objects.is_gold,
    )  # fmt: skip
    posterior = _first_guess(objects)
    unseen = np.ones_like(posterior)
    rate = np.full((3, drawn.n_workers), 0.5) if fixed is None else np.clip(fixed, EDGE, 1 - EDGE)
    for n_iter in range(1, max_iter + 1):
        if fixed is None:
            rate = _rates(pairs, posterior, unseen, strength)
        likelihood, unseen = _likelihood(pairs, rate)
        share = (posterior.sum(axis=0) + 1.0) / (len(objects) + 3.0)
        new = _normal(likelihood + np.log(share))
        if objects.is_gold.any():
            new = _held(new, objects)
        # How true objects divide into faint and clear ones need not settle.
        change = float(np.abs(new[:, FALSE] - posterior[:, FALSE]).max(initial=0.0))
        posterior = new
        if change <= tol:
            return LatentClasses(posterior, rate, unseen, n_iter, converged=True)
    return LatentClasses(posterior, rate, unseen, max_iter, converged=not len(objects))


def _first_guess(objects: Objects) -> F8:
    share = objects.share
    guess = np.stack([1 - share, share * (share < STARTS_CLEAR), share * (share >= STARTS_CLEAR)], axis=1)
    return _held(guess, objects)


def _held(posterior: F8, objects: Objects) -> F8:
    """Fix candidates on gold images: true ones are divided between faint and clear as the model sees fit."""
    out = posterior.copy()
    true, false = objects.is_gold & objects.is_true, objects.is_gold & ~objects.is_true
    out[true, FALSE] = 0.0
    empty = true & (out.sum(axis=1) <= 0)
    out[empty, FAINT:] = 0.5
    out[true] /= out[true].sum(axis=1, keepdims=True)
    out[false] = np.eye(3)[FALSE]
    return out


def _rates(pairs: _Pairs, posterior: F8, unseen: F8, strength: float) -> F8:
    out = np.empty((3, pairs.n_readers))
    for k in range(3):
        weight = pairs.weight * posterior[pairs.object, k]
        hits = sums(weight * pairs.is_drawn, pairs.reader, pairs.n_readers)
        total = sums(weight * unseen[pairs.object, k], pairs.reader, pairs.n_readers)
        mean = (hits.sum() + 0.5) / (total.sum() + 1.0)
        out[k] = (hits + strength * mean) / (total + strength)
        if k == FAINT and mean < LEAST_FAINT:
            out[k] *= LEAST_FAINT / mean
    return np.clip(out, EDGE, 1 - EDGE)


def _likelihood(pairs: _Pairs, rate: F8) -> tuple[F8, F8]:
    """Return the log likelihood of each candidate in each class, and how many objects stand behind each one sighted."""
    n = pairs.n_objects
    log_likelihood, unseen = np.empty((n, 3)), np.ones((n, 3))
    for k in range(3):
        drew, missed = np.log(rate[k])[pairs.reader], np.log1p(-rate[k])[pairs.reader]
        log_likelihood[:, k] = sums(pairs.weight * np.where(pairs.is_drawn, drew, missed), pairs.object, n)
        is_seen = np.maximum(-np.expm1(sums(pairs.weight * missed, pairs.object, n)), EDGE)
        # All objects of a gold image are known, those that nobody drew too.
        is_seen = np.where(pairs.is_gold & (k != FALSE), 1.0, is_seen)
        log_likelihood[:, k] -= np.log(is_seen)
        unseen[:, k] = 1.0 / is_seen
    return log_likelihood, unseen


def _normal(logs: F8) -> F8:
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def reader_estimates(drawn: DrawnBoxes, sighted: Sightings, fit: LatentClasses) -> dict[str, F8]:
    """Return sensitivity with its interval, false alarms per image, and the rates of drawing, of each reader.

    A box counts as the object's if it overlaps the object's box by half. Objects that every reader of an image missed
    are part of what there was to see.
    """
    sure = fit.sure
    behind = (fit.posterior * fit.unseen)[:, FAINT:].sum(axis=1)
    n = len(drawn.vote_task)
    hits = sums(sure[sighted.object] * sighted.is_located, sighted.vote, n)
    there = sums(behind[sighted.object], sighted.vote, n)
    boxes = np.bincount(drawn.vote, minlength=n)
    m, reader = drawn.n_workers, drawn.vote_worker
    share, low, high = clustered_rate(hits, there, reader, m)
    images = np.bincount(reader, minlength=m)
    extra = np.maximum(sums(boxes - hits, reader, m), 0.0)
    alarms = np.divide(extra, images, out=np.full(m, np.nan), where=images > 0)
    return {
        "sensitivity": share, "sensitivity_low": low, "sensitivity_high": high, "false_alarms": alarms,
        "drawing": fit.rate.T,
    }  # fmt: skip
