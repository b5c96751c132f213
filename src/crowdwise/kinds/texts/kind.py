"""Free texts as answers: the record of their kind, and votes from columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ...core.describe import common
from ...core.intake.coding import encode
from ...core.intake.columns import KNOWN_AS, NAMED, TAKEN, TIME_NAMES
from ...core.kind import Kind
from ...core.votes import Votes
from ..hooks import DecidedHooks
from .answers import TextCoder, Texts

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...core.estimate import Estimate, WorkerPicture
    from ...core.model import Model
    from ...core.result import Result
    from ...evaluation.calibration import Decided
    from ...evaluation.scores import Table
    from ...report.sheet import Sheet
    from ...workers.flags import Flag
    from ...workers.studied import Studied

    F8 = npt.NDArray[np.float64]

NAMES = "output transcription transcript translation"
# A column of this name is the answers only where nothing else could be.
LAST = "text"


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """A column that is called output, transcription or the like; or text, where there is nothing but ids besides."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    for name in NAMES.split():
        if name in plain:
            return {"output": plain[name]}
    usual = {*KNOWN_AS["task"].split(), *KNOWN_AS["worker"].split(), *TIME_NAMES, *TAKEN, *NAMED}
    return {"output": plain[LAST]} if LAST in plain and set(plain) <= usual else None


def text_votes(
    task: Any,
    worker: Any,
    output: Any,
    *,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Texts]:
    """Votes from equally long columns of which `output` holds texts; a blank one is no answer.

    >>> text_votes([1, 1], ["ann", "bob"], ["the cat sat", "a cat sat"])
    Votes(2 texts, 1 tasks, 2 workers)
    """
    columns: dict[str, Any] = {"task": task, "worker": worker, "output": output, **numbers}
    coded = encode(columns, TextCoder, duplicates=duplicates, tasks=tasks, workers=workers, missing=missing)
    return Votes._of(coded)


def describe(votes: Votes[Texts]) -> dict[str, Any]:
    """Of texts also: how many different ones, and how long they are."""
    size = votes.answers.word_runs.size[votes.answers.text]
    used = len(np.unique(votes.answers.text))
    words = {
        "min": int(size.min()) if len(size) else 0,
        "median": float(np.median(size)) if len(size) else 0.0,
        "max": int(size.max(initial=0)),
    }
    return {**common(votes), "different_texts": used, "words": words, "texts_without_words": int((size == 0).sum())}


class TextHooks(DecidedHooks):
    """What the other packages do for free texts."""

    display_name = "free texts"

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        from .estimate import TextEstimate, TextWorkers

        return TextEstimate, TextWorkers

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        from .kind import describe

        return describe(votes)

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
        from ...workers.distance_based import study_alike

        return self.call(study_alike, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from ...workers.distance_based import flag_alike

        return flag_alike(votes, result)

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:
        from .page import text_page

        return self.call(text_page, votes, result, **options)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        from .answers import distance

        return distance(answers, i, j)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        from .scoring import said

        return said(votes, result)

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        from .scoring import known

        return known(votes, gold)


KIND = Kind(
    name="texts",
    hooks=TextHooks(),
    columns={"output": f"{NAMES} {LAST}"},
    coder=TextCoder,
    default="text_combined",
    answers_word="texts",
    told_by=told_by,
    dtypes=(pl.String(),),
)
