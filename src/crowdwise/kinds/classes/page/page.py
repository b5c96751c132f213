"""Report page of votes whose answers are classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ....core.result import Result
from ....judges.page import disagreement_section, judge_sections
from ....report.page import agreement_section, fragment
from ....report.sheet import Section, Sheet
from ....report.text import count
from ....stats.agreement import Level
from ..annotations import Annotations
from .build import ClassView, build

_AGREEMENT = (
    "How often two people give a task the same label, corrected for chance: 0 is chance, 1 is full agreement. The bar "
    "is the 95 % interval over tasks."
)


def class_page(
    votes: Annotations,
    result: Result,
    *,
    truth: Any = None,
    blind: Result | None = None,
    history: pl.DataFrame | None = None,
    level: Level | None = None,
    order: Sequence[Any] | None = None,
) -> Sheet:
    """Return all sections of the page (see `report.render`)."""
    view = build(votes, result, truth=truth, blind=blind, history=history, level=level, order=order)
    facts = view.facts
    lead = (
        f"{count(facts['annotations'], 'label')} by {count(facts['workers'], 'worker')} on "
        f"{count(facts['tasks'], 'task')}, {count(facts['classes'], 'class', 'classes')}"
    )
    rounds = "epoch" if view.training else "iteration"
    judge_sections_, tables = judge_sections(votes, truth)
    disagreement, disagreement_tables = disagreement_section(votes, result)
    judge_sections_, tables = [*judge_sections_, *disagreement], [*tables, *disagreement_tables]
    return Sheet(lead, _with(_sections(view), judge_sections_), [*view.tables, *tables], rounds, view.pairs.data)


def _with(sections: list[Section], judge_sections_: list[Section]) -> list[Section]:
    """Insert the sections about judges before the pairs of workers."""
    at = next((i for i, section in enumerate(sections) if section.anchor == "pairs"), len(sections))
    return [*sections[:at], *judge_sections_, *sections[at:]]


def _sections(view: ClassView) -> list[Section]:
    specification = [
        ("verdict", "Verdict", "Verdict", True),
        ("data", "Data", "Data and ledger", True),
        ("workers", "Workers", "Workers", True),
        ("confusion", "Confusion", "Confusion matrices", bool(view.matrices)),
        ("pairs", "Pairs", "Pairs of workers", True),
        ("contested", "Contested tasks", "Contested tasks", True),
        ("calibration", "Calibration", "Calibration", True),
        ("time", "Time and drift", "Time and drift", True),
        ("training", "Training", "Training: the classifier and the crowd", view.training is not None),
    ]
    out = [
        Section(anchor, name, title, fragment(f"{anchor}.html.j2", view=view))
        for anchor, name, title, is_shown in specification
        if is_shown
    ]
    return [*out[:2], agreement_section(view.agreement, f"{_AGREEMENT} {view.reading}".strip()), *out[2:]]
