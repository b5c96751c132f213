"""The page of a crowd that drew outlines."""

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
from ..boxes.page import Ground, Shape, canvas, grounds, origin
from .answers import Outlines
from .estimate import OutlineEstimate
from .scoring import evaluate

PICTURES = 24


def outline_page(votes: Votes[Outlines], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """What every kind has, the most disputed pictures, and the scores where the truth is known."""
    plain = plain_page(votes, result)
    own = result.estimate
    assert isinstance(own, OutlineEstimate)
    order = np.argsort(np.nan_to_num(own.agreement, nan=2.0), kind="stable")[:PICTURES]
    under = grounds(votes.about_tasks, votes.tasks)
    rows, origins = [], set()
    for task in order.tolist():
        a, b = int(votes.task_offsets[task]), int(votes.task_offsets[task + 1])
        shapes = [Shape(points, "drawn") for row in range(a, b) for points in votes.answers.of_row(row)]
        shapes += [Shape(points, "fused") for points in own.answers.of_row(task)]
        ground = under.get(task, Ground())
        origins |= {origin(ground.url)} if ground.url else set()
        words = f"{b - a} looked, mean IoU {own.agreement[task]:.2f}"
        rows.append((shown(result.tasks[task]), canvas(shapes, ground, words), words))
    hosts = tuple(sorted(origins - {""}))
    body = fragment("boxes/pictures.html.j2", rows=rows, n=votes.n_tasks, by_url=bool(hosts))
    sections = [
        *plain.sections[:-1],
        Section("pictures", "Pictures", "Most disputed pictures", body),
        plain.sections[-1],
    ]
    if truth is not None:
        judged = blind or result
        scores = evaluate(judged, truth, told=gold_tasks(judged), resamples=1)
        table = Table(f"{scores.n:,} pictures", ["score", "value", "95 % interval"], scores.rows())
        sections.append(Section("truth", "Truth", "Against the truth", fragment("tables.html.j2", tables=[table])))
    return replace(plain, sections=sections, images=hosts)
