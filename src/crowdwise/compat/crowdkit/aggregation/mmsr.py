"""crowd-kit's MMSR: one-coin skills from pairwise agreement, robust to some adversarial workers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from ....core.arrays import F8
from ....kinds.classes.maths import moments
from ....kinds.classes.methods.spectral import _robust_mean, log_odds, upright
from .base import InputError
from .skills import SkillVote
from .table import CodedFrame, read


@dataclass(eq=False)
class MMSR(SkillVote):
    """Skills (log odds) from at most `n_iter` rounds, until they change by less than `tol`.

    The start is drawn with `random_state` as in crowd-kit; `loss_history_` holds the change of each round.

    Corrections: if some worker shares tasks with fewer than two others, crowd-kit drops a negative number of values,
    which keeps only the largest (here none is dropped). For the signs it treats pairs without common tasks as
    disagreeing, by an eigenvector from a random start (here the leading eigenvector of the observed agreement). A task
    with a negative sum of log odds has its order of classes reversed (see MajorityVote). Otherwise the skills are
    crowd-kit's.
    """

    SHARES: ClassVar[str] = "scores_"
    n_iter: int = 10_000
    tol: float = 1e-10
    random_state: int | None = 0
    scores_: Any = field(init=False, repr=False)
    loss_history_: list[float] = field(init=False, repr=False)

    def fit(self, data: Any) -> MMSR:
        """Fit to `data` with task, worker and at least two distinct labels."""
        table = read(data)
        votes, k = table.votes, table.votes.n_classes
        if k < 2:
            raise InputError(f"MMSR compares workers over two labels or more; the data hold {k}")
        agreement = moments.agreement(votes)
        self.loss_history_ = []
        if agreement.n.nnz == 0:  # no two workers share a task: equal skills
            self.skills_ = table.by_worker(np.ones(votes.n_workers), table.first["worker"], "skill")
            return self
        product = agreement.skill_products()
        size = self._sizes(table, product)
        sign = np.where(moments.leading(product)[1] < 0, -1.0, 1.0)
        margin = 1 / np.sqrt(votes.n_tasks)  # crowd-kit's bounds, even if they cross for very few tasks
        skill = np.maximum(np.minimum(upright(votes, sign * size), 1 - margin), margin - 1 / (k - 1))
        self.skills_ = table.by_worker(log_odds(skill, k), table.first["worker"], "skill")
        return self

    def predict_score(self, data: Any) -> Any:
        """scores_ of the data: one row a task, one column a class."""
        return self._apply(data).scores_

    def fit_predict(self, data: Any) -> Any:
        """fit, then predict on the same data."""
        return self.fit(data).predict(data)

    def fit_predict_score(self, data: Any) -> Any:
        """fit, then predict_score on the same data."""
        return self.fit(data).predict_score(data)

    def _sizes(self, table: CodedFrame, product: Any) -> F8:
        """Return |s| by alternating robust means, from crowd-kit's start; workers without common tasks get the mean."""
        m, order = product.shape[0], table.first["worker"]
        degree = np.diff(product.indptr)
        drop = max(int(degree[degree > 0].min()) // 2 - 1, 0)
        row, x, other = np.repeat(np.arange(m), degree), np.abs(product.data), product.indices
        tiny = 1 / np.sqrt(table.votes.n_tasks)
        u = np.empty(m)
        u[order] = np.random.RandomState(self.random_state).uniform(size=m)
        v = u.copy()

        def update(now: F8, by: F8) -> F8:
            new = _robust_mean(x / np.where(by[other] > 0, by[other], tiny), row, degree, now, drop, 0.0)
            return np.where(new > 0, new, tiny)

        for _ in range(self.n_iter):
            old_u, old_v = u, v
            v = update(v, u)
            u = update(u, v)
            # ||u v^T - old_u old_v^T|| without the tables, as of rank two: cancellation would hide small moves
            self.loss_history_.append(_distance(u, v, old_u, old_v))
            if self.loss_history_[-1] < self.tol:
                break
        size = u / np.sqrt(np.linalg.norm(u) / np.linalg.norm(v))
        return np.asarray(np.where(degree > 0, size, size[degree > 0].mean()))


def _distance(u: F8, v: F8, old_u: F8, old_v: F8) -> float:
    """Frobenius norm of u v^T - old_u old_v^T = (u - old_u) v^T + old_u (v - old_v)^T."""
    du, dv = u - old_u, v - old_v
    square = float((du @ du) * (v @ v) + (old_u @ old_u) * (dv @ dv) + 2 * (du @ old_u) * (v @ dv))
    return float(np.sqrt(max(square, 0.0)))
