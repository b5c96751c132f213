"""The record of the kind: which of two items is more like a third."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import TripletCoder, complete, told_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


class TripletHooks(DecidedHooks):
    """What the other packages do for triplets."""

    display_name = "triplets"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import TripletEstimate, TripletWorkers

        return TripletEstimate, TripletWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe

        return describe(votes)

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import TripletPlots

        return TripletPlots(result)

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:
        from .fitting import infer

        return infer(result, votes, unknown_workers)

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def decisions(self) -> Decided:
        from .fitting import decided

        return decided()

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
        from .workers import study_triplets

        return self.call(study_triplets, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_triplets

        return flag_triplets(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import triplet_page

        return self.call(triplet_page, votes, result, **options)

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        from .fitting import read_truth

        return read_truth(frame)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .answers import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .fitting import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .fitting import known

        return known(votes, gold)


KIND = Kind(
    name="triplets",
    hooks=TripletHooks(),
    columns={"head": "head", "left": "left", "right": "right", "closer": "closer"},
    coder=TripletCoder,
    default="crowd_embedding",
    answers_word="triplets",
    told_by=told_by,
    complete=complete,
    may_lack=("task", "worker"),
)
