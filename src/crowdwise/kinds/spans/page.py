"""The page of a crowd that marks spans: what every page has, and the texts with their spans."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...evaluation.scores import Table
from ...report.page import fragment
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import percent, shown
from .answers import Spans, texts_of
from .estimate import SpanEstimate
from .maths import starts

# ----------------------------------------------------------------
# Texts with their spans marked: pieces with a level of how many mark them, for the template.

# Tasks shown, characters of a text shown around its marks, and levels of how sure a piece is.
TASKS, AROUND, LONGEST, LEVELS = 25, 80, 3000, 4


@dataclass(frozen=True)
class Piece:
    """A stretch of text: `level` 0 to 4 of how sure it is to be marked, the `tag` of a span that ends here ("" for a
    span without one, None where none ends), and whether it is in a span of the estimate."""

    text: str
    level: int
    inside: bool
    tag: str | None
    sure: str


@dataclass(frozen=True)
class Shown:
    """A task with its text in pieces, or with its spans as numbers where the text is not known."""

    name: str
    confidence: str
    n_answers: int
    pieces: list[Piece]
    numbers: str


def marked_texts(votes: Votes[Spans], result: Result) -> tuple[list[Shown], bool]:
    """The tasks that are least sure, those with a text first; and whether any text is known."""
    estimate = result.estimate
    assert isinstance(estimate, SpanEstimate)
    texts = texts_of(votes)
    told = np.array([text is not None for text in texts], dtype=bool)
    heard = votes.labels_per_task > 0
    confidence = estimate.confidence
    order = np.lexsort((confidence, ~told, ~heard))[: min(TASKS, int(heard.sum()))]
    units, spans = starts(estimate.n_units), starts(estimate.n_spans)
    out = []
    for t in order.tolist():
        text = texts[t]
        own = slice(int(spans[t]), int(spans[t + 1]))
        marks = list(zip(estimate.start[own].tolist(), estimate.end[own].tolist(), estimate.tag[own].tolist(),
                         estimate.sure[own].tolist(), strict=True))  # fmt: skip
        names = [str(name) for name in estimate.tags.to_list()]
        pieces = []
        if text is not None:
            part = slice(int(units[t]), int(units[t + 1]))
            inside = np.minimum(estimate.marginal[part].sum(axis=1), 1.0)
            pieces = _pieces(text, estimate.unit_start[part], estimate.unit_end[part], inside, marks, names)
        numbers = ", ".join(f"{s}–{e}" + (f" {shown(names[k], 20)}" if names[k] else "") for s, e, k, _ in marks[:30])
        out.append(Shown(shown(votes.tasks[t]), percent(float(confidence[t])), int(votes.labels_per_task[t]), pieces,
                         numbers or "nothing is marked"))  # fmt: skip
    return out, bool(told[heard].any())


def _pieces(
    text: str,
    start: np.ndarray,
    end: np.ndarray,
    inside: np.ndarray,
    marks: list[tuple[int, int, int, float]],
    names: list[str],
) -> list[Piece]:
    """The text cut at units and spans; long stretches that nobody marked are shortened."""
    n = len(text)
    cuts = {0, n, *(c for c in (*start.tolist(), *end.tolist()) if 0 < c < n)}
    cuts |= {c for s, e, _, _ in marks for c in (s, e) if 0 < c < n}
    edges = sorted(cuts)
    out: list[Piece] = []
    total = 0
    for a, b in itertools.pairwise(edges):
        at = int(np.searchsorted(start, a, side="right")) - 1
        share = float(inside[at]) if at >= 0 and end[at] > a else 0.0
        held = any(s <= a < e for s, e, _, _ in marks)
        last = next(((k, sure) for _, e, k, sure in marks if e == b), None)
        level = min(LEVELS, int(np.ceil(share * LEVELS - 1e-9)))
        word = text[a:b]
        if level == 0 and not held and len(word) > 2 * AROUND:
            word = f"{word[:AROUND]} … {word[-AROUND:]}"
        total += len(word)
        out.append(Piece("".join("\ufffd" if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 else c
                                 for c in word), level, held,
                         None if last is None else shown(names[last[0]], 20),
                         "" if last is None else percent(last[1])))  # fmt: skip
        if total > LONGEST:
            out.append(Piece(" …", 0, False, None, ""))
            break
    return _joined(out)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Neighbours that look alike as one."""
    out: list[Piece] = []
    for piece in pieces:
        if out and out[-1].tag is None and (out[-1].level, out[-1].inside) == (piece.level, piece.inside):
            out[-1] = Piece(out[-1].text + piece.text, piece.level, piece.inside, piece.tag, piece.sure)
        else:
            out.append(piece)
    return out


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
