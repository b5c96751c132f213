"""CNMF: confusion matrices whose products explain how all pairs of workers label (coupled non-negative factors, KL).

    maximise  sum_pairs sum_{l, l'} count[l, l'] log (A_m^T diag(d) A_m')[l, l']

The log-likelihood of a latent class model for pairs (a composite likelihood), maximised by its own EM: it never falls.
Ibrahim, Fu, Kargas & Huang (2019), Crowdsourcing via pairwise co-occurrences, NeurIPS 32, arXiv:1909.12325; the
authors descend by mirror steps, the maximum is the same. Unlike MultiSPA it needs no pure experts and weighs every
pair by its labels. Fails where few workers share tasks; ends slowly (the last digits take thousands of sweeps).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...kinds.classes.annotations import Annotations
from ...maths.factors.permute import common_order
from ...maths.moments import Pairs
from .base import Estimate, MomentAggregator

F8 = npt.NDArray[np.float64]

# Cells of pair tables that are worked on at a time.
CHUNK = 2_000_000


@dataclass(frozen=True, kw_only=True)
class CNMF(MomentAggregator):
    """At most `max_iter` sweeps, until the objective's relative change falls below `tol`.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> CNMF(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "cnmf"
    max_iter: Count = 1_000
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """EM on the pair tables from matrices that lean to the diagonal."""
        k, m = annotations.n_classes, annotations.n_workers
        a, d = np.tile(0.6 * np.eye(k) + 0.4 / k, (m, 1, 1)), np.full(k, 1 / k)
        trace: list[float] = []
        converged = False
        for _ in range(self.max_iter):
            mass, objective = pair_sweep(seen, a, d)
            trace.append(objective)
            converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= self.tol * max(1.0, abs(trace[-1]))
            if converged:
                break
            a, d = factors(mass, a)
        good = seen.reached()
        order = common_order(a, seen.overlap())
        return Estimate(a[:, order], d[order], good, np.array(trace), len(trace), converged)


def pair_sweep(seen: Pairs, a: F8, d: F8) -> tuple[F8, float]:
    """Expected counts [worker, true, observed] of all pairs under (a, d), and the objective at (a, d)."""
    k = len(d)
    mass, objective = np.zeros_like(a), 0.0
    step = max(1, CHUNK // k**2)
    for lo in range(0, len(seen.first), step):
        i, j, count = seen.first[lo : lo + step], seen.second[lo : lo + step], seen.count[lo : lo + step]
        ai, aj = d[:, None] * a[i], a[j]  # pair, true, observed
        model = np.maximum(ai.transpose(0, 2, 1) @ aj, 1e-300)
        objective += float((count * np.log(model)).sum())
        ratio = count / model
        np.add.at(mass, i, ai * (aj @ ratio.transpose(0, 2, 1)))
        np.add.at(mass, j, aj * (ai @ ratio))
    return mass, objective


def factors(mass: F8, a: F8) -> tuple[F8, F8]:
    """The M-step: rows in proportion to their expected counts; a row without any stays as it is."""
    row = mass.sum(axis=2, keepdims=True)
    new = np.where(row > 0, mass / np.where(row > 0, row, 1.0), a)
    d = row.sum(axis=(0, 2))
    return new, np.asarray(d / d.sum())
