"""The report page for lines."""

from __future__ import annotations

from dataclasses import replace

from crowdwise.evaluation.evaluate import gold_tasks
from crowdwise.evaluation.scores import Table
from crowdwise.report.page import fragment
from crowdwise.report.plain_page import plain_page
from crowdwise.report.sheet import Section

from .scoring import evaluate, show


def line_page(votes, result, *, truth=None, blind=None):
    """The standard sections, the most disputed tasks and, where the truth is given, the scores."""
    sheet = plain_page(votes, result)
    sections = [*sheet.sections, _section("disputed", "Disputed", show(result)[1])]
    if truth is not None:
        scored = blind or result
        scores = evaluate(scored, truth, fit_gold=gold_tasks(scored), resamples=1)
        table = Table(f"{scores.n:,} tasks", ["score", "value", "95 % interval"], scores.rows())
        sections.append(_section("truth", "Against the truth", [table]))
    return replace(sheet, sections=sections)


def _section(name, title, tables):
    return Section(name, title, title, fragment("tables.html.j2", tables=tables))
