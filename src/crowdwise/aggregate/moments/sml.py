"""SML: two classes; the workers' covariance is of rank one off its diagonal and knows who is good.

    Q[i, j] = (1 - b²) (ψ_i + η_i - 1) (ψ_j + η_j - 1),   i ≠ j

b = E[truth in ±1], ψ and η are the accuracies on the two classes. The rank-one fit gives v = √(1 - b²) (ψ + η - 1), the
workers' means the difference ψ - η, and b is the imbalance under which the labels are likeliest.
Parisi, Strino, Nadler & Kluger (2014), Ranking and combining multiple predictors without labeled data, PNAS 111(4),
doi:10.1073/pnas.1219097111; Jaffe, Nadler & Kluger (2015), AISTATS. Fails with dependent workers and little overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative
from ...kinds.classes.annotations import Annotations
from ...maths.kernels import Workspace, accumulate
from ...maths.moments import Pairs, complete_rank_one
from .base import Estimate, MomentAggregator

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SML(MomentAggregator):
    """Two classes only. `n_grid` values of the imbalance b between -0.95 and 0.95 are tried; the rank-one fit takes
    at most `max_iter` gradient steps, until none moves a coordinate by more than `tol`.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2] , list("abcabc"), list("xxyyyy"))
    >>> SML(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "sml"
    n_grid: Count = 39
    max_iter: Count = 10_000
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """Rank-one covariance, then the imbalance of highest likelihood."""
        sign = np.array([-1.0, 1.0])
        n, share = seen.n, seen.share
        mean_i, mean_j = share.sum(axis=2) @ sign, share.sum(axis=1) @ sign
        # Means over the same tasks, which asks for the n / (n - 1).
        q = (np.einsum("plm,l,m->p", share, sign, sign) - mean_i * mean_j) * n / np.maximum(n - 1, 1)
        start = np.full(seen.n_workers, 0.5)
        v, n_iter, converged = complete_rank_one(seen.first, seen.second, n, q, start, -1, 1, self.max_iter, self.tol)
        v = -v if float(seen.overlap() @ v) < 0 else v
        w = np.ones(len(annotations)) if annotations.weight is None else annotations.weight
        total = np.bincount(annotations.worker, weights=w, minlength=annotations.n_workers).astype(np.float64)
        said = np.bincount(annotations.worker, weights=w * sign[annotations.label], minlength=annotations.n_workers)
        mean = said / np.maximum(total, 1e-12)
        edge = 1 / (total + 2)
        grid = [_accuracies(v, mean, b, edge) for b in np.linspace(-0.95, 0.95, self.n_grid)]
        space = Workspace.of(annotations)
        good = seen.reached()
        fits = []
        for confusion, prior in grid:
            confusion[~good] = 0.5
            theta = np.ascontiguousarray(confusion.transpose(0, 2, 1))
            fits.append(accumulate(space, theta, prior)[1])
        confusion, prior = grid[int(np.argmax(fits))]
        return Estimate(confusion, prior, good, n_iter=n_iter, converged=converged)


def _accuracies(v: F8, mean: F8, b: float, edge: F8) -> tuple[F8, F8]:
    """confusion[worker, true, observed] and class prior at imbalance b: E[s | y] = (ψ - η) + y (ψ + η - 1)."""
    delta = v / np.sqrt(1 - b * b)
    psi = np.clip((1 + delta + mean - b * delta) / 2, edge, 1 - edge)
    eta = np.clip((1 + delta - mean + b * delta) / 2, edge, 1 - edge)
    confusion = np.stack([np.stack([eta, 1 - eta], axis=1), np.stack([1 - psi, psi], axis=1)], axis=1)
    return confusion, np.array([(1 - b) / 2, (1 + b) / 2])
