"""One coin pair: a worker names what is true with one probability and what is not with another, whatever the class.

    member[i, k] ~ Bernoulli(rate[k]),   named[w, i, k] ~ Bernoulli(hits[w] if member[i, k] else alarms[w])

Two numbers a worker suffice where classes are alike and answers few. Fails where some classes are missed by everybody.
The two-coin model of Raykar et al. (2010), jmlr v11/raykar10a, over all classes at once.
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
from ...maths.sets.em import Pseudo, SetModel
from ...maths.sets.rows import SetRows
from .base import SetAggregator, SetSolution


@dataclass(frozen=True, kw_only=True)
class SetCoin(SetAggregator):
    """Ends when no probability moves by more than `tol`, or after `max_iter` passes.

    `prior_strength` (answers) is the weight of what is believed of a worker before their first answer: 8 in 10 hits,
    and false alarms as often as a class is named at all; `prior_rate` (tasks) that of a class being in half the sets.

    >>> from crowdwise.kinds.sets.votes import set_votes
    >>> votes = set_votes([1, 1, 2, 2], [*"abab"], [["x"], ["x", "y"], ["y"], ["y"]])
    >>> SetCoin().fit(votes).sets[1]
    ['y']
    """

    name: ClassVar[str] = "set_coin"
    max_iter: Count = 500
    tol: NonNegative = 1e-5
    prior_strength: Positive = 2.0
    prior_rate: Positive = 1.0

    def solve(
        self,
        votes: Votes[Sets],  # noqa: ARG002
        rows: SetRows,
        gold: npt.NDArray[np.int8] | None,
        callback: Callback | None,
    ) -> SetSolution:
        """EM from the shares of the answers."""
        model = SetModel(rows, gold, tied=True)
        posterior = model.clamp(rows.shares())
        offered = float(rows.offered.sum())
        usual = min(float(rows.said.sum()) / offered, 0.2) if offered else 0.2
        yes, no = self.prior_strength * 0.8, self.prior_strength * 0.2
        low = self.prior_strength * max(usual, 1e-3)
        each = [np.asarray(count) for count in (yes, no, low, self.prior_strength - low)]
        pseudo = Pseudo(each[0], each[1], each[2], each[3], self.prior_rate)
        trace: list[float] = []
        settled = False
        while len(trace) < self.max_iter and not settled:
            rates = model.rates(model.counts(posterior), pseudo)
            before = posterior
            posterior, objective = model.posterior(rates, pseudo)
            settled = float(np.abs(posterior - before).max(initial=0.0)) <= self.tol
            trace.append(objective)
            if callback is not None:
                callback(len(trace), objective)
        hits, alarms = (np.array(each) for each in model.full(rates))
        stage = np.zeros(len(trace), dtype=np.int64)
        return SetSolution(posterior, rates.rate, hits, alarms, np.array(trace), stage, len(trace), settled)
