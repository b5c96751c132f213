"""What is in a set of comparisons, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.describe import common
from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from ..hooks import DecidedHooks
from .answers import ComparisonCoder, Comparisons, complete, fits, rows_of, told_by
from .maths.models import LEFT, TIE

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


def describe(votes: Votes[Comparisons]) -> dict[str, Any]:
    """Of comparisons also: items, pairs, ties, how often left wins, islands of the graph of items, agreement."""
    said, rows = votes.answers, rows_of(votes)
    decided = said.outcome != TIE
    seen = rows.component[rows.asked > 0]
    first = np.where(said.left <= said.right, said.outcome, np.array([1, 0, 2])[said.outcome])
    counts = np.zeros((votes.n_tasks, 3))
    np.add.at(counts, (votes.task, first), 1.0)
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    return {
        **common(votes),
        "items": len(said.items),
        "pairs": len(rows.pairs[0]),
        "ties": int((~decided).sum()),
        "left_wins": float((said.outcome[decided] == LEFT).mean()) if decided.any() else None,
        "item_components": len(np.unique(seen)),
        "largest_component": int((rows.component[rows.asked > 0] == 0).sum()),
        "pairwise_agreement": float((counts * (counts - 1)).sum()) / pairs if pairs else None,
    }


# ---------------------------------------------------------------- Comparisons as answers: A or B, with ties


def comparison_votes(
    left: Any,
    right: Any,
    winner: Any,
    *,
    worker: Any = None,
    task: Any = None,
    prompt: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Comparisons]:
    """Votes from equally long columns: `winner` is left, right or tie, or the winning item's name.

    Without `task` each pair of items (and prompt) is one; without `worker` all rows are answers of one, `everyone`.

    >>> comparison_votes(["a", "a", "b"], ["b", "c", "c"], ["left", "tie", "c"], worker=["ann", "bob", "ann"])
    Votes(3 comparisons, 3 tasks, 2 workers)
    """
    named = {"task": task, "worker": worker, "prompt": prompt}
    columns = {"left": left, "right": right, "winner": winner, **{n: v for n, v in named.items() if v is not None}}
    notes, about, again = complete(columns)
    columns |= numbers
    if again and duplicates == "error":
        duplicates = "keep"
    how = {"duplicates": duplicates, "tasks": tasks, "workers": workers, "missing": missing, "notes": notes}
    votes: Votes[Comparisons] = Votes._of(encode(columns, partial(ComparisonCoder, items=items), **how))
    return votes if about is None else votes.about(tasks=about)


class ComparisonHooks(DecidedHooks):
    """What the other packages do for comparisons."""

    display_name = "comparisons"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import ComparisonEstimate, ComparisonWorkers

        return ComparisonEstimate, ComparisonWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .kind import describe

        return describe(votes)

    def result_html(self, result: Result) -> str:
        from ...plots.orders import html

        return html(result)

    def plots(self, result: Result) -> Any:
        from ...plots.orders import OrderPlots

        return OrderPlots(result)

    def model(self, result: Result) -> Model[Any] | None:
        from .fitting import model_of

        return model_of(result)

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
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from .workers import study_comparisons

        return self.call(study_comparisons, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from .workers import flag_comparisons

        return flag_comparisons(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import comparison_page

        return self.call(comparison_page, votes, result, **options)

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:
        from .scoring import read_truth

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
    name="comparisons",
    hooks=ComparisonHooks(),
    columns={"left": "left", "right": "right", "winner": "winner"},
    coder=ComparisonCoder,
    default="tournament",
    answers_word="comparisons",
    told_by=told_by,
    more_roles=("chosen", "rejected", "won_left", "won_right", "won_tie", "prompt", "topic"),
    fits_table=fits,
    complete=complete,
    may_lack=("task", "worker"),
)
