"""Votes, results and evaluations as small HTML tables for notebooks. All names are untrusted and escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.scores import Scores
from ..kinds.classes.annotations import Annotations
from . import name_of

# Shown at most: rows of votes, and classes in a list.
ROWS, CLASSES = 8, 12


def annotations_html(votes: Annotations) -> str:
    """Return the sizes, the classes with their numbers of labels, and the first rows."""
    head = Markup("<p><b>{:,} annotations</b> of {:,} tasks by {:,} workers, {:,} classes{}</p>").format(
        len(votes), votes.n_tasks, votes.n_workers, votes.n_classes, _dropped(votes)
    )
    counts = np.bincount(votes.label, minlength=votes.n_classes)
    order = np.argsort(-counts, kind="stable")[:CLASSES].tolist()
    classes = [
        (_name(votes.classes[c]), f"{counts[c]:,}", f"{100 * counts[c] / max(len(votes), 1):.1f} %") for c in order
    ]
    if votes.n_classes > CLASSES:
        classes.append((f"… {votes.n_classes - CLASSES:,} more", "", ""))
    return str(head + table(["class", "labels", "share"], classes) + _first_rows(votes))


def votes_html(votes: Votes[Any]) -> str:
    """Return the sizes and the first rows of any kind of answer."""
    head = Markup("<p><b>{:,} {}</b> of {:,} tasks by {:,} workers{}</p>").format(
        len(votes), votes.kind.answers_word, votes.n_tasks, votes.n_workers, _dropped(votes)
    )
    return str(head + _first_rows(votes))


def result_html(result: Result) -> str:
    """Return a summary of a result of any kind, and the last of its `show` tables. Everything is escaped."""
    summary, tables = result.kind.hooks.show(result)
    head = Markup("<p><b>{}</b>: {:,} tasks, {:,} workers; {}</p>").format(
        result.method, len(result.tasks), len(result.workers), summary
    )
    return str(head + table(tables[-1].header, tables[-1].rows)) if tables else str(head)


def _first_rows(votes: Votes[Any]) -> Markup:
    head = votes.take(np.arange(min(len(votes), ROWS))).to_frame()
    rows = [[_name(value) for value in row] for row in head.iter_rows()]
    if len(votes) > ROWS:
        rows.append(["…"] * head.width)
    return table(head.columns, rows)


def evaluation_html(scores: Scores) -> str:
    """Return the scores with their intervals and their further tables as HTML."""
    left = f"; {scores.n_gold_left_out:,} were gold in the fit and are left out" if scores.n_gold_left_out else ""
    head = Markup("<p><b>{}</b> on {:,} {}{}</p>").format(
        type(scores).__name__, scores.n, scores.unit + "s" * (scores.n != 1), left
    )
    out = head + table(["score", "value", "95 % interval"], scores.rows())
    for part in scores.tables():
        out += table(part.header, part.rows)
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


def _name(value: Any) -> str:
    return name_of(f"{value:g}" if isinstance(value, float) else value, 60)
