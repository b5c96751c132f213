"""MultiSPA: the rows of a worker's confusion matrix are the corners of what they say given what others say.

    P(label_m = · | label_m' = l) = sum_k P(y = k | label_m' = l) confusion[m, k]

Each column of pairwise frequencies is a mixture of the rows sought; if for every class some partner almost surely
names it only when it is true, the rows are among the columns, and successive projection (SPA) picks them out.
Ibrahim, Fu, Kargas & Huang (2019), Crowdsourcing via pairwise co-occurrences, NeurIPS 32, arXiv:1909.12325.
Algebra only: no start, no iterations. Fails without such experts and where pairs share few tasks (noisy columns are
extreme columns). A good start for EM: `DawidSkene(init="multi_spa")`, or `em_steps`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Whole
from ...kinds.classes.annotations import Annotations
from ...maths.factors.permute import align
from ...maths.moments import Pairs
from .base import Estimate, MomentAggregator

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class MultiSPA(MomentAggregator):
    """A column counts when it stands on `min_overlap` / classes labels (see MomentAggregator for the parameters).

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxxyyy"))
    >>> MultiSPA(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "multi_spa"
    em_steps: Whole = 10

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """SPA worker by worker, then one common order of the classes, then the class prior by least squares."""
        k = annotations.n_classes
        least = 5.0 if self.min_overlap is None else self.min_overlap / k
        confusion, good = corners(seen, k, least)
        confusion = align(confusion, seen, good) if good.any() else confusion
        return Estimate(confusion, class_frequencies(confusion, seen, good), good)


def corners(seen: Pairs, k: int, least: float) -> tuple[F8, npt.NDArray[np.bool_]]:
    """For each worker K columns by successive projection, rows of their matrix in any order; and whether they exist."""
    me, _, count = seen.both_ways()
    confusion = np.full((seen.n_workers, k, k), 1 / k)
    good = np.zeros(seen.n_workers, dtype=bool)
    order = np.argsort(me, kind="stable")
    place = np.searchsorted(me[order], np.arange(seen.n_workers + 1))
    for m in range(seen.n_workers):
        columns = count[order[place[m] : place[m + 1]]].transpose(0, 2, 1).reshape(-1, k)  # (partner, said), mine
        total = columns.sum(axis=1)
        # Columns that stand on few labels are noisy, and SPA picks extremes.
        firm = total >= max(least, 1e-12)
        columns = columns[firm] / total[firm, None]
        chosen = successive_projection(columns, k)
        if chosen is not None:
            confusion[m], good[m] = columns[chosen], True
    return confusion, good


def successive_projection(points: F8, k: int) -> npt.NDArray[np.int64] | None:
    """The rows of `points` that are furthest out, each after projecting the earlier ones away; None if rank < k."""
    if len(points) < k:
        return None
    rest, chosen = points.copy(), np.empty(k, dtype=np.int64)
    size = (points**2).sum(axis=1)
    for i in range(k):
        norm = (rest**2).sum(axis=1)
        top = norm.max()
        if top < 1e-9:
            return None
        # Of nearly equal ones the one that was longest to begin with.
        chosen[i] = np.where(norm >= top * (1 - 1e-6), size, -1.0).argmax()
        axis = rest[chosen[i]] / np.sqrt(norm[chosen[i]])
        rest = rest - np.outer(rest @ axis, axis)
    return chosen


def class_frequencies(confusion: F8, seen: Pairs, good: npt.NDArray[np.bool_]) -> F8:
    """d with the least sum n ||R - A_m^T diag(d) A_m'||² over pairs of estimated workers."""
    from scipy.optimize import nnls

    k = confusion.shape[1]
    usable = good[seen.first] & good[seen.second]
    a, b = confusion[seen.first[usable]], confusion[seen.second[usable]]
    count, n = seen.count[usable], seen.n[usable]
    gram = np.einsum("p,pkl,pjl,pkm,pjm->kj", n, a, a, b, b, optimize=True)
    rhs = np.einsum("pkl,plm,pkm->k", a, count, b, optimize=True)
    ridge = 1e-9 * max(float(np.trace(gram)), 1e-12)
    d = nnls(gram + ridge * np.eye(k), rhs + ridge / k)[0]
    return np.asarray(d / d.sum()) if d.sum() > 0 else np.full(k, 1 / k)
