"""The report page of rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ...core.errors import CrowdwiseError
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.evaluate import gold_tasks
from ...evaluation.scores import Table
from ...evaluation.statement import outlook
from ...report.leaderboard import boards, leaderboard
from ...report.page import agreement_section, fragment
from ...report.sheet import Section, Sheet
from ...report.text import count, shown
from ...report.workers import notes as flag_notes
from ...report.workers import workers_to_contact
from ...workers.flags import agreement_table, flag_table
from .answers import Rankings
from .estimate import RankingEstimate
from .fitting import known_orders
from .scoring import evaluate, sentences
from .workers import study_rankings

ENDS, TASKS, RESAMPLES = 100, 200, 300
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
    study = study_rankings(votes, result, gold=_orders_of(votes, truth))
    estimate = result.estimate
    assert isinstance(estimate, RankingEstimate)
    board = estimate.board(result.tasks)
    serious = [flag for flag in study.flags if flag.name != "unknown"]
    talk = {"talk": workers_to_contact(serious, study.meanings), "n_talk": len({str(flag.worker) for flag in serious})}
    lines = [f"{line[:1].upper()}{line[1:]}." for line in (outlook(result), *sentences(votes, result))]
    workers = fragment("flags.html.j2", notes=flag_notes(study.flags, study.meanings))
    workers += fragment("tables.html.j2", tables=[_fit(table) for table in study.worker_tables(ENDS)])
    closing = " ".join(lines) + f" {study.closing()}"
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("plain.html.j2", verdict=talk, closing=closing)),
        Section("leaderboard", "Orders", "Orders", _boards(estimate, board, result)),
        Section("data", "Data", "Data and ledger", _data(votes)),
        agreement_section(study.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", workers),
        Section("tasks", "Lists", "Lists", fragment("tables.html.j2", tables=[_lists(result)])),
        Section("truth", "Truth", "Against the truth", _truth(blind or result, truth)),
    ]
    tables = [
        ("labels.csv", "every list in its estimated order", result.to_table()),
        ("items.csv", "every item of every list with its score and ranks", board),
        ("quality.csv", "every worker", study.quality),
        ("flags.csv", "every flag with its evidence", flag_table(study.flags)),
        ("agreement.csv", "the coefficients", agreement_table(study.agreement)),
    ]
    lead = f"{count(len(votes), 'ranking')} by {count(votes.n_workers, 'worker')} of {count(votes.n_tasks, 'list')}"
    return Sheet(lead, sections, tables)


def _boards(estimate: RankingEstimate, board: pl.DataFrame, result: Result) -> Markup:
    order = np.lexsort((estimate.place, estimate.entry_task))
    table = board.with_columns(pl.Series("component", estimate.entry_task[order] + 1))
    names = {i + 1: shown(name, 80) for i, name in enumerate(result.tasks.to_list())}
    return leaderboard([_HOW], boards(table, names))


def _orders_of(votes: Votes[Rankings], truth: Any) -> Any:
    if truth is None:
        return None
    try:
        known_orders(truth, votes)
    except CrowdwiseError:
        return None
    return truth


def _data(votes: Votes[Rankings]) -> Markup:
    facts = votes.describe()
    rows = [
        ["items", f"{facts['items']:,}"],
        ["items in a ranking", f"{facts['items_per_ranking']['min']} to {facts['items_per_ranking']['max']}"],
        ["rankings of all items of their list", f"{facts['whole_rankings']:,}"],
        ["rankings with ties", f"{facts['rankings_with_ties']:,}"],
        ["workers with several rankings", f"{facts['workers_with_several_rankings']:,}"],
    ]
    return fragment("tables.html.j2", tables=[Table("The answers", ["", ""], rows)]) + fragment(
        "ledger.html.j2", ledger=votes.ledger.to_dict()
    )


def _lists(result: Result) -> Table:
    table = result.to_table()
    rows = [[str(v) for v in row] for row in table.head(TASKS).iter_rows()]
    return _fit(Table(f"The first {min(TASKS, len(table)):,} of {len(table):,}", table.columns, rows))


def _truth(result: Result, truth: Any) -> Markup:
    if truth is None:
        return fragment("comparisons/truth.html.j2", rows=[], about=_NO_TRUTH)
    try:
        scores = evaluate(result, truth, fit_gold=gold_tasks(result), resamples=RESAMPLES)
    except CrowdwiseError as error:
        return fragment("comparisons/truth.html.j2", rows=[], about=shown(f"{error}", 300))
    body = fragment("comparisons/truth.html.j2", rows=scores.rows(), about=f"Against {count(scores.n, 'known order')}.")
    return body + fragment("tables.html.j2", tables=[_fit(table) for table in scores.tables()])


def _fit(table: Table) -> Table:
    return Table(table.title, [shown(name, 40) for name in table.header], [[shown(c) for c in r] for r in table.rows])
