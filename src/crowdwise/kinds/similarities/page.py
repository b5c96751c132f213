"""The report page of same-or-different answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...report.page import fragment, truth_section
from ...report.plain_page import plain_page
from ...report.sheet import Section, Sheet
from ...report.text import shown
from .answers import Similarities
from .estimate import SimilarityEstimate
from .scoring import evaluate, sentences, show


def similarity_page(
    votes: Votes[Similarities], result: Result, *, truth: Any = None, blind: Result | None = None
) -> Sheet:
    """Build the page: the sections of every kind, the clusters, and the scores where the truth is known."""
    plain = plain_page(votes, result)
    estimate = result.estimate
    assert isinstance(estimate, SimilarityEstimate)
    text = fragment("plain_words.html.j2", lines=sentences(votes, result))
    shown_tables = [Table(t.title, t.header, [[shown(c, 120) for c in row] for row in t.rows]) for t in show(result)[1]]
    clusters = Section("clusters", "Clusters", "Clusters", text + fragment("tables.html.j2", tables=shown_tables))
    tables = [*plain.tables, ("items.csv", "every item", estimate.item_table())]
    sheet = replace(plain, tables=tables).insert(1, clusters)
    return sheet if truth is None else sheet.append(truth_section(evaluate(blind or result, truth, resamples=1)))
