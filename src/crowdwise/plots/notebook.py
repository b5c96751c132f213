"""Annotations and evaluations as small tables for notebooks. Names come from strangers: everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ..core.result import Result
from ..core.votes import Votes
from ..kinds.classes.annotations import Annotations
from ..kinds.classes.scoring.evaluate import SCORES, Evaluation

# Rows of annotations, classes in a list, and classes in a confusion matrix that are shown.
ROWS, CLASSES, MATRIX = 8, 12, 20


def annotations_html(votes: Annotations) -> str:
    """How many there are, the classes with their numbers of labels, and the first rows."""
    head = Markup("<p><b>{:,} annotations</b> of {:,} tasks by {:,} workers, {:,} classes{}</p>").format(
        len(votes), votes.n_tasks, votes.n_workers, votes.n_classes, _dropped(votes)
    )
    said = np.bincount(votes.label, minlength=votes.n_classes)
    order = np.argsort(-said, kind="stable")[:CLASSES].tolist()
    classes = [(_name(votes.classes[c]), f"{said[c]:,}", f"{100 * said[c] / max(len(votes), 1):.1f} %") for c in order]
    if votes.n_classes > CLASSES:
        classes.append((f"… {votes.n_classes - CLASSES:,} more", "", ""))
    return str(head + table(["class", "labels", "share"], classes) + _first_rows(votes))


def votes_html(votes: Votes[Any]) -> str:
    """How many there are, and the first rows, of any kind of answer."""
    head = Markup("<p><b>{:,} {}</b> of {:,} tasks by {:,} workers{}</p>").format(
        len(votes), votes.kind.answers_word, votes.n_tasks, votes.n_workers, _dropped(votes)
    )
    return str(head + _first_rows(votes))


def result_html(result: Result) -> str:
    """What a result of any kind is, and the last of the tables that `show` has of it. Everything is escaped."""
    summary, tables = result.kind.hooks.show(result)
    head = Markup("<p><b>{}</b>: {:,} tasks, {:,} workers; {}</p>").format(
        result.method, len(result.tasks), len(result.workers), summary
    )
    return str(head + table(tables[-1].header, tables[-1].rows)) if tables else str(head)


def _first_rows(votes: Votes[Any]) -> Markup:
    some = votes.take(np.arange(min(len(votes), ROWS))).to_frame()
    rows = [[_name(value) for value in row] for row in some.iter_rows()]
    if len(votes) > ROWS:
        rows.append(["…"] * some.width)
    return table(some.columns, rows)


def evaluation_html(scores: Evaluation) -> str:
    """The scores with their intervals, and the confusion of labels and truths."""
    left = f"; {scores.n_gold_left_out:,} were gold in the fit and are left out" if scores.n_gold_left_out else ""
    head = Markup("<p><b>Evaluation</b> on {:,} tasks{}</p>").format(scores.n, left)
    rows = []
    for key, name in SCORES.items():
        value, between = getattr(scores, key), scores.intervals.get(key)
        if value is not None:
            rows.append((name, f"{value:.4f}", "" if between is None else f"{between[0]:.4f} – {between[1]:.4f}"))
    out = head + table(["score", "value", "95 % interval"], rows)
    if len(scores.classes) <= MATRIX:
        names = [_name(name) for name in scores.classes]
        cells = [(name, *map(str, row)) for name, row in zip(names, scores.confusion, strict=True)]
        out += table(["true \\ said", *names], cells)
    return str(out)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """An HTML table; every cell is escaped."""
    names = Markup("").join(Markup("<th>{}</th>").format(name) for name in header)
    body = Markup("").join(
        Markup("<tr>{}</tr>").format(Markup("").join(Markup("<td>{}</td>").format(cell) for cell in row))
        for row in rows
    )
    return Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(names, body)


def _dropped(votes: Votes[Any]) -> str:
    n = votes.ledger.rows_dropped
    return f"; {n:,} of {votes.ledger.rows_in:,} rows were dropped (see .ledger)" if n else ""


def _name(value: Any, longest: int = 60) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"
