"""SymNMF: all pairs of workers in one symmetric matrix, its gaps filled in, split into non-negative factors.

    R = H diag(d) H^T,   H = [A_1^T; ...; A_M^T],   R[i, j] = R[i, a] R[b, a]^+ R[b, j]

Blocks of pairs that share too few tasks, and those of a worker with themselves, are imputed through pairs of anchors
(a, b); the leading eigenvectors U of R are then turned until U Q is non-negative.
Ibrahim & Fu (2021), Crowdsourcing via annotator co-occurrence imputation and provable symmetric nonnegative matrix
factorization, ICML (pmlr v139). Works without experts when there are many workers. Fails where most blocks are
missing; and a perfect fit does not prove that the matrices are the true ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Whole
from ...kinds.classes.annotations import Annotations
from ...maths.factors.impute import impute_blocks
from ...maths.factors.permute import common_order
from ...maths.moments import Pairs
from .base import Estimate, MomentAggregator
from .multi_spa import successive_projection

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SymNMF(MomentAggregator):
    """At most `max_iter` turns of U, until they gain less than `tol` of its size; at most 200 workers.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> SymNMF(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "sym_nmf"
    em_steps: Whole = 10
    max_workers: ClassVar[int] = 200
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """Impute, take the root, turn it, read off the matrices."""
        k, good = annotations.n_classes, seen.reached()
        m = int(good.sum())
        blocks = impute_blocks(seen, good)  # worker, worker, said, said
        value, vector = np.linalg.eigh(blocks.transpose(0, 2, 1, 3).reshape(m * k, m * k))
        root = vector[:, -k:] * np.sqrt(np.maximum(value[-k:], 0.0))
        factor, n_iter, converged = self._turn(root, k)
        h = factor.reshape(m, k, k).transpose(0, 2, 1)  # worker, true, observed: A[k, l] sqrt(d_k)
        size = h.sum(axis=2)
        confusion = np.full((len(good), k, k), 1 / k)
        confusion[good] = h / size[:, :, None]
        prior = size.mean(axis=0) ** 2
        order = common_order(confusion, seen.overlap())
        return Estimate(confusion[:, order], (prior / prior.sum())[order], good, n_iter=n_iter, converged=converged)

    def _turn(self, root: F8, k: int) -> tuple[F8, int, bool]:
        """H ≥ 0 close to root @ Q with Q orthogonal, by alternating projection (Procrustes), from SPA's corners."""
        q = _first_turn(root, k)
        size, last, converged = float((root**2).sum()), np.inf, False
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            turned = root @ q
            h = np.maximum(turned, 1e-6)
            residual = float(((h - turned) ** 2).sum())
            converged = last - residual <= self.tol * size
            if converged:
                break
            last = residual
            left, _, right = np.linalg.svd(root.T @ h)
            q = left @ right
        return h, iteration, converged


def _first_turn(root: F8, k: int) -> F8:
    """Rows of H near an axis are corners of the rows of the root: turn them onto the axes."""
    norm = np.linalg.norm(root, axis=1, keepdims=True)
    rows = root[norm[:, 0] > 0.1 * norm.max()]
    chosen = successive_projection(rows, k)
    if chosen is None:
        return np.eye(k)
    corner = rows[chosen] / np.linalg.norm(rows[chosen], axis=1, keepdims=True)
    left, _, right = np.linalg.svd(corner.T)
    return np.asarray(left @ right)
