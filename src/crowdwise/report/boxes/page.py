"""The page of a crowd that drew boxes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from ...aggregate.boxes.as_answers import said
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...kinds.boxes.distance import distance
from ...kinds.boxes.estimate import BoxEstimate
from ...scoring.boxes.evaluate import evaluate
from ...scoring.evaluate import gold_tasks
from ...scoring.scored import Table
from ..page import fragment
from ..plain_page import plain_page
from ..sheet import Section, Sheet
from ..text import shown
from .canvas import Ground, canvas, grounds, origin, rectangle

# Pictures that are drawn.
PICTURES = 24


def box_page(votes: Votes[Boxes], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """What every kind has, the most disputed pictures, and the scores where the truth is known."""
    plain = plain_page(votes, result)
    pictures, origins = _pictures(votes, result)
    sections = [*plain.sections[:-1], pictures, plain.sections[-1]]
    if truth is not None:
        sections.append(_truth(blind or result, truth))
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    tables = [*plain.tables, ("boxes.csv", "every box", own.box_table(result.tasks))]
    return replace(plain, sections=sections, tables=tables, images=origins)


def _pictures(votes: Votes[Boxes], result: Result) -> tuple[Section, tuple[str, ...]]:
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    both = votes.answers.join(said(votes, result))
    off = distance(both, np.arange(len(votes)), len(votes) + votes.task.astype(np.int64))
    n = np.maximum(votes.labels_per_task, 1)
    mean = np.bincount(votes.task, weights=off, minlength=votes.n_tasks) / n
    order = np.argsort(-mean, kind="stable")[:PICTURES]
    under, names = grounds(votes.about_tasks, votes.tasks), own.tags.to_list()
    rows, origins = [], set()
    for task in order.tolist():
        a, b = votes.task_offsets[task], votes.task_offsets[task + 1]
        box = slice(votes.answers.start[a], votes.answers.start[b])
        shapes = [rectangle(corner, "drawn") for corner in votes.answers.corner[box].tolist()]
        mine = slice(own.start[task], own.start[task + 1])
        shapes += [
            rectangle(corner, "fused", names[tag])
            for corner, tag in zip(own.corner[mine].tolist(), own.tag[mine].tolist(), strict=True)
        ]
        ground = under.get(task, Ground())
        if ground.url:
            origins.add(origin(ground.url))
        drawn = f"{int(b - a)} looked, {len(shapes) - int(own.n_boxes[task])} boxes drawn, {own.n_boxes[task]} kept"
        rows.append((shown(result.tasks[task]), canvas(shapes, ground, drawn), drawn))
    body = fragment("boxes/pictures.html.j2", rows=rows, n=votes.n_tasks, by_url=bool(origins - {""}))
    return Section("pictures", "Pictures", "Most disputed pictures", body), tuple(sorted(origins - {""}))


def _truth(result: Result, truth: Any) -> Section:
    scores = evaluate(result, truth, told=gold_tasks(result), resamples=1)
    tables = [Table(f"{scores.n:,} pictures", ["score", "value", "95 % interval"], scores.rows()), *scores.tables()]
    return Section("truth", "Truth", "Against the truth", Markup(fragment("tables.html.j2", tables=tables)))
