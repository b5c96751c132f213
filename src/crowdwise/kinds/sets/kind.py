"""The kind `sets`: several classes per answer, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.kind import Kind
from ..hooks import DecidedHooks
from .answers import NAMES, SetCoder, accepts, detect_columns, explain_detection, set_votes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from ...core.arrays import F8
    from ...core.estimate import Estimate, WorkerSummary
    from ...core.result import Result
    from ...core.votes import Votes
    from ...report.sheet import Sheet


class SetHooks(DecidedHooks):
    """Hooks of label sets."""

    display_name = "label sets"
    score_name = "F1 of the classes"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        from .estimate import SetPosterior, SetWorkers

        return SetPosterior, SetWorkers

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        from ...workers.tables import set_rows

        return set_rows(result, limit)

    def from_table(self, table: pl.DataFrame) -> Votes[Any]:
        from .answers import from_table

        return from_table(table)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import set_page

        return self.call(set_page, votes, result, **options)

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:
        from .reading import read_set_truth

        return read_set_truth(path, missing=missing)

    def task_scores(self, votes: Votes[Any], result: Result, gold: Any) -> tuple[Any, F8]:
        from .scoring import f1_of_tasks

        return f1_of_tasks(votes, result, gold)

    def offered(self, tasks: Any, offered: Any) -> list[Any]:
        from .reading import offered_in

        return offered_in(tasks, offered)


KIND = Kind(
    name="sets",
    hooks=SetHooks(),
    constructor=set_votes,
    columns={"labels": NAMES},
    coder=SetCoder,
    default="joint_sets",
    answers_word="label sets",
    detect_columns=detect_columns,
    more_roles=("offered",),
    accepts=accepts,
    explain_detection=explain_detection,
)
