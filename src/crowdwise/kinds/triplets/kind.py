"""The kind `triplets`: which of two items is more similar to a third."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import TripletCoder, detect_columns, fill_columns, triplet_votes

if TYPE_CHECKING:
    import polars as pl

    from ...core.arrays import F8
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class TripletHooks(DecidedHooks):
    """Hooks of triplets."""

    display_name = "triplets"
    loss_name = "probability of a wrong outcome"
    score_name = "accuracy"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import TripletEstimate, TripletWorkers

        return TripletEstimate, TripletWorkers

    def expected_loss(self, votes: Votes[Any], result: Result) -> F8:  # noqa: ARG002
        _, confidence = self.decisions().of(result)
        return 1.0 - confidence

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import TripletPlots

        return TripletPlots(result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import triplet_page

        return self.call(triplet_page, votes, result, **options)

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        from .fitting import read_truth

        return read_truth(frame)


KIND = Kind(
    name="triplets",
    hooks=TripletHooks(),
    constructor=triplet_votes,
    columns={"head": "head", "left": "left", "right": "right", "closer": "closer"},
    coder=TripletCoder,
    default="crowd_embedding",
    answers_word="triplets",
    detect_columns=detect_columns,
    fill_columns=fill_columns,
    may_lack=("task", "worker"),
)
