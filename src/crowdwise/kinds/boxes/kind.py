"""The record of the kind: boxes drawn on pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import NAMES, BoxCoder, claims, fits, told_by

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


class BoxHooks(DecidedHooks):
    """What the other packages do for boxes."""

    display_name = "boxes"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import BoxEstimate, BoxWorkers

        return BoxEstimate, BoxWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe

        return describe(votes)

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import BoxPlots

        return BoxPlots(result)

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
        from .workers import study_boxes

        return self.call(study_boxes, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_boxes

        return flag_boxes(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import box_page

        return self.call(box_page, votes, result, **options)

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
    name="boxes",
    hooks=BoxHooks(),
    columns={"boxes": NAMES},
    coder=BoxCoder,
    default="box_clusters",
    answers_word="answers with boxes",
    told_by=told_by,
    fits=fits,
    claims=claims,
    dtypes=(pl.String(),),
    blank="[]",
)
