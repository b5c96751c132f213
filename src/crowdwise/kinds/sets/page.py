"""The page of a crowd that answers with label sets: what every page has, the classes, and the least certain tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.errors import CrowdwiseError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import evaluate
from ...evaluation.scores import Table
from ...report.page import fragment
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import percent, shown
from .answers import Sets
from .estimate import SetPosterior

# Classes and tasks that are shown, answers of a task, and characters of an answer.
CLASSES, TASKS, ANSWERS, LONGEST = 200, 25, 12, 200
RESAMPLES = 200


def set_page(votes: Votes[Sets], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """All sections (see `report.render`)."""
    sheet = plain_page(votes, result)
    scores, why = _scores(result if blind is None else blind, truth)
    tables = [_classes(votes, result, scores)]
    least = [_least(votes, result)]
    sections = [
        *sheet.sections[:1],
        Section("classes", "Classes", "Classes", fragment("tables.html.j2", tables=tables)),
        Section("unsure", "Least certain", "Least certain tasks", fragment("tables.html.j2", tables=least)),
        *sheet.sections[1:],
    ]
    if truth is not None:
        told = [] if scores is None else scores.rows()
        title = why if scores is None else f"Scores over {scores.n:,} tasks"
        body = fragment("tables.html.j2", tables=[Table(title, ["", "value", "95 % interval"], told)])
        sections.append(Section("truth", "Truth", "Against the truth", body))
    return replace(sheet, sections=sections)


def _scores(result: Result, truth: Any) -> tuple[Any, str]:
    """Scores of the fit that was not told the truth, or why there are none."""
    if truth is None:
        return None, ""
    try:
        return evaluate(result, truth, resamples=RESAMPLES), ""
    except CrowdwiseError as error:
        return None, shown(f"{error}", 300)


def _classes(votes: Votes[Sets], result: Result, scores: Any) -> Table:
    """How often each class was named, how often it is estimated to be true and, with a truth, its F1."""
    own = result.estimate
    assert isinstance(own, SetPosterior)
    said, codes = votes.answers.classes.cast(str).to_list(), votes.answers.code
    named = dict(zip(said, np.bincount(codes, minlength=len(said)).tolist(), strict=True))
    heard = votes.labels_per_task > 0
    tasks = own.member[heard].sum(axis=0)
    share = own.posterior[heard].mean(axis=0) if heard.any() else own.rate
    judged = {} if scores is None else {str(row["label"]): row for row in scores.classes}
    names = own.classes.cast(str).to_list()
    order = np.lexsort((np.arange(len(names)), -tasks, [-named.get(name, 0) for name in names]))[:CLASSES]
    rows = []
    for j in order.tolist():
        times = named.get(names[j], 0)
        row = [shown(names[j], 80), f"{times:,}", percent(times / max(len(votes), 1)), percent(float(share[j])),
               f"{int(tasks[j]):,}"]  # fmt: skip
        found = judged.get(names[j], {})
        rows.append(row + ([] if scores is None else [_figure(found.get(x)) for x in ("f1", "precision", "recall")]))
    header = ["class", "named", "share of the answers", "estimated share of the tasks", "tasks"]
    header += [] if scores is None else ["F1", "precision", "recall"]
    more = f" (the first {len(rows):,} of {len(names):,})" if len(rows) < len(names) else ""
    return Table(f"Classes, the most named first{more}", header, rows)


def _least(votes: Votes[Sets], result: Result) -> Table:
    """The tasks whose sets are least sure, with the classes in doubt and what was said."""
    own = result.estimate
    assert isinstance(own, SetPosterior)
    heard = np.flatnonzero(votes.labels_per_task > 0)
    order = heard[np.argsort(own.confidence[heard], kind="stable")][:TASKS]
    names, table = own.classes.cast(str).to_list(), result.to_table()
    said = votes.answers.columns()["labels"]
    rows = []
    for t in order.tolist():
        p = own.posterior[t] if own.asked is None else np.where(own.asked[t], own.posterior[t], 0.0)
        near = [j for j in np.argsort(np.abs(p - 0.5), kind="stable")[:3].tolist() if 0.1 < p[j] < 0.9]
        doubt = ", ".join(f"{shown(names[j], 40)} {percent(float(p[j]))}" for j in near)
        own_rows = range(int(votes.task_offsets[t]), int(votes.task_offsets[t + 1]))
        answers = " ; ".join(str(said[r]) for r in list(own_rows)[:ANSWERS])
        rows.append([shown(votes.tasks[t]), shown(table["labels"][t], LONGEST), percent(float(own.confidence[t])),
                     doubt, shown(answers, 2 * LONGEST)])  # fmt: skip
    header = ["task", "set", "wholly right", "in doubt", "what was said"]
    return Table(f"The {len(rows):,} sets that are least sure", header, rows)


def _figure(value: float | None) -> str:
    return "–" if value is None or not np.isfinite(value) else f"{value:.3f}"
