"""The report page for outlines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import gold_tasks
from ...evaluation.scores import Table
from ...report.page import fragment
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import shown
from ..boxes.page import Background, Shape, canvas, origin, read_backgrounds
from .answers import Outlines
from .estimate import OutlineEstimate
from .scoring import evaluate

# Maximum number of images that are drawn.
MAX_IMAGES = 24


def outline_page(votes: Votes[Outlines], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Return the standard sections, the most disputed images and, if the truth is given, the scores."""
    sheet = plain_page(votes, result)
    estimate = result.estimate
    assert isinstance(estimate, OutlineEstimate)
    order = np.argsort(np.nan_to_num(estimate.agreement, nan=2.0), kind="stable")[:MAX_IMAGES]
    backgrounds = read_backgrounds(votes.about_tasks, votes.tasks)
    rows, origins = [], set()
    for task in order.tolist():
        a, b = int(votes.task_offsets[task]), int(votes.task_offsets[task + 1])
        shapes = [Shape(points, "drawn") for row in range(a, b) for points in votes.answers.of_row(row)]
        shapes += [Shape(points, "fused") for points in estimate.answers.of_row(task)]
        background = backgrounds.get(task, Background())
        origins |= {origin(background.url)} if background.url else set()
        caption = f"{b - a} answers, mean IoU {estimate.agreement[task]:.2f}"
        rows.append((shown(result.tasks[task]), canvas(shapes, background, caption), caption))
    hosts = tuple(sorted(origins - {""}))
    body = fragment("boxes/pictures.html.j2", rows=rows, n=votes.n_tasks, by_url=bool(hosts))
    sections = [
        *sheet.sections[:-1],
        Section("pictures", "Images", "Most disputed images", body),
        sheet.sections[-1],
    ]
    if truth is not None:
        scored = blind or result
        scores = evaluate(scored, truth, fit_gold=gold_tasks(scored), resamples=1)
        table = Table(f"{scores.n:,} images", ["score", "value", "95 % interval"], scores.rows())
        sections.append(Section("truth", "Truth", "Against the truth", fragment("tables.html.j2", tables=[table])))
    return replace(sheet, sections=sections, images=hosts)
