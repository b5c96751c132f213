"""What is in a set of votes of spans, and how far two answers are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.describe import common
from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.side_tables import column_by
from ...core.votes import Votes
from ..hooks import DecidedHooks
from .answers import SpanCoder, Spans, parse
from .maths import apart, nested, totals

if TYPE_CHECKING:
    from ...core.estimate import Estimate, WorkerPicture
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]


def describe(votes: Votes[Spans]) -> dict[str, Any]:
    """Of spans also: how many, how long, of which tags, and whether the texts are known."""
    rows, tags = votes.answers.rows, votes.answers.tags
    length = rows.end - rows.start
    text = column_by(votes.about_tasks, "text", votes.tasks)
    count = np.bincount(rows.tag, minlength=len(tags)).tolist()
    return {
        **common(votes),
        "spans": len(length),
        "spans_per_answer": len(length) / max(len(votes), 1),
        "span_length": {
            "min": int(length.min(initial=0)) if not len(length) else int(length.min()),
            "median": float(np.median(length)) if len(length) else 0.0,
            "max": int(length.max(initial=0)),
        },
        "answers_that_mark_nothing": int((totals(rows) == 0).sum()),
        "answers_with_overlapping_tags": int(nested(rows).sum()),
        "tag_counts": dict(zip(tags.cast(pl.String).to_list(), count, strict=True)),
        "tasks_with_text": 0 if text is None else int(text.is_not_null().sum()),
    }


def distance(answers: Spans, i: npt.NDArray[np.int64], j: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """1 - F1 of what two answers mark with the same tag; 0 where both mark nothing."""
    return apart(answers.rows, np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64))


# ----------------------------------------------------------------
# Spans of a text as answers: the record of their kind, and votes from columns.

NAMES = "spans entities"


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """A column that is called spans or entities."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    for name in NAMES.split():
        if name in plain:
            return {"spans": plain[name]}
    return None


def claims(answers: pl.Series) -> str:
    """Why answers are spans: all that are not empty are lists of [start, end], with or without a tag."""
    some = [value for value in answers.drop_nulls().head(500).to_list() if value not in ("", "[]", [])]
    try:
        found = [parse(value) for value in some]
    except ValueError:
        return ""
    return "lists of [start, end], as in " + str(some[0])[:40] if found and all(found) else ""


def span_votes(
    task: Any,
    worker: Any,
    spans: Any,
    *,
    texts: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Spans]:
    """Votes from equally long columns: `spans` are lists (or JSON) of [start, end] or [start, end, tag].

    `texts` (task -> text) are the texts that they are about, where they are known.

    >>> span_votes([1, 1], ["ann", "bob"], [[[0, 3, "PER"]], [[0, 7, "PER"]]], texts={1: "Ann Lee sings"})
    Votes(2 lists of spans, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "spans": spans, **numbers}
    coded = encode(columns, SpanCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    votes: Votes[Spans] = Votes._of(coded)
    if texts is None:
        return votes
    table = pl.DataFrame({"task": list(texts), "text": list(texts.values())}) if isinstance(texts, Mapping) else texts
    return votes.about(tasks=table)


class SpanHooks(DecidedHooks):
    """What the other packages do for spans of a text."""

    display_name = "spans of a text"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import SpanEstimate, SpanWorkers

        return SpanEstimate, SpanWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .kind import describe

        return describe(votes)

    def plots(self, result: Result) -> Any:
        from ...plots.shapes import SpanPlots

        return SpanPlots(result)

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
        from ...workers.tables import span_rows

        return span_rows(result, limit)

    def show(self, result: Result) -> tuple[str, list[Table]]:
        from .scoring import show

        return show(result)

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        from .scoring import inspect

        return inspect(facts, limit)

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from ...workers.distance_based import study_alike

        return self.call(study_alike, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from ...workers.distance_based import flag_alike

        return flag_alike(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import span_page

        return self.call(span_page, votes, result, **options)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .kind import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .scoring import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .scoring import known

        return known(votes, gold)


KIND = Kind(
    name="spans",
    hooks=SpanHooks(),
    columns={"spans": NAMES},
    coder=SpanCoder,
    default="span_combined",
    answers_word="lists of spans",
    told_by=told_by,
    claims=claims,
    dtypes=(pl.String(),),
    blank="[]",
    along=("text",),
)
