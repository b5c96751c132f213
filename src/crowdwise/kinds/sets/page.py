"""The report page for label sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.content import contents
from ...core.errors import CrowdwiseError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...evaluation.scores import Table
from ...report.page import table_section, truth_section
from ...report.plain_page import plain_page
from ...report.sheet import Sheet
from ...report.text import percent, shown
from .answers import Sets
from .estimate import SetPosterior

# Maximum number of classes, tasks, answers per task and characters of an answer that are shown.
MAX_CLASSES, MAX_TASKS, MAX_ANSWERS, MAX_LENGTH = 200, 25, 12, 200
RESAMPLES = 200


def set_page(votes: Votes[Sets], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the classes, the least certain tasks and, if the truth is given, the scores."""
    scores, last = None, []
    if truth is not None:
        try:
            scores = evaluate(blind or result, truth, resamples=RESAMPLES)
            last = [truth_section(scores)]
        except CrowdwiseError as error:
            reason = Table(shown(f"{error}", 300), ["score", "value", "95 % interval"], [])
            last = [table_section("truth", "Truth", "Against the truth", reason)]
    classes = table_section("classes", "Classes", "Classes", _classes(votes, result, scores))
    least = table_section("unsure", "Least certain", "Least certain tasks", _least(votes, result))
    return plain_page(votes, result).insert(1, classes, least).append(*last)


def _classes(votes: Votes[Sets], result: Result, scores: Any) -> Table:
    """Return a table of how often each class was named and is estimated and, with a truth, its F1."""
    estimate = result.estimate
    assert isinstance(estimate, SetPosterior)
    vote_classes, codes = votes.answers.classes.cast(str).to_list(), votes.answers.code
    named = dict(zip(vote_classes, np.bincount(codes, minlength=len(vote_classes)).tolist(), strict=True))
    has_votes = votes.labels_per_task > 0
    tasks = estimate.member[has_votes].sum(axis=0)
    share = estimate.posterior[has_votes].mean(axis=0) if has_votes.any() else estimate.rate
    class_scores = {} if scores is None else {str(row["label"]): row for row in scores.classes}
    names = estimate.classes.cast(str).to_list()
    order = np.lexsort((np.arange(len(names)), -tasks, [-named.get(name, 0) for name in names]))[:MAX_CLASSES]
    rows = []
    for j in order.tolist():
        times = named.get(names[j], 0)
        row = [shown(names[j], 80), f"{times:,}", percent(times / max(len(votes), 1)), percent(float(share[j])),
               f"{int(tasks[j]):,}"]  # fmt: skip
        class_score = class_scores.get(names[j], {})
        rows.append(
            row + ([] if scores is None else [_figure(class_score.get(x)) for x in ("f1", "precision", "recall")])
        )
    header = ["class", "named", "share of answers", "estimated share of tasks", "tasks"]
    header += [] if scores is None else ["F1", "precision", "recall"]
    more = f" (the first {len(rows):,} of {len(names):,})" if len(rows) < len(names) else ""
    return Table(f"Classes, most frequently named first{more}", header, rows)


def _least(votes: Votes[Sets], result: Result) -> Table:
    """Return a table of the least certain tasks, with their uncertain classes and the answers."""
    estimate = result.estimate
    assert isinstance(estimate, SetPosterior)
    answered = np.flatnonzero(votes.labels_per_task > 0)
    order = answered[np.argsort(estimate.confidence[answered], kind="stable")][:MAX_TASKS]
    names, table = estimate.classes.cast(str).to_list(), result.to_table()
    answer_texts = votes.answers.columns()["labels"]
    rows = []
    content = contents(votes, [votes.tasks[t] for t in order.tolist()])
    for t, about in zip(order.tolist(), content, strict=True):
        p = estimate.posterior[t] if estimate.asked is None else np.where(estimate.asked[t], estimate.posterior[t], 0.0)
        doubtful = [j for j in np.argsort(np.abs(p - 0.5), kind="stable")[:3].tolist() if 0.1 < p[j] < 0.9]
        doubt = ", ".join(f"{shown(names[j], 40)} {percent(float(p[j]))}" for j in doubtful)
        task_rows = range(int(votes.task_offsets[t]), int(votes.task_offsets[t + 1]))
        answers = " ; ".join(str(answer_texts[r]) for r in list(task_rows)[:MAX_ANSWERS])
        sure = percent(float(estimate.confidence[t]))
        labels = shown(table["labels"][t], MAX_LENGTH)
        name = f"{shown(votes.tasks[t])}: {shown(about, 2 * MAX_LENGTH)}" if about else shown(votes.tasks[t])
        rows.append([name, labels, sure, doubt, shown(answers, 2 * MAX_LENGTH)])
    header = ["task", "set", "confidence", "uncertain classes", "answers"]
    return Table(f"The {len(rows):,} least certain sets", header, rows)


def _figure(value: float | None) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value:.3f}"
