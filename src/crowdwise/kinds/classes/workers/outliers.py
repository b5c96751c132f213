"""Workers whose agreement with the others no independent worker could have: two robust looks at the agreement matrix.

P(m and m' agree) = <u_m, u_m'> off the diagonal for independent workers (rank at most K²): the honest block is of low
rank, and so is everybody's agreement with it, but colluders agree with each other far more than their u allow.
`agreement_outliers` fits u to the third of the workers who agree best with a trusted one (without one: to the half who
agree best with everybody), reads the others' u off their agreement with those, and takes out the fewest workers who
explain all pairs in excess. Traganitis & Giannakis (2021), doi:10.1109/TSP.2021.3053534. `robust_outliers` is the
one-coin form, with the skills of MMSR: Ma & Olshevsky (2020), NeurIPS 33.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ....core.errors import ParameterError
from ....stats.discovery import adjusted
from ....workers.flags import Flag
from ..annotations import Annotations
from ..maths import moments
from ..maths.factors import complete
from ..methods.spectral import MMSR, skill_of
from .pairs import comparable

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MIN_COMMON = 10
LEVEL = 0.001
EXCESS = 0.05
# Partners in the core that each number of a worker's vector takes.
PARTNERS = 2


def agreement_outliers(annotations: Annotations, trusted: Any = None, level: float = LEVEL) -> list[Flag]:
    """A flag `outlier` for workers outside the core, with adjusted p-values; `trusted` names one honest worker.

    Without `trusted` at least half of the workers must be honest.
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
        out = _fewest_who_explain(first, second, p <= level, m, anchor)
        core = _met(first, second, m) & ~out
    return _flags(annotations, first, second, n, share, u, p, out, level)


def robust_outliers(annotations: Annotations, level: float = LEVEL) -> list[Flag]:
    """The same where one number describes a worker: pairs that agree beyond the product of MMSR's robust skills."""
    first, second, n, share = _pairs(annotations)
    k = annotations.n_classes
    if len(first) == 0 or k < 2:
        return []
    skill = skill_of(MMSR().fit(annotations).extra["vote_weight"], k)
    # C = K/(K-1) (agreement - 1/K) = s s'
    u = np.stack([np.sqrt((k - 1) / k) * skill, np.full(len(skill), np.sqrt(1 / k))], axis=1)
    p = _excess(first, second, n, share, u, level)
    out = _fewest_who_explain(first, second, p <= level, annotations.n_workers, None)
    return _flags(annotations, first, second, n, share, u, p, out, level)


def _pairs(annotations: Annotations) -> tuple[I8, I8, F8, F8]:
    """Pairs first < second with enough common tasks: how many, and the share on which they agree."""
    seen = moments.agreement(comparable(annotations, MIN_COMMON) if annotations.weight is None else annotations)
    both, agree = seen.n.tocoo(), seen.agree
    keep = (both.row < both.col) & (both.data >= MIN_COMMON)
    first, second = both.row[keep].astype(np.int64), both.col[keep].astype(np.int64)
    n = np.asarray(both.data[keep], dtype=np.float64)
    same = np.asarray(agree[first, second], dtype=np.float64).ravel() if len(first) else np.empty(0)
    return first, second, n, same / np.maximum(n, 1)


def _code(annotations: Annotations, name: Any) -> int:
    names = annotations.workers.to_list()
    if name not in names:
        raise ParameterError(f"trusted must name a worker of these annotations, got {name!r}")
    return names.index(name)


def _met(first: I8, second: I8, m: int) -> Mask:
    out = np.zeros(m, dtype=bool)
    out[np.concatenate([first, second])] = True
    return out


def _core(first: I8, second: I8, share: F8, n: F8, m: int, anchor: int | None) -> Mask:
    """The third of the workers who agree best with the trusted one, or else the half who do with all they met."""
    me, other = np.r_[first, second], np.r_[second, first]
    weight, value = np.tile(n, 2), np.tile(share, 2)
    if anchor is not None:
        weight = np.where(other == anchor, weight, 0.0)
    total = np.bincount(me, weights=weight, minlength=m)
    score = np.bincount(me, weights=weight * value, minlength=m) / np.where(total > 0, total, np.nan)
    if anchor is not None:
        score[anchor] = 1.0
    # With somebody to trust, the honest need not be the majority: the best third will do.
    return np.asarray(score >= np.nanquantile(score, 0.5 if anchor is None else 2 / 3))


def _fewest_who_explain(first: I8, second: I8, hot: Mask, m: int, anchor: int | None) -> Mask:
    """Workers taken out one by one, who has most pairs in excess first, until no such pair is left."""
    left, out = hot.copy(), np.zeros(m, dtype=bool)
    while left.any():
        load = np.bincount(np.r_[first[left], second[left]], minlength=m)
        if anchor is not None:
            load[anchor] = 0
        worst = int(load.argmax())
        out[worst] = True
        left &= (first != worst) & (second != worst)
    # The last of a ring has no partner left, but is in excess with most of those taken out.
    with_out = np.bincount(np.r_[first[hot & out[second]], second[hot & out[first]]], minlength=m)
    last = with_out >= max(2.0, 0.75 * out.sum())
    if anchor is not None:
        last[anchor] = False
    return np.asarray(out | last)


def _vectors(first: I8, second: I8, share: F8, n: F8, core: Mask, k: int) -> F8:
    """u[worker, rank]: fitted within the core, then to each other worker's agreement with the core; NaN where a worker
    met too few of it."""
    m, met = len(core), _partners(first, second, core)
    # A vector of K numbers takes twice as many partners; where most have fewer, a shorter one must do.
    rank = min(k, max(int(core.sum()) - 1, 1), max(int(np.median(met[core]) // PARTNERS), 1))
    within = core[first] & core[second]
    place = np.cumsum(core) - 1
    a, b = place[first[within]], place[second[within]]
    inner = complete(np.r_[a, b], np.r_[b, a], np.tile(share[within], 2), int(core.sum()), rank, 200, 1e-6)
    u = np.zeros((m, rank))
    u[core] = inner
    me, other = np.r_[first, second], np.r_[second, first]
    value, weight = np.tile(share, 2), np.tile(n, 2)
    use = core[other] & ~core[me]
    for w in np.unique(me[use]).tolist():
        rows = use & (me == w)
        x, root = u[other[rows]], np.sqrt(weight[rows])
        gram = (x * root[:, None]).T @ (x * root[:, None]) + 1e-3 * np.eye(rank)
        u[w] = np.linalg.solve(gram, x.T @ (weight[rows] * value[rows]))
    return np.where((met >= PARTNERS * rank)[:, None], u, np.nan)


def _partners(first: I8, second: I8, core: Mask) -> I8:
    """How many of the core each worker met."""
    m = len(core)
    return np.asarray(np.bincount(first[core[second]], minlength=m) + np.bincount(second[core[first]], minlength=m))


def _excess(first: I8, second: I8, n: F8, share: F8, u: F8, level: float) -> F8:
    """Adjusted p-values of agreement beyond <u, u'>, by exact tails: common tasks are few.

    Pairs whose excess is small in size, or of which nothing can be predicted, get one.
    """
    from scipy.special import betainc

    model = np.clip(np.einsum("pr,pr->p", u[first], u[second]), 0.02, 0.98)
    known = np.isfinite(model)
    p = np.ones(len(n))
    agreed = share[known] * n[known]
    tail = betainc(np.maximum(agreed, 1e-9), n[known] - agreed + 1, model[known])
    p[known] = adjusted(np.where(agreed > 0, tail, 1.0))
    return np.where(share - np.nan_to_num(model, nan=1.0) >= EXCESS, p, np.maximum(p, min(1.0, 2 * level)))


def _flags(
    annotations: Annotations, first: I8, second: I8, n: F8, share: F8, u: F8, p: F8, bad: Mask, level: float
) -> list[Flag]:
    out = []
    for w in range(annotations.n_workers):
        mine = np.flatnonzero(((first == w) | (second == w)) & (p <= level))
        if not bad[w] or not len(mine):
            continue
        mine = mine[np.argsort(p[mine], kind="stable")]
        best = int(mine[0])
        other = np.where(first[mine] == w, second[mine], first[mine])
        names = annotations.workers.gather(other).to_list()
        expected = float(np.clip(u[first[best]] @ u[second[best]], 0, 1))
        words = (
            f"agrees with {names[0]} on {share[best]:.0%} of {n[best]:.0f} common tasks, where their agreement with "
            f"the others explains {expected:.0%}; the same with {len(names) - 1} more"
        )
        out.append(Flag(annotations.workers[w], "outlier", None, float(p[best]), words, (), tuple(names)))
    return out
