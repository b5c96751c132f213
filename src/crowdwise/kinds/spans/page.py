"""The report page for spans."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...report.page import fragment, truth_section
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import percent, shown
from ...stats.ragged import starts
from .answers import Spans, texts_of
from .estimate import SpanEstimate

# ----------------------------------------------------------------
# Texts with marked spans, as pieces for the template.

# Maximum number of tasks; characters kept at both ends of long unmarked pieces; maximum characters of a text; number of
# shades.
MAX_TASKS, CONTEXT, MAX_LENGTH, LEVELS = 25, 80, 3000, 4


@dataclass(frozen=True)
class TextPiece:
    """A piece of text.

    Args:
        text: The text.
        level: Shade from 0 to 4, by the probability that the piece is marked.
        inside: Whether the piece is in an estimated span.
        tag: Tag of the span that ends here: "" for a span without a tag, None if no span ends here.
        sure: Confidence of the span that ends here.
    """

    text: str
    level: int
    inside: bool
    tag: str | None
    sure: str


@dataclass(frozen=True)
class ShownTask:
    """A task with its text in pieces, or with its spans as positions if the text is not known."""

    name: str
    confidence: str
    n_answers: int
    pieces: list[TextPiece]
    numbers: str


def marked_texts(votes: Votes[Spans], result: Result) -> tuple[list[ShownTask], bool]:
    """Return the least certain tasks, those with a text first, and whether any text is known."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    texts = texts_of(votes)
    has_text = np.array([text is not None for text in texts], dtype=bool)
    has_votes = votes.labels_per_task > 0
    confidence = estimate.confidence
    order = np.lexsort((confidence, ~has_text, ~has_votes))[: min(MAX_TASKS, int(has_votes.sum()))]
    units, spans = starts(estimate.n_units), starts(estimate.n_spans)
    out = []
    for t in order.tolist():
        text = texts[t]
        task_spans = slice(int(spans[t]), int(spans[t + 1]))
        columns = (estimate.start, estimate.end, estimate.tag, estimate.sure)
        marks = list(zip(*(column[task_spans].tolist() for column in columns), strict=True))
        names = [str(name) for name in estimate.tags.to_list()]
        pieces = []
        if text is not None:
            part = slice(int(units[t]), int(units[t + 1]))
            inside = np.minimum(estimate.marginal[part].sum(axis=1), 1.0)
            pieces = _pieces(text, estimate.unit_start[part], estimate.unit_end[part], inside, marks, names)
        positions = ", ".join(f"{s}–{e}" + (f" {shown(names[k], 20)}" if names[k] else "") for s, e, k, _ in marks[:30])
        name, sure = shown(votes.tasks[t]), percent(float(confidence[t]))
        out.append(ShownTask(name, sure, int(votes.labels_per_task[t]), pieces, positions or "no spans"))
    return out, bool(has_text[has_votes].any())


def _pieces(
    text: str,
    start: np.ndarray,
    end: np.ndarray,
    inside: np.ndarray,
    marks: list[tuple[int, int, int, float]],
    names: list[str],
) -> list[TextPiece]:
    """Return the text cut at units and spans; long unmarked pieces are shortened."""
    n = len(text)
    cuts = {0, n, *(c for c in (*start.tolist(), *end.tolist()) if 0 < c < n)}
    cuts |= {c for s, e, _, _ in marks for c in (s, e) if 0 < c < n}
    edges = sorted(cuts)
    out: list[TextPiece] = []
    total = 0
    for a, b in itertools.pairwise(edges):
        at = int(np.searchsorted(start, a, side="right")) - 1
        share = float(inside[at]) if at >= 0 and end[at] > a else 0.0
        in_span = any(s <= a < e for s, e, _, _ in marks)
        last = next(((k, sure) for _, e, k, sure in marks if e == b), None)
        level = min(LEVELS, int(np.ceil(share * LEVELS - 1e-9)))
        word = text[a:b]
        if level == 0 and not in_span and len(word) > 2 * CONTEXT:
            word = f"{word[:CONTEXT]} … {word[-CONTEXT:]}"
        total += len(word)
        out.append(TextPiece("".join("\ufffd" if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 else c
                                 for c in word), level, in_span,
                         None if last is None else shown(names[last[0]], 20),
                         "" if last is None else percent(last[1])))  # fmt: skip
        if total > MAX_LENGTH:
            out.append(TextPiece(" …", 0, False, None, ""))
            break
    return _joined(out)


def _joined(pieces: list[TextPiece]) -> list[TextPiece]:
    """Merge adjacent pieces with the same formatting."""
    out: list[TextPiece] = []
    for piece in pieces:
        if out and out[-1].tag is None and (out[-1].level, out[-1].inside) == (piece.level, piece.inside):
            out[-1] = TextPiece(out[-1].text + piece.text, piece.level, piece.inside, piece.tag, piece.sure)
        else:
            out.append(piece)
    return out


def span_page(votes: Votes[Spans], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the texts with their spans and, if the truth is given, the scores."""
    tasks, has_texts = marked_texts(votes, result)
    body = fragment("spans/texts.html.j2", tasks=tasks, known=has_texts)
    sheet = plain_page(votes, result).insert(1, Section("texts", "Texts", "Spans in their texts", body))
    return sheet if truth is None else sheet.append(truth_section(evaluate(blind or result, truth, resamples=200)))
