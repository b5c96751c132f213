"""The kind `rankings`: rankings of several items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DistanceHooks
from .answers import NAMES, RankingCoder, accepts, detect_columns, explain_detection, ranking_votes

if TYPE_CHECKING:
    from ...core.arrays import F8
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet


class RankingHooks(DistanceHooks):
    """Hooks of rankings."""

    display_name = "rankings"
    score_name = "Kendall's tau"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import RankingEstimate, RankingWorkers

        return RankingEstimate, RankingWorkers

    def result_html(self, result: Result) -> str:
        from ...plots.orders import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots.orders import OrderPlots

        return OrderPlots(result)

    def statement(self, result: Result, error: float) -> Statement:
        from ..classes.scoring.summaries import trust_rankings

        return trust_rankings(result, error)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import ranking_page

        return self.call(ranking_page, votes, result, **options)

    def score_of_distance(self, distance: F8) -> F8:
        return 1.0 - 2.0 * distance

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .fitting import gold_answers

        return gold_answers(votes, gold)


KIND = Kind(
    name="rankings",
    hooks=RankingHooks(),
    constructor=ranking_votes,
    columns={"ranking": " ".join(NAMES)},
    coder=RankingCoder,
    default="podium",
    answers_word="rankings",
    detect_columns=detect_columns,
    accepts_table=lambda columns: all(
        column.name.strip().lower() == "ranking" or accepts(column) for column in columns.values()
    ),
    explain_detection=explain_detection,
    from_labels=True,
)
