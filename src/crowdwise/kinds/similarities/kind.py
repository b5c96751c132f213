"""The kind `similarities`: whether two items are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import CommonHooks
from .answers import SimilarityCoder, accepts, detect_columns, fill_columns

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


class SimilarityHooks(CommonHooks):
    """Hooks of same-or-different answers."""

    display_name = "same-or-different answers"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import SimilarityEstimate, SimilarityWorkers

        return SimilarityEstimate, SimilarityWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe

        return describe(votes)

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import ClusterPlots

        return ClusterPlots(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .fitting import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def statement(self, result: Result, error: float) -> Statement:
        from ..classes.scoring.summaries import trust_clusters

        return trust_clusters(result, error)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from .scoring import sentences

        return sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from .workers import worker_rows

        return worker_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_similarities

        return self.call(study_similarities, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_similarities

        return flag_similarities(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import similarity_page

        return self.call(similarity_page, votes, result, **options)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .answers import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .fitting import estimated_answers

        return estimated_answers(votes, result)


KIND = Kind(
    name="similarities",
    hooks=SimilarityHooks(),
    columns={"left": "left", "right": "right", "same": "same"},
    coder=SimilarityCoder,
    default="clusters",
    answers_word="pairs",
    detect_columns=detect_columns,
    more_roles=("partition", "items"),
    accepts_table=accepts,
    fill_columns=fill_columns,
    may_lack=("task", "worker"),
)
