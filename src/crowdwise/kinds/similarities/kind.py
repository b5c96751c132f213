"""The kind `similarities`: whether two items are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DistanceHooks
from .answers import SimilarityCoder, accepts, detect_columns, fill_columns, similarity_votes

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet


class SimilarityHooks(DistanceHooks):
    """Hooks of same-or-different answers."""

    display_name = "same-or-different answers"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import SimilarityEstimate, SimilarityWorkers

        return SimilarityEstimate, SimilarityWorkers

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import ClusterPlots

        return ClusterPlots(result)

    def statement(self, result: Result, error: float) -> Statement:
        from ..classes.scoring.summaries import trust_clusters

        return trust_clusters(result, error)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import similarity_page

        return self.call(similarity_page, votes, result, **options)


KIND = Kind(
    name="similarities",
    hooks=SimilarityHooks(),
    constructor=similarity_votes,
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
