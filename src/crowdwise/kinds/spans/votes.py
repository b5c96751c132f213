"""Spans of a text as answers: the record of their kind, and votes from columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ...core.intake.coding import encode
from ...core.kind import Kind
from ...core.votes import Votes
from .answers import Spans
from .coder import SpanCoder, parse

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


KIND = Kind(
    name="spans",
    people="spans of a text",
    columns={"spans": NAMES},
    coder=SpanCoder,
    default="span_combined",
    answers_word="lists of spans",
    told_by=told_by,
    claims=claims,
    dtypes=(pl.String(),),
    blank="[]",
    along=("text",),
    doors={
        "describe": "crowdwise.kinds.spans.describe:describe",
        "html": "crowdwise.plots.notebook:votes_html",
        "model": "crowdwise.aggregate.spans.model:model_of",
        "infer": "crowdwise.aggregate.spans.model:infer",
        "estimate": "crowdwise.kinds.spans.estimate:SpanEstimate",
        "picture": "crowdwise.kinds.spans.estimate:SpanWorkers",
        "decisions": "crowdwise.aggregate.spans.decisions:decided",
        "calibrate": "crowdwise.aggregate.decisions.checked:calibrate",
        "trust": "crowdwise.scoring.decisions:trust",
        "sentences": "crowdwise.scoring.spans.shown:sentences",
        "worker_rows": "crowdwise.workers.f1_rows:span_rows",
        "show": "crowdwise.scoring.spans.shown:show",
        "inspect": "crowdwise.scoring.spans.shown:inspect",
        "evaluate": "crowdwise.scoring.spans.evaluate:evaluate",
        "compare": "crowdwise.scoring.alike.compare:compare_alike",
        "distance": "crowdwise.kinds.spans.describe:distance",
        "said": "crowdwise.scoring.spans.evaluate:said",
        "known": "crowdwise.scoring.spans.evaluate:known",
        "study": "crowdwise.workers.alike.study:study_alike",
        "flags": "crowdwise.workers.alike.study:flag_alike",
        "card": "crowdwise.plots.notebook:result_html",
        "plots": "crowdwise.plots.shapes:SpanPlots",
        "page": "crowdwise.report.spans.page:span_page",
    },
)
