"""The kind `rankings`: rankings of several items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import CommonHooks
from .answers import NAMES, RankingCoder, accepts, detect_columns, explain_detection

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.scores import Table
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


class RankingHooks(CommonHooks):
    """Hooks of rankings."""

    display_name = "rankings"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import RankingEstimate, RankingWorkers

        return RankingEstimate, RankingWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe

        return describe(votes)

    def result_html(self, result: Result) -> str:
        from ...plots.orders import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots.orders import OrderPlots

        return OrderPlots(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .methods import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def statement(self, result: Result, error: float) -> Statement:
        from ..classes.scoring.summaries import trust_rankings

        return trust_rankings(result, error)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from .scoring import sentences

        return sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_rankings

        return self.call(study_rankings, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_rankings

        return flag_rankings(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import ranking_page

        return self.call(ranking_page, votes, result, **options)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .answers import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .fitting import estimated_answers

        return estimated_answers(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .fitting import gold_answers

        return gold_answers(votes, gold)


KIND = Kind(
    name="rankings",
    hooks=RankingHooks(),
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
