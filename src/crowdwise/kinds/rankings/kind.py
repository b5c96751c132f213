"""What is in a set of rankings, as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.describe import common
from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from ..hooks import CommonHooks
from .answers import RankingCoder, Rankings, claims, fits, rows_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.result import Result
    from ...evaluation.scores import Table
    from ...evaluation.statement import Statement
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


def describe(votes: Votes[Rankings]) -> dict[str, Any]:
    """Of rankings also: items, list lengths, how many are whole, ties, and how often workers come back."""
    rows, _ = rows_of(votes)
    size, listed = votes.answers.size, np.diff(rows.begin)
    level = votes.answers.level
    row = np.repeat(np.arange(len(votes)), size)
    tied = np.zeros(len(votes), dtype=bool)
    if len(row):
        same = (np.diff(row) == 0) & (np.diff(level) == 0)
        tied[row[1:][same]] = True
    return {
        **common(votes),
        "items": len(votes.answers.items),
        "items_per_task": {"min": int(listed.min(initial=0)), "max": int(listed.max(initial=0))},
        "items_per_ranking": {"min": int(size.min()) if len(size) else 0, "max": int(size.max(initial=0))},
        "whole_rankings": int((size == listed[votes.task]).sum()) if len(votes) else 0,
        "rankings_with_ties": int(tied.sum()),
        "workers_with_several_rankings": int((votes.labels_per_worker > 1).sum()),
    }


# ----------------------------------------------------------------
# Rankings as answers: whole or partial orders of a task's items, with ties.

NAMES = ("ranking", "order", "ranks", "preference_order")


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """A column that is called ranking or the like."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    found = next((plain[name] for name in NAMES if name in plain), None)
    return None if found is None else {"ranking": found}


def ranking_votes(
    task: Any,
    worker: Any,
    ranking: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Rankings]:
    """Votes from equally long columns: `ranking` is text (a>b=c, a>b>...) or a list of items (of lists, where tied).

    >>> ranking_votes([1, 1], ["ann", "bob"], ["a>b>c", ["c", ["a", "b"]]])
    Votes(2 rankings, 1 tasks, 2 workers)
    """
    from .answers import written_lists

    columns = {"task": task, "worker": worker, "ranking": written_lists(ranking), **numbers}
    how: dict[str, Any] = {"duplicates": duplicates, "tasks": tasks, "workers": workers, "missing": missing}
    return Votes._of(encode(columns, partial(RankingCoder, items=items), **how))


class RankingHooks(CommonHooks):
    """What the other packages do for rankings."""

    display_name = "rankings"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import RankingEstimate, RankingWorkers

        return RankingEstimate, RankingWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .kind import describe

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
        from ..classes.scoring.shown import trust_rankings

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
        from .fitting import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .fitting import known

        return known(votes, gold)


KIND = Kind(
    name="rankings",
    hooks=RankingHooks(),
    columns={"ranking": " ".join(NAMES)},
    coder=RankingCoder,
    default="podium",
    answers_word="rankings",
    told_by=told_by,
    fits_table=lambda columns: all(
        column.name.strip().lower() == "ranking" or fits(column) for column in columns.values()
    ),
    claims=claims,
    from_labels=True,
)
