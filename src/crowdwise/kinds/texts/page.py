"""The page of a crowd that writes texts: what every page has, and the texts that are least sure."""

from __future__ import annotations

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
from .answers import Texts, written
from .estimate import TextEstimate

# Tasks and answers of a task that are shown, and characters of a text.
TASKS, ANSWERS, LONGEST = 25, 12, 600


@dataclass(frozen=True)
class Word:
    """A word and how much of the vote is for it, 1 to 4."""

    text: str
    level: int


@dataclass(frozen=True)
class Shown:
    """A task: its text (in words where they were voted on), and the answers."""

    name: str
    confidence: str
    output: str
    words: list[Word]
    answers: list[tuple[str, str]]


def text_page(votes: Votes[Texts], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """All sections (see `report.render`)."""
    sheet = plain_page(votes, result)
    tasks = _tasks(votes, result)
    body = fragment("texts/texts.html.j2", tasks=tasks, votes=any(task.words for task in tasks))
    sections = [*sheet.sections[:1], Section("texts", "Texts", "Least certain texts", body), *sheet.sections[1:]]
    if truth is not None:
        scores = evaluate(result if blind is None else blind, truth, resamples=200)
        table = Table(f"Scores over {scores.n:,} tasks", ["", "value", "95 % interval"], scores.rows())
        sections.append(Section("truth", "Truth", "Against the truth", fragment("tables.html.j2", tables=[table])))
    return replace(sheet, sections=sections)


def _tasks(votes: Votes[Texts], result: Result) -> list[Shown]:
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    heard = votes.labels_per_task > 0
    order = np.lexsort((estimate.sure, ~heard))[: min(TASKS, int(heard.sum()))]
    at = np.concatenate([[0], np.cumsum(estimate.n_words)])
    said, texts = estimate.outputs, votes.answers.texts.to_list()
    out = []
    for t in order.tolist():
        parts, share = written(said[t]), estimate.word_sure[at[t] : at[t + 1]]
        words = []
        if len(parts) == len(share) and len(said[t]) <= LONGEST:
            words = [Word(shown(word), 1 + min(3, int(4 * s))) for word, s in zip(parts, share.tolist(), strict=True)]
        rows = range(int(votes.task_offsets[t]), int(votes.task_offsets[t + 1]))
        answers = [(shown(votes.workers[int(votes.worker[r])]), shown(texts[votes.answers.text[r]], LONGEST))
                   for r in list(rows)[:ANSWERS]]  # fmt: skip
        out.append(Shown(shown(votes.tasks[t]), percent(float(estimate.sure[t])), shown(said[t], LONGEST), words,
                         answers))  # fmt: skip
    return out
