"""Hooks that several kinds share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.kind import KindHooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from ..core.result import Result
    from ..core.votes import Votes
    from ..evaluation.statement import Statement

    F8 = npt.NDArray[np.float64]


class CommonHooks(KindHooks):
    """Hooks that work for any kind with the others in place."""

    def votes_html(self, votes: Votes[Any]) -> str:
        from ..plots.notebook import votes_html

        return votes_html(votes)

    def result_html(self, result: Result) -> str:
        from ..plots.notebook import result_html

        return result_html(result)

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:
        from ..evaluation.distance_based import compare_alike

        return self.call(compare_alike, votes, methods, **options)


class DecidedHooks(CommonHooks):
    """For kinds whose answers are right or wrong: `decisions` is what they add."""

    def calibrate(self, result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:
        from ..evaluation.calibration import calibrate

        return calibrate(result, votes, gold, prior=prior)

    def statement(self, result: Result, error: float) -> Statement:
        from ..evaluation.calibration import trust

        return trust(result, error)
