"""Workers as signals with a shift, a gap and a spread, by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.params import Count
from ...core.rules import Above, Between
from ...maths.numbers.rows import F8, Rows
from ...maths.probabilities.fit import Fit
from ...maths.probabilities.signals import HELD, judged, signals
from .base import ProbabilityAggregator


@dataclass(frozen=True, kw_only=True)
class Signals(ProbabilityAggregator):
    """A worker's log odds stand around their own shift, above it for true tasks and below it for others, by EM.

    So a worker who says "likely" of everything moves nothing, and one who is wary moves as much as one who is not.
    The evidence is divided by how much workers err together. `held`: answers that the crowd counts for in each worker.

    >>> import crowdwise as cw
    >>> made = cw.simulate.scenario("probabilities_plain", tasks=200, workers=20, seed=1)
    >>> bool(((Signals().fit(made.votes).probability > 0.5) == made.truth).mean() > 0.9)
    True
    """

    name: ClassVar[str] = "signals"
    held: Annotated[float, Above(0)] = HELD
    max_iter: Count = 200
    tol: Annotated[float, Between(0.0, 1.0)] = 1e-8

    def solve(self, rows: Rows, gold: F8 | None) -> Fit:
        """See the class."""
        return signals(rows, gold, self.clip, self.held, self.max_iter, self.tol)

    def judge(self, rows: Rows, fit: Fit) -> F8:
        """What other rows of the same workers say."""
        return judged(rows, fit, self.clip)
