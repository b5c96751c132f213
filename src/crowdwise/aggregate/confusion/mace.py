"""MACE: a worker either knows the answer or spams, and every spammer has habits of their own.

    know_iw ~ Bern(theta_w),   y_iw = z_i if they know, else y_iw ~ Cat(xi_w),   z_i uniform

Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, NAACL, aclanthology.org/N13-1132.
EM with the spamming marginalised: confusion = theta I + (1 - theta) xi, so one pass of the shared kernel is the
E-step, and the expected numbers of known and spammed labels follow from its counts. Restarts weigh the workers'
first votes at random. Fails with workers who confuse particular classes: a worker has one habit, not one per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Fit, Shards, run
from ...kinds.classes.annotations import Annotations
from ...maths.logspace import shares
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from ..voting.base import scores
from .base import vote_shares
from .mace_model import Beliefs, Mode, Plain, Worker

F8 = npt.NDArray[np.float64]

# Passes from each start before the best start goes on alone.
PILOT = 20


@dataclass(frozen=True, kw_only=True)
class MACE(Aggregator):
    """The mode under `smoothing` / K pseudo-counts (> 0, usually 0.01 to 1), or, with `variational`, beliefs
    Beta(`prior_know`, `prior_know`) on knowing and Dir(`prior_habit`) on the habits (Hovy's defaults 0.5 and 10).

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> MACE().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "mace"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("know", "habit")
    smoothing: Positive = 1.0
    variational: bool = False
    prior_know: Positive = 0.5
    prior_habit: Positive = 10.0
    n_init: Count = 10
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def solve(self, annotations: Annotations, gold: Gold | None, run_: Run) -> Solution:
        """A few passes from every start, then the best of them to the end."""
        if self.variational:
            model: Mode = Beliefs(self.prior_know, self.prior_habit)
        else:
            model = Mode(self.smoothing / annotations.n_classes, self.smoothing / annotations.n_classes)
        data: Shards[Worker] = Shards(model, annotations, None if gold is None else gold.label, run_.n_shards)
        pilot = min(PILOT, self.max_iter)
        fits = [run(data, data.stats(q), max_iter=pilot, tol=self.tol) for q in self.starts(annotations, gold)]
        fit = best_start(fits)
        trace = fit.trace
        if not fit.converged and self.max_iter > pilot:
            fit = run(data, fit.stats, max_iter=self.max_iter - pilot, tol=self.tol, callback=run_.callback)
            trace = np.concatenate([trace, fit.trace])
        worker = model.mean(fit.stats)
        last = Shards(Plain(), annotations, None if gold is None else gold.label, run_.n_shards)
        return Solution(
            posterior=fit.posterior,
            class_prior=np.full(annotations.n_classes, 1 / annotations.n_classes),
            confusion=np.ascontiguousarray(worker.table().transpose(0, 2, 1)),
            counts=np.ascontiguousarray(last.stats(fit.posterior).counts.transpose(0, 2, 1)),
            trace=trace,
            n_iter=len(trace),
            converged=fit.converged,
            extra={
                "know": worker.know,
                "habit": worker.habit,
                "theta": np.ascontiguousarray(fit.params.table().transpose(0, 2, 1)),
            },
        )

    def starts(self, annotations: Annotations, gold: Gold | None) -> list[F8]:
        """Vote shares, then votes under random weights of the workers: new starts that favour no class."""
        found = [vote_shares(annotations, gold)]
        for stream in np.random.SeedSequence(self.seed).spawn(self.n_init - 1):
            weight = np.random.default_rng(stream).exponential(size=annotations.n_workers)
            drawn = shares(scores(annotations, weight))
            found.append(drawn if gold is None else gold.clamp(drawn))
        return found


def best_start(fits: list[Fit[Worker]]) -> Fit[Worker]:
    """The first fit that no other beats by more than rounding."""
    top = max(fit.objective for fit in fits)
    return next(fit for fit in fits if fit.objective >= top - 1e-7 * max(1.0, abs(top)))
