"""The kind `comparisons`: which of two items is better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import ComparisonCoder, accepts, comparison_votes, detect_columns, fill_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from ...core.arrays import F8
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...judges.study import Judges
    from ...report.sheet import Sheet


class ComparisonHooks(DecidedHooks):
    """Hooks of comparisons."""

    display_name = "comparisons"
    loss_name = "probability of a wrong outcome"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import ComparisonEstimate, ComparisonWorkers

        return ComparisonEstimate, ComparisonWorkers

    def result_html(self, result: Result) -> str:
        from ...plots.orders import html

        return html(result)

    def expected_loss(self, votes: Votes[Any], result: Result) -> F8:  # noqa: ARG002
        _, confidence = self.decisions().of(result)
        return 1.0 - confidence

    def plots(self, result: Result) -> Any:
        from ...plots.orders import OrderPlots

        return OrderPlots(result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import comparison_page

        return self.call(comparison_page, votes, result, **options)

    def as_classes(self, votes: Votes[Any], gold: Any = None, systems: Sequence[str] | None = None) -> tuple[Any, Any]:
        from .systems import as_systems

        return as_systems(votes, gold, systems)

    def judges(self, votes: Votes[Any], gold: Any = None, **options: Any) -> Judges:
        from ...judges.study import judges

        return self.call(judges, votes, gold, **options)

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        from .scoring import read_truth

        return read_truth(frame)


KIND = Kind(
    name="comparisons",
    hooks=ComparisonHooks(),
    constructor=comparison_votes,
    columns={"left": "left", "right": "right", "winner": "winner"},
    coder=ComparisonCoder,
    default="tournament",
    answers_word="comparisons",
    detect_columns=detect_columns,
    more_roles=("chosen", "rejected", "won_left", "won_right", "won_tie", "prompt", "topic", "judge_prompt"),
    accepts_table=accepts,
    fill_columns=fill_columns,
    may_lack=("task", "worker"),
)
