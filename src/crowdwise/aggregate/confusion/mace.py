"""MACE: a worker either knows the answer or spams, and every spammer has habits of their own.

    know_iw ~ Bern(theta_w),   y_iw = z_i if they know, else y_iw ~ Cat(xi_w),   z_i uniform

Hovy, Berg-Kirkpatrick, Vaswani & Hovy (2013), Learning whom to trust with MACE, NAACL, aclanthology.org/N13-1132.
EM with the spamming marginalised: confusion = theta I + (1 - theta) xi, so one pass of the shared kernel is the
E-step, and the expected numbers of known and spammed labels follow from its counts. Restarts weigh the workers'
first votes at random. Fails with workers who confuse particular classes: a worker has one habit, not one per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...engine.em import Fit, Passes, run
from ...maths.kernels import Stats, Workspace
from ..base import Learnt, Run, Spread, SpreadAggregator
from ..learnt import Under
from ..spread import Shape
from .base import counted
from .mace_model import Beliefs, Mode, Worker
from .starts import Start, Weighed, by_votes

F8 = npt.NDArray[np.float64]

# Passes from each start before the best start goes on alone.
PILOT = 20


@dataclass(frozen=True, kw_only=True)
class MACE(SpreadAggregator):
    """The mode under `smoothing` / K pseudo-counts (> 0, usually 0.01 to 1), or, with `variational`, beliefs
    Beta(`prior_know`, `prior_know`) on knowing and Dir(`prior_habit`) on the habits (Hovy's defaults 0.5 and 10).

    >>> from crowdwise import Annotations

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

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """A few passes from every start, then the best of them to the end."""
        if self.variational:
            model: Mode = Beliefs(self.prior_know, self.prior_habit)
        else:
            model = Mode(self.smoothing / votes.n_classes, self.smoothing / votes.n_classes)
        data: Passes[Workspace, Worker, Stats] = Passes(model, votes)
        pilot = min(PILOT, self.max_iter)
        begin = [data.start(partial(model.start, at=at)) for at in self.starts(votes)]
        fits = [run(data, stats, max_iter=pilot, tol=self.tol) for stats in begin]
        fit = best_start(fits)
        trace = fit.trace
        if not fit.converged and self.max_iter > pilot:
            fit = run(data, fit.stats, max_iter=self.max_iter - pilot, tol=self.tol, callback=run_.callback)
            trace = np.concatenate([trace, fit.trace])
        worker = model.mean(fit.stats)
        judge = Under(model, fit.params)
        counts = counted(votes, judge)
        return Learnt(
            judge=judge,
            class_prior=np.full(votes.n_classes, 1 / votes.n_classes),
            confusion=np.ascontiguousarray(worker.table().transpose(0, 2, 1)),
            counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
            trace=trace,
            n_iter=len(trace),
            converged=fit.converged,
            extra={
                "know": worker.know,
                "habit": worker.habit,
                "theta": np.ascontiguousarray(fit.params.table().transpose(0, 2, 1)),
            },
        )

    def starts(self, shape: Shape) -> list[Start]:
        """Vote shares, then votes under random weights of the workers: new starts that favour no class."""
        streams = map(np.random.default_rng, np.random.SeedSequence(self.seed).spawn(self.n_init - 1))
        return [by_votes, *(Weighed(rng.exponential(size=shape.n_workers)) for rng in streams)]


def best_start(fits: list[Fit[Worker, Stats]]) -> Fit[Worker, Stats]:
    """The first fit that no other beats by more than rounding."""
    top = max(fit.objective for fit in fits)
    return next(fit for fit in fits if fit.objective >= top - 1e-7 * max(1.0, abs(top)))
