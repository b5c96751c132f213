"""Tensor: confusion matrices that explain pairs and triples of workers (coupled non-negative tensors, KL).

    maximise  sum_triples sum count[l, l', l''] log sum_k d_k A_m[k, l] A_m'[k, l'] A_m''[k, l'']  +  the same for pairs

Triples identify the matrices, up to the order of classes, where pairs alone do not: three workers of full rank suffice.
Traganitis, Pagès-Zamora & Giannakis (2018), Blind multiclass ensemble classification, IEEE TSP 66(18),
doi:10.1109/TSP.2018.2860562, minimise squares by AO-ADMM; this is EM on the composite likelihood, which never falls.
Fails where triples share few tasks: take `cnmf`. Cost: triples × classes⁴ a sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.params import Count, NonNegative
from ...core.rules import AtLeast
from ...kinds.classes.annotations import Annotations
from ...maths.factors.permute import common_order
from ...maths.messages import Edges
from ...maths.moments import Pairs
from .base import Estimate, MomentAggregator
from .cnmf import factors, pair_sweep

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

CHUNK = 2_000_000
MAX_CLASSES = 10
LETTERS = "lmo"


@dataclass(frozen=True, kw_only=True)
class Tensor(MomentAggregator):
    """For each worker the triples with their `n_partners` busiest partners are used (5 give 10 triples each);
    `max_iter` and `tol` as in `cnmf`. At most 10 classes.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> Tensor(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "tensor"
    n_partners: Annotated[int, AtLeast(2)] = 5
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """EM on the tables of pairs and triples from matrices that lean to the diagonal."""
        k, m = annotations.n_classes, annotations.n_workers
        if k > MAX_CLASSES:
            raise DataError(f"tensor takes at most {MAX_CLASSES} classes, these data have {k}; take cnmf")
        who, count = triples(annotations, seen, self.n_partners)
        a, d = np.tile(0.6 * np.eye(k) + 0.4 / k, (m, 1, 1)), np.full(k, 1 / k)
        trace: list[float] = []
        converged = False
        for _ in range(self.max_iter):
            mass, objective = pair_sweep(seen, a, d)
            more, extra = triple_sweep(who, count, a, d)
            trace.append(objective + extra)
            converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= self.tol * max(1.0, abs(trace[-1]))
            if converged:
                break
            a, d = factors(mass + more, a)
        order = common_order(a, seen.overlap())
        return Estimate(a[:, order], d[order], seen.reached(), np.array(trace), len(trace), converged)


def triples(annotations: Annotations, seen: Pairs, n_partners: int) -> tuple[I8, F8]:
    """who[t, 3] and count[t, l, l', l''] of each worker's triples with the partners who share most tasks with them."""
    edges, k = Edges.of(annotations), annotations.n_classes
    me, other, count = seen.both_ways()
    order = np.lexsort((other, -count.sum(axis=(1, 2)), me))
    place = np.searchsorted(me[order], np.arange(seen.n_workers + 1))
    wanted = {
        tuple(sorted((w, *pair)))
        for w in range(seen.n_workers)
        for pair in combinations(other[order[place[w] : place[w + 1]][:n_partners]].tolist(), 2)
    }
    rows = [edges.order[lo:hi] for lo, hi in zip(edges.worker_offsets[:-1], edges.worker_offsets[1:], strict=True)]
    who, tables = [], []
    for triple in sorted(wanted):
        shared = np.intersect1d(np.intersect1d(*(edges.task[rows[w]] for w in triple[:2])), edges.task[rows[triple[2]]])
        if not len(shared):
            continue
        said = [edges.pattern[edges.kind[rows[w][np.searchsorted(edges.task[rows[w]], shared)]]] for w in triple]
        who.append(triple)
        tables.append(np.einsum("nl,nm,no->lmo", *said, optimize=True))
    found = np.array(who, dtype=np.int64).reshape(-1, 3)
    return found, np.array(tables, dtype=np.float64).reshape(-1, k, k, k)


def triple_sweep(who: I8, count: F8, a: F8, d: F8) -> tuple[F8, float]:
    """Expected counts [worker, true, observed] of all triples under (a, d), and their log-likelihood."""
    mass, objective = np.zeros_like(a), 0.0
    step = max(1, CHUNK // len(d) ** 4)
    for lo in range(0, len(who), step):
        part, table = who[lo : lo + step], count[lo : lo + step]
        joint = np.einsum("k,tkl,tkm,tko->tklmo", d, *(a[part[:, i]] for i in range(3)), optimize=True)
        model = np.maximum(joint.sum(axis=1), 1e-300)
        objective += float((table * np.log(model)).sum())
        joint *= (table / model)[:, None]
        for i, letter in enumerate(LETTERS):
            np.add.at(mass, part[:, i], np.einsum(f"tklmo->tk{letter}", joint))
    return mass, objective
