"""The kind `numbers`: ratings, prices, measurements, or several of them in one answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from ...core.kind import Kind
from ..hooks import PackageHooks
from .answers import NAMES, PART, NumberCoder, accepts, detect_columns, explain_detection, number_votes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ...core.arrays import F8
    from ...core.doubt import InputDoubt
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.method import Method
    from ...core.result import Result
    from ...core.votes import Votes
    from ...evaluation.guarantee.verdicts import Verdicts
    from ...evaluation.scores import Table
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet
    from ...workers.flags import Coefficient


class NumberHooks(PackageHooks):
    """Hooks of numbers."""

    display_name = "numbers"
    loss_name = "absolute error"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import NumberEstimate, NumberWorkers

        return NumberEstimate, NumberWorkers

    def doubts(self, votes: Votes[Any]) -> list[InputDoubt]:
        from .doubts import doubts

        return doubts(votes)

    def agreement(self, votes: Votes[Any], **options: Any) -> list[Coefficient]:
        from .workers import number_agreement

        return self.call(number_agreement, votes, **options)

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .scoring import describe_numbers

        return describe_numbers(votes)

    def result_html(self, result: Result) -> str:
        from ...plots.numbers import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots.numbers import NumberPlots

        return NumberPlots(result)

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:
        from .scoring import compare

        return self.call(compare, votes, methods, **options)

    def statement(self, result: Result, error: float) -> Statement:
        from .scoring import trust

        return trust(result, error)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        from ..classes.scoring.summaries import number_sentences

        return number_sentences(votes, result)

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import number_rows

        return number_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from ..classes.scoring.summaries import show_numbers

        return show_numbers(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from ..classes.scoring.summaries import inspect_numbers

        return inspect_numbers(facts, limit)

    def alpha(self, votes: Votes[Any]) -> float | None:
        from .workers import interval_alpha

        return interval_alpha(votes)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import number_page

        return self.call(number_page, votes, result, **options)

    def verdicts(self, result: Result) -> Verdicts:
        from ...evaluation.guarantee.verdicts import number_verdicts

        return number_verdicts(result)

    def expected_loss(self, votes: Votes[Any], result: Result) -> F8:
        from .scoring import expected_errors

        return expected_errors(votes, result)

    def one_worker(self) -> Method:
        from .methods import Mean

        return Mean()

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:
        from ...io.read import read_number_truth

        return read_number_truth(path, missing=missing)


KIND = Kind(
    name="numbers",
    hooks=NumberHooks(),
    constructor=number_votes,
    columns={"value": NAMES},
    coder=NumberCoder,
    default="combined",
    answers_word="numbers",
    detect_columns=detect_columns,
    more_roles=(f"{PART}*",),
    accepts=accepts,
    explain_detection=explain_detection,
    dtypes=(pl.Float64(), pl.Int64()),
)
