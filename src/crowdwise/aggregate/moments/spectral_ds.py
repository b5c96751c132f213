"""Spectral Dawid-Skene: confusion matrices from third moments of three groups of workers, then EM.

    M2 = sum_k w_k μ_k μ_k^T,   M3 = sum_k w_k μ_k ⊗ μ_k ⊗ μ_k

Workers are split into three groups; the mean answers of two groups are mapped into the space of the third, where
their second and third moments are symmetric. Whitening by M2 makes M3 orthogonal, and the tensor power method finds
μ_k, the third group's mean answers for class k; single workers follow by regression on the other groups.
Zhang, Chen, Zhou & Jordan (2016), Spectral methods meet EM, JMLR 17(102), arXiv:1406.3824 (Opt-D&S).
Fails with few labels per task (a task counts only where all groups have labels) and where two classes look alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, Whole
from ...kinds.classes.annotations import Annotations
from ...maths.factors.permute import best_order
from ...maths.factors.tensor_power import orthogonal_components
from ...maths.kernels import Workspace, accumulate
from ...maths.moments import Pairs
from .base import Estimate, MomentAggregator

F8 = npt.NDArray[np.float64]
RIDGE = 1e-6


@dataclass(frozen=True, kw_only=True)
class SpectralDS(MomentAggregator):
    """`n_splits` random splits into three groups are tried, the likeliest estimate is kept; `em_steps` (10) as in the
    paper's experiments.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> SpectralDS(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "spectral_ds"
    em_steps: Whole = 10
    n_splits: Count = 5

    def estimate(self, annotations: Annotations, seen: Pairs) -> Estimate:
        """The likeliest of several random splits."""
        rng = np.random.default_rng(self.seed)
        space, good = Workspace.of(annotations), seen.reached()
        best, found = -np.inf, None
        for _ in range(self.n_splits):
            group = rng.permutation(annotations.n_workers) % 3
            estimate = Estimate(*_split(annotations, group, rng), good)
            params = self._params(annotations, estimate)
            _, fit = accumulate(space, params.theta, params.class_prior)
            if fit > best:
                best, found = fit, estimate
        assert found is not None
        return found


def _split(annotations: Annotations, group: npt.NDArray[np.int64], rng: np.random.Generator) -> tuple[F8, F8]:
    """confusion[worker, true, observed] and class prior from one split into three groups."""
    answers = _answers(annotations, group)  # group, task, class
    n, k = annotations.n_tasks, annotations.n_classes
    cross = np.einsum("gna,hnb->ghab", answers, answers, optimize=True) / n
    means, weights = np.empty((3, k, k)), np.empty((3, k))
    for c in range(3):
        a, b = (c + 1) % 3, (c + 2) % 3
        to_a = answers[a] @ (cross[c, b] @ _inverse(cross[a, b])).T
        to_b = answers[b] @ (cross[c, a] @ _inverse(cross[b, a])).T
        m2 = to_a.T @ to_b / n
        m3 = np.einsum("na,nb,nc->abc", to_a, to_b, answers[c], optimize=True) / n
        means[c], weights[c] = _components((m2 + m2.T) / 2, m3, rng)
    prior = np.maximum(weights.mean(axis=0), 1e-6)
    prior /= prior.sum()
    return _individuals(annotations, group, answers, means, prior), prior


def _answers(annotations: Annotations, group: npt.NDArray[np.int64]) -> F8:
    """x[group, task, class]: the mean of the one-hot labels of the group's workers on the task, 0 without any."""
    n, k = annotations.n_tasks, annotations.n_classes
    flat = (group[annotations.worker] * n + annotations.task) * k + annotations.label
    total = np.bincount(flat, weights=annotations.weight, minlength=3 * n * k).astype(np.float64).reshape(3, n, k)
    size = total.sum(axis=2, keepdims=True)
    return np.asarray(total / np.where(size > 0, size, 1.0))


def _components(m2: F8, m3: F8, rng: np.random.Generator) -> tuple[F8, F8]:
    """Columns μ[observed, class] and weights of the classes; each component goes to the class that it names most."""
    value, vector = np.linalg.eigh(m2)
    value = np.maximum(value, RIDGE * max(float(value.max()), RIDGE))
    white = vector / np.sqrt(value)  # W^T M2 W = I
    size, direction = orthogonal_components(np.einsum("abc,ai,bj,ck->ijk", m3, white, white, white, optimize=True), rng)
    mean = size * ((vector * np.sqrt(value)) @ direction)
    order = best_order(mean)
    return mean[:, order], (1 / np.maximum(size, 1e-3) ** 2)[order]


def _individuals(annotations: Annotations, group: npt.NDArray[np.int64], answers: F8, means: F8, prior: F8) -> F8:
    """A_w^T = E[x_w x_g^T] (diag(prior) μ_g^T)^-1, with g another group than the worker's, averaged over both."""
    m, k = annotations.n_workers, annotations.n_classes
    weight = np.ones(len(annotations)) if annotations.weight is None else annotations.weight
    out = np.zeros((m, k, k))
    for g in range(3):
        inverse = _inverse(prior[:, None] * means[g].T)  # observed by g, true
        joint = np.zeros((m * k, k))
        np.add.at(joint, annotations.cell, weight[:, None] * answers[g][annotations.task])
        confusion = (joint.reshape(m, k, k) @ inverse).transpose(0, 2, 1)  # worker, true, observed
        confusion = np.maximum(confusion, 1e-6)
        out += np.where((group != g)[:, None, None], confusion / confusion.sum(axis=2, keepdims=True), 0.0)
    return np.asarray(out / out.sum(axis=2, keepdims=True))


def _inverse(matrix: F8) -> F8:
    return np.asarray(np.linalg.pinv(matrix + RIDGE * np.eye(len(matrix)), rcond=1e-3), dtype=np.float64)
