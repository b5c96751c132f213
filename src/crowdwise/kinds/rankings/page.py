"""The report page of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.scores import Table
from ...evaluation.statement import outlook
from ...report.leaderboard import (
    answers_section,
    boards,
    leaderboard,
    order_truth_section,
    readable_truth,
    sentences_text,
)
from ...report.page import agreement_section, table_section
from ...report.plain_page import fitted, study_tables, verdict_section, workers_section
from ...report.sheet import Section, Sheet
from ...report.text import count, shown
from .answers import Rankings
from .estimate import RankingEstimate
from .fitting import known_orders
from .scoring import sentences
from .workers import study_rankings

# Maximum number of lists shown.
TASKS = 200
_AGREEMENT = (
    "Agreement between rankings of the same list by different workers. The bar is the 95 % interval over lists."
)
_HOW = (
    "Places are simultaneous confidence intervals of the ranks of a list. Items of a group cannot be distinguished "
    "from its first."
)
_NO_TRUTH = "No true order is known. --truth FILE (task, ranking) shows how accurate the orders are."


def ranking_page(votes: Votes[Rankings], result: Result, *, truth: Any = None, blind: Result | None = None) -> Sheet:
    """Build all sections of the page (see `report.render`)."""
    study = study_rankings(votes, result, gold=readable_truth(known_orders, truth, votes))
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    board = estimate.board(result.tasks)
    closing = f"{sentences_text([outlook(result), *sentences(votes, result)])} {study.closing()}"
    sections = [
        verdict_section(study, closing),
        Section("leaderboard", "Orders", "Orders", _boards(estimate, board, result)),
        answers_section(votes, _facts(votes)),
        agreement_section(study.agreement, _AGREEMENT),
        workers_section(study),
        table_section("tasks", "Lists", "Lists", _lists(result)),
        order_truth_section(blind or result, truth, _NO_TRUTH, lambda _: "known order"),
    ]
    tables = [
        ("labels.csv", "every list in its estimated order", result.to_table()),
        ("items.csv", "every item of every list with its score and ranks", board),
        *study_tables(study),
    ]
    lead = f"{count(len(votes), 'ranking')} by {count(votes.n_workers, 'worker')} of {count(votes.n_tasks, 'list')}"
    return Sheet(lead, sections, tables)


def _boards(estimate: RankingEstimate, board: pl.DataFrame, result: Result) -> Markup:
    order = np.lexsort((estimate.place, estimate.entry_task))
    table = board.with_columns(pl.Series("component", estimate.entry_task[order] + 1))
    names = {i + 1: shown(name, 80) for i, name in enumerate(result.tasks.to_list())}
    return leaderboard([_HOW], boards(table, names))


def _facts(votes: Votes[Rankings]) -> list[list[str]]:
    facts = votes.describe()
    return [
        ["items", f"{facts['items']:,}"],
        ["items in a ranking", f"{facts['items_per_ranking']['min']} to {facts['items_per_ranking']['max']}"],
        ["rankings of all items of their list", f"{facts['whole_rankings']:,}"],
        ["rankings with ties", f"{facts['rankings_with_ties']:,}"],
        ["workers with several rankings", f"{facts['workers_with_several_rankings']:,}"],
    ]


def _lists(result: Result) -> Table:
    table = result.to_table()
    rows = [[str(v) for v in row] for row in table.head(TASKS).iter_rows()]
    return fitted(Table(f"The first {min(TASKS, len(table)):,} of {len(table):,}", table.columns, rows))
