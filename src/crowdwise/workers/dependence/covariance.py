"""Who shares a signal with anybody? Workers whose labels do not covary with the others' carry none.

With labels coded one-hot, the covariance of two workers is B[m, m'] = R[m, m'] - mean[m] mean[m']^T (K × K, over their
common tasks). Given the truth they err independently, so off the diagonal B = V V^T with V of rank K - 1, and a
spammer's block of V is zero. V is found by imputing what is not seen (the diagonal, and pairs who never met) from V
itself, and the workers are split in two by the norms of their blocks.
Algorithm 1 of the tutorial of Ibrahim, Fu, Traganitis & Giannakis (2025), Learning from crowdsourced noisy labels.
Fails where most workers are honest but weak: the split puts them with the spammers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...kinds.classes.annotations import Annotations
from ...maths.factors.lowrank import complete
from ...maths.moments import Pairs, pairs
from ..flags import Flag
from .following import follows_others, others_votes

F8 = npt.NDArray[np.float64]

# A worker with fewer labels, or who met nobody on this many tasks, is unknown; a pair counts from MIN_COMMON on.
MIN_LABELS = 5
MIN_COMMON = 2
# The covariance of a pair with n common tasks counts n / (n + PSEUDO): chance alone gives few tasks large ones.
PSEUDO = 40.0
# Of what the typical worker does, an uninformative one follows the others by less than this share.
SHARE = 0.25


@dataclass(frozen=True)
class Signal:
    """norm[worker] of their part in the common signal, whether they can be judged or have none, and the cut."""

    norm: F8
    known: npt.NDArray[np.bool_]
    uninformative: npt.NDArray[np.bool_]
    threshold: float


def shared_signal(annotations: Annotations, max_iter: int = 60, tol: float = 1e-5) -> Signal:
    """The norms of the workers' blocks and the split of them in two."""
    m, k = annotations.n_workers, annotations.n_classes
    nothing = Signal(np.zeros(m), np.zeros(m, dtype=bool), np.zeros(m, dtype=bool), 0.0)
    if k < 2 or len(annotations) == 0:
        return nothing
    seen = pairs(annotations, MIN_COMMON)
    known = seen.reached() & (annotations.labels_per_worker >= MIN_LABELS)
    if known.sum() < 3:
        return nothing
    v = complete(*_blocks(seen), m * k, k - 1, max_iter, tol)
    norm = np.sqrt((v.reshape(m, k, -1) ** 2).sum(axis=(1, 2)))
    cut = two_means(norm[known])
    return Signal(norm, known, known & (norm <= cut), cut)


def _blocks(seen: Pairs) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], F8]:
    """Covariances of all pairs as entries (row, column, value) of the one-hot covariance matrix, both ways."""
    share = seen.share
    cov = share - share.sum(axis=2)[:, :, None] * share.sum(axis=1)[:, None, :]
    cov *= (seen.n / (seen.n + PSEUDO))[:, None, None]
    k = share.shape[1]
    a, b = np.indices((k, k))
    row = (seen.first[:, None, None] * k + a).ravel()
    col = (seen.second[:, None, None] * k + b).ravel()
    return np.concatenate([row, col]), np.concatenate([col, row]), np.tile(cov.ravel(), 2)


def two_means(x: F8) -> float:
    """The cut between two clusters of numbers, started from the extremes (k-means in one dimension)."""
    low, high = float(x.min()), float(x.max())
    for _ in range(100):
        cut = (low + high) / 2
        left, right = x[x <= cut], x[x > cut]
        if not len(left) or not len(right):
            break
        if low == left.mean() and high == right.mean():
            break
        low, high = float(left.mean()), float(right.mean())
    return (low + high) / 2


def covariance_flags(annotations: Annotations, share: float = SHARE) -> list[Flag]:
    """A flag `uninformative` for every worker without a part in the common signal; `unknown` for who met too few.

    The split always finds two groups, in a crowd of good workers too. So only those are flagged whose labels surely
    follow the others' votes by less than `share` of what the typical worker's do; with infinity the split alone
    decides, as in the tutorial.
    """
    seen = shared_signal(annotations)
    nothing = seen.uninformative
    if nothing.any() and np.isfinite(share):
        nothing = nothing & follows_others(annotations, others_votes(annotations)).less_than(share)
    out = []
    for w in range(annotations.n_workers):
        name = annotations.workers[w]
        if not seen.known[w]:
            few = f"{annotations.labels_per_worker[w]} labels on tasks shared with others are too few"
            out.append(Flag(name, "unknown", evidence=few))
        elif nothing[w]:
            words = (
                f"part in the signal that workers share: {seen.norm[w]:.3f}; informative workers have more than "
                f"{seen.threshold:.3f}"
            )
            out.append(Flag(name, "uninformative", evidence=words))
    return out
