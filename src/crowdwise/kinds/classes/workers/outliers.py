"""Workers whose agreement with others is impossible for independent workers: robust models of the agreement matrix.

P(m and m' agree) = <u_m, u_m'> off the diagonal for independent workers (rank at most K²): the honest block has low
rank, and so has the agreement of all workers with it, but colluders agree with each other far more than their u allow.
`agreement_outliers` fits u to the third of the workers with the highest agreement with a trusted one (without one: to
the half with the highest agreement with all), estimates the u of the others from their agreement with these, and
removes the smallest set of workers that explains all pairs in excess. Traganitis & Giannakis (2021),
doi:10.1109/TSP.2021.3053534.
`robust_outliers` is the one-coin version, with the skills of MMSR: Ma & Olshevsky (2020), NeurIPS 33.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....core.arrays import F8, I8, Mask
from ....core.errors import ParameterError
from ....stats.discovery import adjusted
from ....workers.flags import Flag
from ..annotations import Annotations
from ..maths import moments
from ..maths.factors import complete_matrix
from ..methods.spectral import MMSR, skill_of
from .pairs import comparable

MIN_COMMON = 10
LEVEL = 0.001
EXCESS = 0.05
# Least number of partners in the core per element of a worker's vector.
PARTNERS = 2


def agreement_outliers(annotations: Annotations, trusted: Any = None, level: float = LEVEL) -> list[Flag]:
    """Flag `outlier` for workers outside the core, with adjusted p-values.

    Args:
        annotations: The votes.
        trusted: Name of an honest worker. Without one, at least half of the workers must be honest.
        level: Adjusted p-value of pairs in excess.
    """
    first, second, n, share = _pairs(annotations)
    m, k = annotations.n_workers, annotations.n_classes
    anchor = None if trusted is None else _code(annotations, trusted)
    if len(first) == 0 or k < 2:
        return []
    core = _core(first, second, share, n, m, anchor)
    for _ in range(2):
        u = _vectors(first, second, share, n, core, k)
        p = _excess(first, second, n, share, u, level)
        out = _smallest_cover(first, second, p <= level, m, anchor)
        core = _has_pair(first, second, m) & ~out
    return _flags(annotations, first, second, n, share, u, p, out, level)


def robust_outliers(annotations: Annotations, level: float = LEVEL) -> list[Flag]:
    """Flag `outlier` for workers who agree beyond the product of the robust skills of MMSR (one-coin version)."""
    first, second, n, share = _pairs(annotations)
    k = annotations.n_classes
    if len(first) == 0 or k < 2:
        return []
    skill = skill_of(MMSR().fit(annotations).extra["vote_weight"], k)
    # C = K/(K-1) (agreement - 1/K) = s s'
    u = np.stack([np.sqrt((k - 1) / k) * skill, np.full(len(skill), np.sqrt(1 / k))], axis=1)
    p = _excess(first, second, n, share, u, level)
    out = _smallest_cover(first, second, p <= level, annotations.n_workers, None)
    return _flags(annotations, first, second, n, share, u, p, out, level)


def _pairs(annotations: Annotations) -> tuple[I8, I8, F8, F8]:
    """Pairs first < second with enough common tasks, the number of these, and the share on which they agree."""
    agreement = moments.agreement(comparable(annotations, MIN_COMMON) if annotations.weight is None else annotations)
    overlap, agree = agreement.n.tocoo(), agreement.agree
    keep = (overlap.row < overlap.col) & (overlap.data >= MIN_COMMON)
    first, second = overlap.row[keep].astype(np.int64), overlap.col[keep].astype(np.int64)
    n = np.asarray(overlap.data[keep], dtype=np.float64)
    same = np.asarray(agree[first, second], dtype=np.float64).ravel() if len(first) else np.empty(0)
    return first, second, n, same / np.maximum(n, 1)


def _code(annotations: Annotations, name: Any) -> int:
    names = annotations.workers.to_list()
    if name not in names:
        raise ParameterError(f"trusted must name a worker of these annotations, got {name!r}")
    return names.index(name)


def _has_pair(first: I8, second: I8, m: int) -> Mask:
    out = np.zeros(m, dtype=bool)
    out[np.concatenate([first, second])] = True
    return out


def _core(first: I8, second: I8, share: F8, n: F8, m: int, anchor: int | None) -> Mask:
    """Mask of the third of the workers with the highest agreement with the trusted one, or of the half with all."""
    worker, other = np.r_[first, second], np.r_[second, first]
    weight, value = np.tile(n, 2), np.tile(share, 2)
    if anchor is not None:
        weight = np.where(other == anchor, weight, 0.0)
    total = np.bincount(worker, weights=weight, minlength=m)
    score = np.bincount(worker, weights=weight * value, minlength=m) / np.where(total > 0, total, np.nan)
    if anchor is not None:
        score[anchor] = 1.0
    # With a trusted worker, honest workers need not be the majority: the best third suffices.
    return np.asarray(score >= np.nanquantile(score, 0.5 if anchor is None else 2 / 3))


def _smallest_cover(first: I8, second: I8, in_excess: Mask, m: int, anchor: int | None) -> Mask:
    """Remove workers one by one, those with the most pairs in excess first, until no such pair remains."""
    remaining, out = in_excess.copy(), np.zeros(m, dtype=bool)
    while remaining.any():
        n_pairs = np.bincount(np.r_[first[remaining], second[remaining]], minlength=m)
        if anchor is not None:
            n_pairs[anchor] = 0
        worst = int(n_pairs.argmax())
        out[worst] = True
        remaining &= (first != worst) & (second != worst)
    # The last member of a group has no partner left, but is in excess with most of the removed workers.
    with_out = np.bincount(np.r_[first[in_excess & out[second]], second[in_excess & out[first]]], minlength=m)
    is_last = with_out >= max(2.0, 0.75 * out.sum())
    if anchor is not None:
        is_last[anchor] = False
    return np.asarray(out | is_last)


def _vectors(first: I8, second: I8, share: F8, n: F8, core: Mask, k: int) -> F8:
    """Return u[worker, rank], fitted within the core, then to the other workers' agreement with the core; NaN for
    workers with too few partners in the core."""
    m, n_partners = len(core), _partners(first, second, core)
    # A vector of K elements requires twice as many partners; if most workers have fewer, use a shorter one.
    rank = min(k, max(int(core.sum()) - 1, 1), max(int(np.median(n_partners[core]) // PARTNERS), 1))
    within = core[first] & core[second]
    core_index = np.cumsum(core) - 1
    a, b = core_index[first[within]], core_index[second[within]]
    inner = complete_matrix(np.r_[a, b], np.r_[b, a], np.tile(share[within], 2), int(core.sum()), rank, 200, 1e-6)
    u = np.zeros((m, rank))
    u[core] = inner
    worker, other = np.r_[first, second], np.r_[second, first]
    value, weight = np.tile(share, 2), np.tile(n, 2)
    use = core[other] & ~core[worker]
    for w in np.unique(worker[use]).tolist():
        rows = use & (worker == w)
        x, root = u[other[rows]], np.sqrt(weight[rows])
        gram = (x * root[:, None]).T @ (x * root[:, None]) + 1e-3 * np.eye(rank)
        u[w] = np.linalg.solve(gram, x.T @ (weight[rows] * value[rows]))
    return np.where((n_partners >= PARTNERS * rank)[:, None], u, np.nan)


def _partners(first: I8, second: I8, core: Mask) -> I8:
    """Number of partners of each worker in the core."""
    m = len(core)
    return np.asarray(np.bincount(first[core[second]], minlength=m) + np.bincount(second[core[first]], minlength=m))


def _excess(first: I8, second: I8, n: F8, share: F8, u: F8, level: float) -> F8:
    """Adjusted p-values of agreement beyond <u, u'>, by exact tails because common tasks are few.

    Pairs with a small excess or without a prediction get one.
    """
    from scipy.special import betainc

    model = np.clip(np.einsum("pr,pr->p", u[first], u[second]), 0.02, 0.98)
    is_known = np.isfinite(model)
    p = np.ones(len(n))
    agreed = share[is_known] * n[is_known]
    tail = betainc(np.maximum(agreed, 1e-9), n[is_known] - agreed + 1, model[is_known])
    p[is_known] = adjusted(np.where(agreed > 0, tail, 1.0))
    return np.where(share - np.nan_to_num(model, nan=1.0) >= EXCESS, p, np.maximum(p, min(1.0, 2 * level)))


def _flags(
    annotations: Annotations, first: I8, second: I8, n: F8, share: F8, u: F8, p: F8, is_outlier: Mask, level: float
) -> list[Flag]:
    out = []
    for w in range(annotations.n_workers):
        pairs = np.flatnonzero(((first == w) | (second == w)) & (p <= level))
        if not is_outlier[w] or not len(pairs):
            continue
        pairs = pairs[np.argsort(p[pairs], kind="stable")]
        best = int(pairs[0])
        partners = np.where(first[pairs] == w, second[pairs], first[pairs])
        names = annotations.workers.gather(partners).to_list()
        expected = float(np.clip(u[first[best]] @ u[second[best]], 0, 1))
        evidence = (
            f"agrees with {names[0]} on {share[best]:.0%} of {n[best]:.0f} common tasks, where their agreement with "
            f"the others explains {expected:.0%}; the same with {len(names) - 1} more"
        )
        out.append(Flag(annotations.workers[w], "outlier", None, float(p[best]), evidence, (), tuple(names)))
    return out
