"""BWA: Bayesian weighted average. Labels are noisy readings of a real vector; precise workers weigh more.

    z_i ~ N(mu, I / strength),   onehot(y_iw) ~ N(z_i, I / v_w),   v_w ~ Gamma(prior_labels / 2)

Li, Rubinstein & Cohn (2019), Truth inference at scale: a Bayesian model for adjudicating highly redundant
crowd annotations, WWW, doi:10.1145/3308558.3313459. Coordinate ascent from the vote shares; all three steps maximise
one objective, so it never falls. One number per worker and no class confusion: steady where confusion matrices drift.
Fails with class-biased workers, and its probabilities are shares of weight, not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...maths.kernels import Workspace
from ...maths.logspace import shares
from ...maths.rows import LabelRows
from ..base import Learnt, Run, SpreadAggregator
from ..spread import Spread, clamped
from .base import scores
from .split import WeightedVote

F8 = npt.NDArray[np.float64]

# Mean squared residual of a unanimous crowd: without it the precisions would have no bound.
RESIDUAL_FLOOR = 1e-3


@dataclass(frozen=True, kw_only=True)
class BWA(SpreadAggregator):
    """`strength` (> 0) holds the tasks to their common mean; `prior_labels` (> 0) is the weight, in labels, of the
    crowd's residual in each worker's precision. Ends when no z moves by more than `tol`.

    >>> from crowdwise import Annotations

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> BWA().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "bwa"
    strength: Positive = 1.0
    prior_labels: Positive = 15.0
    max_iter: Count = 500
    tol: NonNegative = 1e-4

    def learn(self, data: Spread, run: Run) -> Learnt:
        """Precisions, tasks, mean in turn."""
        at: Place | None = None
        sums = data.sum(partial(_pass, None, None), _add)
        mu = sums.z / data.n_tasks
        n, residual = sums.n, sums.residual
        crowd = residual.sum() / n.sum() if n.sum() > 0 else 0.0
        b = self.prior_labels * max(float(crowd), RESIDUAL_FLOOR)
        trace: list[float] = []
        converged = False
        while len(trace) < self.max_iter and not converged:
            v = (self.prior_labels + n) / (b + residual)
            before, at = at, Place(v, self.strength * mu)
            sums = data.sum(partial(_pass, before, at), _add)
            converged = sums.moved <= self.tol
            mu, residual = sums.z / data.n_tasks, sums.residual
            # Counting n where a density would count K · n, as the authors' code does, tempers the normaliser only:
            # all three steps still maximise this one objective.
            fit = ((self.prior_labels + n) * np.log(v) - v * (b + residual)).sum()
            apart = sums.squares - data.n_tasks * float((mu**2).sum())  # the sum of |z - mu|²
            trace.append(float(fit - self.strength * apart) / 2)
            if run.callback is not None:
                run.callback(len(trace), trace[-1])
        # One last vote under v and mu, so that the posterior belongs to what `infer` uses.
        return Learnt(
            judge=WeightedVote(v, None, self.strength * mu),
            class_prior=mu,
            trace=np.array(trace),
            n_iter=len(trace),
            converged=converged,
            extra={"vote_weight": v, "vote_scale": None, "vote_prior": self.strength * mu},
        )


@dataclass(frozen=True, eq=False)
class Place:
    """Precisions of the workers and the pull of the common mean: what makes every z."""

    v: F8
    pull: F8


@dataclass(frozen=True)
class Sums:
    """Labels and summed squared distances to z of each worker, the sum of z and of |z|², and how far z moved."""

    n: F8
    residual: F8
    z: F8
    squares: float
    moved: float


def _add(a: Sums, b: Sums) -> Sums:
    moved = max(a.moved, b.moved)
    return Sums(a.n + b.n, a.residual + b.residual, a.z + b.z, a.squares + b.squares, moved)


def _pass(before: Place | None, at: Place | None, space: Workspace) -> Sums:
    """New z of a part's tasks and what they add up to; the old ones are made again where they are forgotten."""
    z = _z(space, at)
    moved = np.inf
    if at is not None:
        old = None if before is None else space.memory.recall(before)
        old = _z(space, before) if old is None else old
        moved = float(np.abs(z - old).max(initial=0.0))
        space.memory.keep(at, z)
    n, residual = residuals(space.shard, z)
    return Sums(n, residual, z.sum(axis=0), float((z**2).sum()), moved)


def _z(space: Workspace, at: Place | None) -> F8:
    """z[task, class]: mu sums to one, so shares are the means; at first, those of the votes."""
    score = space.shard.count_votes() if at is None else at.pull + scores(space.shard, at.v)
    return clamped(space, shares(score))


def residuals(votes: LabelRows, z: F8) -> tuple[F8, F8]:
    """Number of labels (with weights: their mass) and summed squared distance to z of each worker's labels."""
    # |onehot(l) - z|² = 1 - 2 z_l + |z|²
    each = 1 - 2 * z[votes.task, votes.label] + (z**2).sum(axis=1)[votes.task]
    w = np.ones(len(each)) if votes.weight is None else votes.weight
    n, total = (np.bincount(votes.worker, weights=x, minlength=votes.n_workers) for x in (w, w * each))
    return n.astype(np.float64), total.astype(np.float64)
