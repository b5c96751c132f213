"""The report page for texts: the common sections and the least certain texts."""

from __future__ import annotations

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
from .answers import Texts, written_words
from .estimate import TextEstimate

# Maximum number of tasks, of answers per task, and of characters of a text.
TASKS, ANSWERS, LONGEST = 25, 12, 600


@dataclass(frozen=True)
class Word:
    """A word and the level (1 to 4) of its share of the votes."""

    text: str
    level: int


@dataclass(frozen=True)
class TaskText:
    """A task: its text (split into words after a vote on words) and its answers."""

    name: str
    confidence: str
    output: str
    words: list[Word]
    answers: list[tuple[str, str]]


def text_page(votes: Votes[Texts], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the least certain texts and, if the truth is given, the scores."""
    tasks = _tasks(votes, result)
    body = fragment("texts/texts.html.j2", tasks=tasks, votes=any(task.words for task in tasks))
    sheet = plain_page(votes, result).insert(1, Section("texts", "Texts", "Least certain texts", body))
    return sheet if truth is None else sheet.append(truth_section(evaluate(blind or result, truth, resamples=200)))


def _tasks(votes: Votes[Texts], result: Result) -> list[TaskText]:
    estimate = result.estimate
    assert isinstance(estimate, TextEstimate)
    answered = votes.labels_per_task > 0
    order = np.lexsort((estimate.sure, ~answered))[: min(TASKS, int(answered.sum()))]
    at = starts(estimate.n_words)
    outputs, texts = estimate.outputs, votes.answers.texts.to_list()
    out = []
    for t in order.tolist():
        parts, share = written_words(outputs[t]), estimate.word_sure[at[t] : at[t + 1]]
        words = []
        if len(parts) == len(share) and len(outputs[t]) <= LONGEST:
            words = [Word(shown(word), 1 + min(3, int(4 * s))) for word, s in zip(parts, share.tolist(), strict=True)]
        rows = range(int(votes.task_offsets[t]), int(votes.task_offsets[t + 1]))
        answers = [(shown(votes.workers[int(votes.worker[r])]), shown(texts[votes.answers.text[r]], LONGEST))
                   for r in list(rows)[:ANSWERS]]  # fmt: skip
        out.append(TaskText(shown(votes.tasks[t]), percent(float(estimate.sure[t])), shown(outputs[t], LONGEST), words,
                         answers))  # fmt: skip
    return out
