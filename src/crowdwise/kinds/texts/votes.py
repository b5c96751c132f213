"""Free texts as answers: the record of their kind, and votes from columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ...core.intake.coding import encode
from ...core.intake.columns import KNOWN_AS, NAMED, TAKEN, TIME_NAMES
from ...core.kind import Kind
from ...core.votes import Votes
from ..describe import common
from .answers import TextCoder, Texts

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


KIND = Kind(
    name="texts",
    people="free texts",
    columns={"output": f"{NAMES} {LAST}"},
    coder=TextCoder,
    default="text_combined",
    answers_word="texts",
    told_by=told_by,
    dtypes=(pl.String(),),
    doors={
        "describe": "crowdwise.kinds.texts.votes:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "model": "crowdwise.aggregate.texts.model:model_of",
        "infer": "crowdwise.aggregate.texts.model:infer",
        "estimate": "crowdwise.kinds.texts.estimate:TextEstimate",
        "picture": "crowdwise.kinds.texts.estimate:TextWorkers",
        "decisions": "crowdwise.aggregate.texts.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.texts.shown:sentences",
        "worker_rows": "crowdwise.scoring.texts.shown:worker_rows",
        "show": "crowdwise.scoring.texts.shown:show",
        "inspect": "crowdwise.scoring.texts.shown:inspect",
        "evaluate": "crowdwise.scoring.texts.evaluate:evaluate",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "distance": "crowdwise.kinds.texts.answers:distance",
        "said": "crowdwise.scoring.texts.evaluate:said",
        "known": "crowdwise.scoring.texts.evaluate:known",
        "study": "crowdwise.workers.alike.study:study_alike",
        "flags": "crowdwise.workers.alike.study:flag_alike",
        "card": "crowdwise.plots.notebook:result_html",
        "page": "crowdwise.report.texts.page:text_page",
    },
)
