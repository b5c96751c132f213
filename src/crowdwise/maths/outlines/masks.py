"""One mask from many of one picture: by vote, by weighted vote (RASA), and by STAPLE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
# Workers whose masks fit into one whole number, a bit each.
MOST_BITS = 62


@dataclass(frozen=True, eq=False)
class Staple:
    """belief[pixel], sensitivity and specificity of each worker."""

    belief: F8
    sensitivity: F8
    specificity: F8
    n_iter: int
    converged: bool


def vote(masks: Mask | F8, weight: F8) -> F8:
    """share[pixel]: the weight of those who have it; masks are [worker, pixel]."""
    return np.asarray(weight @ masks / max(float(weight.sum()), 1e-300))


def staple(masks: Mask, weight: F8, *, max_iter: int = 100, tol: float = 1e-6, strength: float = 1.0) -> Staple:
    """EM for a hidden mask with a sensitivity and a specificity of each worker: Warfield, Zou & Wells (2004),
    doi:10.1109/TMI.2004.828354. The prior of a pixel is the mean share of the masks; `strength` pixels at .9 keep
    rates from 0 and 1."""
    said, count, at = patterns(masks)
    n = len(said)
    prior = float(np.clip(vote(masks, weight).mean(), 1e-6, 1 - 1e-6)) if masks.size else 0.5
    p, q = np.full(n, 0.9), np.full(n, 0.9)
    belief = vote(said, weight)
    for i in range(max_iter):
        old = belief
        log1 = np.log(prior) + (weight * np.log(p)) @ said + (weight * np.log(1 - p)) @ (1 - said)
        log0 = np.log(1 - prior) + (weight * np.log(1 - q)) @ said + (weight * np.log(q)) @ (1 - said)
        belief = 1 / (1 + np.exp(np.clip(log0 - log1, -500, 500)))
        inside, outside = count * belief, count * (1 - belief)
        p = (said @ inside + 0.9 * strength) / (inside.sum() + strength)
        q = ((1 - said) @ outside + 0.9 * strength) / (outside.sum() + strength)
        p, q = np.clip(p, 1e-6, 1 - 1e-6), np.clip(q, 1e-6, 1 - 1e-6)
        if np.abs(belief - old).max(initial=0.0) <= tol:
            return Staple(belief[at], p, q, i + 1, True)
    return Staple(belief[at], p, q, max_iter, False)


def patterns(masks: Mask) -> tuple[F8, F8, npt.NDArray[np.int64]]:
    """(said[worker, pattern], how many pixels have it, the pattern of each pixel): many pixels have few patterns."""
    n, size = masks.shape
    if n > MOST_BITS:
        return masks.astype(np.float64), np.ones(size), np.arange(size)
    code = (2 ** np.arange(n, dtype=np.int64)) @ masks.astype(np.int64)
    _, first, at, count = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    return masks[:, first].astype(np.float64), count.astype(np.float64), at.ravel()


def rasa(masks: Mask, weight: F8, *, max_iter: int = 25, tol: float = 1e-3) -> tuple[F8, F8]:
    """(share[pixel], weight[worker]): workers weighted by the IoU of their mask with the vote, until it stays."""
    own = weight.copy()
    for _ in range(max_iter):
        found = vote(masks, own) > 0.5
        new = weight * np.array([overlap(mask, found) for mask in masks])
        if not new.sum() > 0:
            break
        settled = np.abs(new - own).max(initial=0.0) < tol
        own = new
        if settled:
            break
    return vote(masks, own), own


def beside_others(said: F8, count: F8, weight: F8, truth: F8 | None = None) -> F8:
    """IoU of each worker's mask with the vote of the others, or with the truth; NaN where there is neither a mark of
    theirs nor of the others, or nobody else. said[worker, pattern] of patterns of `count` pixels each."""
    if truth is None:
        rest = weight @ said - weight[:, None] * said
        other = rest > 0.5 * (weight.sum() - weight)[:, None] + 1e-12
    else:
        other = np.broadcast_to(truth > 0, said.shape)
    mine = said > 0
    both, either = (mine & other) @ count, (mine | other) @ count
    out = np.divide(both, either, out=np.full(len(said), np.nan), where=either > 0)
    return np.full(len(said), np.nan) if truth is None and len(said) < 2 else np.asarray(out)


def overlap(a: Mask, b: Mask) -> float:
    """Intersection over union; two empty masks agree."""
    union = int((a | b).sum())
    return float((a & b).sum()) / union if union else 1.0
