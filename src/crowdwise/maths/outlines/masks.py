"""One mask from many of one picture: by vote, by weighted vote (RASA), and by STAPLE."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Staple:
    """belief[pixel], sensitivity and specificity of each worker."""

    belief: F8
    sensitivity: F8
    specificity: F8
    n_iter: int
    converged: bool


def vote(masks: Mask, weight: F8) -> F8:
    """share[pixel]: the weight of those who have it; masks are [worker, pixel]."""
    return np.asarray(weight @ masks / max(float(weight.sum()), 1e-300))


def staple(masks: Mask, weight: F8, *, max_iter: int = 100, tol: float = 1e-6, strength: float = 1.0) -> Staple:
    """EM for a hidden mask with a sensitivity and a specificity of each worker: Warfield, Zou & Wells (2004),
    doi:10.1109/TMI.2004.828354. The prior of a pixel is the mean share of the masks; `strength` pixels at .9 keep
    rates from 0 and 1."""
    n = len(masks)
    said = masks.astype(np.float64)
    prior = float(np.clip(vote(masks, weight).mean(), 1e-6, 1 - 1e-6)) if said.size else 0.5
    p, q = np.full(n, 0.9), np.full(n, 0.9)
    belief = vote(masks, weight)
    for i in range(max_iter):
        old = belief
        log1 = np.log(prior) + (weight * np.log(p)) @ said + (weight * np.log(1 - p)) @ (1 - said)
        log0 = np.log(1 - prior) + (weight * np.log(1 - q)) @ said + (weight * np.log(q)) @ (1 - said)
        belief = 1 / (1 + np.exp(np.clip(log0 - log1, -500, 500)))
        p = (said @ belief + 0.9 * strength) / (belief.sum() + strength)
        q = ((1 - said) @ (1 - belief) + 0.9 * strength) / ((1 - belief).sum() + strength)
        p, q = np.clip(p, 1e-6, 1 - 1e-6), np.clip(q, 1e-6, 1 - 1e-6)
        if np.abs(belief - old).max(initial=0.0) <= tol:
            return Staple(belief, p, q, i + 1, True)
    return Staple(belief, p, q, max_iter, False)


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


def overlap(a: Mask, b: Mask) -> float:
    """Intersection over union; two empty masks agree."""
    union = int((a | b).sum())
    return float((a & b).sum()) / union if union else 1.0
