"""The page of a crowd that marks spans: what every page has, and the texts with their spans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.spans.answers import Spans
from ...scoring.evaluate import evaluate
from ...scoring.scored import Table
from ..page import fragment
from ..plain_page import plain_page
from ..sheet import Section, Sheet
from .texts import marked_texts


def span_page(votes: Votes[Spans], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """All sections (see `report.render`)."""
    sheet = plain_page(votes, result)
    tasks, known = marked_texts(votes, result)
    texts = Section("texts", "Texts", "Spans in their texts", fragment("spans/texts.html.j2", tasks=tasks, known=known))
    sections = [*sheet.sections[:1], texts, *sheet.sections[1:]]
    if truth is not None:
        sections.append(Section("truth", "Truth", "Against the truth", _judged(result, truth, blind)))
    return replace(sheet, sections=sections)


def _judged(result: Result, truth: Any, blind: Result | None) -> Any:
    """Scores of the fit that was not told the truth."""
    scores = evaluate(result if blind is None else blind, truth, resamples=200)
    title = f"Scores over {scores.n:,} tasks"
    return fragment("tables.html.j2", tables=[Table(title, ["", "value", "95 % interval"], scores.rows())])
