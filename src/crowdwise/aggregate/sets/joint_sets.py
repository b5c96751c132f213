"""Joint sets: hits and false alarms of each worker and class, where classes and workers share what they can.

    member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w, k] if member[i, k] else alarms[w, k])
    hits[w, k] ~ Beta(strength[k] · m[w, k]),   logit m[w, k] = logit(pooled hits of class k) + shift[w]

and the same for alarms. A class that is easy to miss is so for everybody, a worker who names little does so for every
class: the shift carries what is learnt of a worker on common classes over to rare ones. Hierarchical Dawid-Skene for
each class, joined by the shifts; logit effects as in Carpenter (2008), Multilevel Bayesian models of categorical data
annotation.

Rounds of EM at fixed priors, each followed by learning shifts and strengths from the expected counts. Fails where
classes exclude or demand each other: each is judged by itself given the workers. `shifts=False` leaves the workers'
shifts out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.params import Count, NonNegative, Positive
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.sets.answers import Sets
from ...maths.sets.em import SetModel
from ...maths.sets.joint import SetCrowd
from ...maths.sets.rows import SetRows
from .base import SetAggregator, SetSolution

# EM passes at one prior; the passes of a round never lower that round's objective.
PASSES = 5
# Rounds in which shifts and strengths are learnt; later ones would only trade places between neighbours on the grid.
LEARNING = 40


@dataclass(frozen=True, kw_only=True)
class JointSets(SetAggregator):
    """Ends when no probability moves by more than `tol` in a round, or after `max_iter` passes.

    `prior_strength` (answers) is the weight of what is believed of a class before it is first named, `prior_rate`
    (tasks) that of a class being in half of all sets; `shifts` lets workers name more or less than the crowd.

    >>> from crowdwise.kinds.sets.votes import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> JointSets().fit(votes).sets
    [['x'], ['y']]
    """

    name: ClassVar[str] = "joint_sets"
    calibrates: ClassVar[bool] = True
    max_iter: Count = 1000
    tol: NonNegative = 1e-3
    prior_strength: Positive = 1.25
    prior_rate: Positive = 1.0
    shifts: bool = True

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """Rounds of EM, each under the prior that the last round's counts call for."""
        model = SetModel(rows, gold)
        posterior = model.clamp(rows.shares())
        crowd = SetCrowd.start(rows.n_workers, rows.n_classes)
        counts = model.counts(posterior)
        trace: list[float] = []
        stage: list[int] = []
        passes, settled, turn = 0, False, 0
        while passes < self.max_iter and not settled:
            if turn < LEARNING:  # then the prior stands, and EM settles under it
                crowd = crowd.learn(counts, self.prior_strength, shifts=self.shifts)
            pseudo, before = crowd.pseudo(self.prior_rate), posterior
            for _ in range(min(PASSES, self.max_iter - passes)):
                rates = model.rates(counts, pseudo)
                posterior, objective = model.posterior(rates, pseudo)
                counts = model.counts(posterior)
                trace.append(objective)
                stage.append(turn)
                passes += 1
            settled = turn > 0 and float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            turn += 1
            if callback is not None:
                callback(passes, trace[-1])
        extra = {"strength_hits": crowd.hits.strength, "strength_alarms": crowd.alarms.strength}
        extra |= {"shift_hits": crowd.hits.shift, "shift_alarms": crowd.alarms.shift}
        return SetSolution(
            posterior, rates.rate, rates.hits, rates.alarms, np.array(trace), np.array(stage), passes, settled, extra
        )
