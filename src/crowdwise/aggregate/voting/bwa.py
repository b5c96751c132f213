"""BWA: Bayesian weighted average. Labels are noisy readings of a real vector; precise workers weigh more.

    z_i ~ N(mu, I / strength),   onehot(y_iw) ~ N(z_i, I / v_w),   v_w ~ Gamma(prior_labels / 2)

Li, Rubinstein & Cohn (2019), Truth inference at scale: a Bayesian model for adjudicating highly redundant
crowd annotations, WWW, doi:10.1145/3308558.3313459. Coordinate ascent from the vote shares; all three steps maximise
one objective, so it never falls. One number per worker and no class confusion: steady where confusion matrices drift.
Fails with class-biased workers, and its probabilities are shares of weight, not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...kinds.classes.annotations import Annotations
from ...maths.logspace import shares
from ..base import Aggregator, Run, Solution
from ..confusion.base import vote_shares
from ..gold import Gold
from .base import scores

F8 = npt.NDArray[np.float64]

# Mean squared residual of a unanimous crowd: without it the precisions would have no bound.
RESIDUAL_FLOOR = 1e-3


@dataclass(frozen=True, kw_only=True)
class BWA(Aggregator):
    """`strength` (> 0) holds the tasks to their common mean; `prior_labels` (> 0) is the weight, in labels, of the
    crowd's residual in each worker's precision. Ends when no z moves by more than `tol`.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> BWA().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "bwa"
    strength: Positive = 1.0
    prior_labels: Positive = 15.0
    max_iter: Count = 500
    tol: NonNegative = 1e-4

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Precisions, tasks, mean in turn."""
        z = vote_shares(annotations, gold)
        mu = z.mean(axis=0)
        n, residual = residuals(annotations, z)
        crowd = residual.sum() / n.sum() if n.sum() > 0 else 0.0
        b = self.prior_labels * max(float(crowd), RESIDUAL_FLOOR)
        trace: list[float] = []
        converged = False
        while len(trace) < self.max_iter and not converged:
            v = (self.prior_labels + n) / (b + residual)
            new = shares(self.strength * mu + scores(annotations, v))  # mu sums to one, so shares are the means
            new = new if gold is None else gold.clamp(new)
            converged = bool(np.abs(new - z).max() <= self.tol)
            z, mu = new, new.mean(axis=0)
            _, residual = residuals(annotations, z)
            # Counting n where a density would count K · n, as the authors' code does, tempers the normaliser only:
            # all three steps still maximise this one objective.
            fit = ((self.prior_labels + n) * np.log(v) - v * (b + residual)).sum()
            trace.append(float(fit - self.strength * ((z - mu) ** 2).sum()) / 2)
            if run.callback is not None:
                run.callback(len(trace), trace[-1])
        # One last vote under v and mu, so that the posterior belongs to what `infer` uses.
        posterior = shares(self.strength * mu + scores(annotations, v))
        return Solution(
            posterior=posterior if gold is None else gold.clamp(posterior),
            class_prior=mu,
            trace=np.array(trace),
            n_iter=len(trace),
            converged=converged,
            extra={"vote_weight": v, "vote_scale": None, "vote_prior": self.strength * mu},
        )


def residuals(annotations: Annotations, z: F8) -> tuple[F8, F8]:
    """Number of labels (with weights: their mass) and summed squared distance to z of each worker's labels."""
    # |onehot(l) - z|² = 1 - 2 z_l + |z|²
    each = 1 - 2 * z[annotations.task, annotations.label] + (z**2).sum(axis=1)[annotations.task]
    w = np.ones(len(each)) if annotations.weight is None else annotations.weight
    n, total = (np.bincount(annotations.worker, weights=x, minlength=annotations.n_workers) for x in (w, w * each))
    return n.astype(np.float64), total.astype(np.float64)
