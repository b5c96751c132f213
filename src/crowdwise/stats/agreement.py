"""Chance-corrected agreement from counts; nothing is quadratic in the number of labels.

Every coefficient is a function of sums over tasks: the coincidences of classes within tasks, and the frequency of each
class. `observed` holds such sums; leading axes (bootstrap draws) are carried along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ..core.arrays import F8

Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


@dataclass(frozen=True)
class Sums:
    """Sums over tasks, [..., K, K] or [..., K] or [...]; n_uc counts class c among the m_u labels of task u.

    `coincidences` sums (n_uc n_uk - [c=k] n_uc) / (m_u - 1), `pairs` the same divided by m_u, both over tasks with two
    labels or more, `several` counts those; `shares` sums n_uc / m_u over the `labelled` tasks.
    """

    coincidences: F8
    pairs: F8
    shares: F8
    several: F8
    labelled: F8

    @staticmethod
    def of(flat: F8, k: int) -> Sums:
        """Return the sums from rows as laid out by `terms`."""
        square, at = (*flat.shape[:-1], k, k), k * k
        return Sums(
            flat[..., :at].reshape(square),
            flat[..., at : 2 * at].reshape(square),
            flat[..., 2 * at : 2 * at + k],
            flat[..., -2],
            flat[..., -1],
        )


def terms(counts: F8, block: npt.NDArray[np.int64], n_blocks: int) -> F8:
    """Return what each block of tasks adds to the sums, [block, 2K² + K + 2], from counts[task, class]."""
    k = counts.shape[1]
    out = np.zeros((n_blocks, 2 * k * k + k + 2))
    order = np.argsort(block, kind="stable")
    edges = np.searchsorted(block[order], np.arange(n_blocks + 1))
    m = counts.sum(axis=1)
    for b in range(n_blocks):
        rows = order[edges[b] : edges[b + 1]]
        n, size = counts[rows], m[rows]
        many = size >= 2
        for place, scale in ((0, size - 1), (k * k, size * (size - 1))):
            part = n[many] / scale[many, None]
            table = part.T @ n[many] - np.diag(part.sum(axis=0))
            out[b, place : place + k * k] = table.ravel()
        out[b, 2 * k * k : 2 * k * k + k] = (n[size > 0] / size[size > 0, None]).sum(axis=0)
        out[b, -2:] = many.sum(), (size > 0).sum()
    return out


def distance(level: Level, values: F8, counts: F8) -> F8:
    """Krippendorff's squared distances δ²[..., c, k]; the ordinal one counts the labels said[..., c] in between."""
    k = len(values)
    if level == "nominal":
        return np.asarray(1.0 - np.eye(k))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    if level == "ratio":
        total = values[:, None] + values[None, :]
        return np.asarray(((values[:, None] - values[None, :]) / np.where(total == 0, 1.0, total)) ** 2)
    # sum of the labels from c to k, the ends by half: a difference of midranks
    middle = np.cumsum(counts, axis=-1) - counts / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)


def alpha(sums: Sums, level: Level, values: F8) -> F8:
    """Krippendorff's alpha = 1 - observed / expected disagreement; NaN if only one class occurs.

    Krippendorff (2011), Computing Krippendorff's alpha-reliability.
    """
    o = sums.coincidences
    counts = o.sum(axis=-1)
    total = counts.sum(axis=-1)
    delta = distance(level, values, counts)
    observed_ = (o * delta).sum(axis=(-2, -1))
    chance = (counts[..., :, None] * counts[..., None, :] * delta).sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance > 0, 1 - (total - 1) * observed_ / chance, np.nan))


def closeness(level: Level, values: F8) -> F8:
    """Agreement weights w[c, k], 1 on the diagonal: what the weighted kappas and AC2 use (Gwet 2014, chapter 3)."""
    k = len(values)
    if level == "ordinal":
        gap = np.abs(np.subtract.outer(np.arange(k), np.arange(k))) + 1.0
        far = gap * (gap - 1) / 2  # pairs of classes from c to k
    else:
        far = distance(level, values, np.ones(k))
    top = far.max(initial=0.0)
    return np.asarray(1 - far / top) if top > 0 else np.ones((k, k))


def observed(sums: Sums, weights: F8) -> F8:
    """Mean over tasks of the (weighted) share of agreeing pairs of labels."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((sums.pairs * weights).sum(axis=(-2, -1)) / sums.several)


def fleiss_kappa(sums: Sums, weights: F8) -> F8:
    """Fleiss' kappa for any number of labels per task; with two labels each, Scott's pi.

    Fleiss (1971), doi:10.1037/h0031619; weights and missing labels after Gwet (2014), Handbook of inter-rater
    reliability.
    """
    share = _mean_shares(sums)
    return _corrected(observed(sums, weights), np.einsum("...c,ck,...k->...", share, weights, share))


def gwet_ac(sums: Sums, weights: F8) -> F8:
    """Gwet's AC1, with weights AC2: chance agreement only on tasks that are guessed.

    Gwet (2008), doi:10.1348/000711006X126600.
    """
    share, k = _mean_shares(sums), len(weights)
    guess = weights.sum() / (k * (k - 1)) if k > 1 else 0.0
    return _corrected(observed(sums, weights), guess * (share * (1 - share)).sum(axis=-1))


def cohen_kappa(table: F8, weights: F8) -> F8:
    """Cohen's kappa of two workers from tables[..., first, second]; NaN if chance alone gives full agreement.

    Cohen (1960), doi:10.1177/001316446002000104; weighted (1968), doi:10.1037/h0026256.
    """
    p = _shares_of(table)
    chance = np.einsum("...c,ck,...k->...", p.sum(axis=-1), weights, p.sum(axis=-2))
    return _corrected((p * weights).sum(axis=(-2, -1)), chance)


def scott_pi(table: F8, weights: F8) -> F8:
    """Scott's pi of two workers: as Cohen's kappa, with one class distribution for both.

    Scott (1955), doi:10.1086/266577.
    """
    p = _shares_of(table)
    share = (p.sum(axis=-1) + p.sum(axis=-2)) / 2
    return _corrected((p * weights).sum(axis=(-2, -1)), np.einsum("...c,ck,...k->...", share, weights, share))


def _mean_shares(sums: Sums) -> F8:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums.shares / sums.labelled[..., None])


def _shares_of(table: F8) -> F8:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(table / table.sum(axis=(-2, -1), keepdims=True))


def _corrected(observed_: F8, chance: F8) -> F8:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(chance < 1 - 1e-12, (observed_ - chance) / (1 - chance), np.nan))
