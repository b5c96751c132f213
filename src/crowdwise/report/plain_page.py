"""Report page of kinds without a page of their own: flagged workers, ledger, agreement, workers, estimates."""

from __future__ import annotations

from typing import Any

import polars as pl

from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.scores import Table
from ..evaluation.statement import outlook
from ..workers.flags import agreement_table, flag_table
from ..workers.studied import Studied, study
from .page import agreement_section, fragment, table_section
from .sheet import Section, Sheet
from .text import count, shown
from .workers import notes as flag_notes
from .workers import workers_to_contact

# Shown at most: workers at each end of the list, and tasks.
ENDS, TASKS = 100, 200
_AGREEMENT = "How well the answers of different workers agree. The bar is the 95 % interval over tasks."


def plain_page(votes: Votes[Any], result: Result) -> Sheet:
    """Return all sections, from what every kind provides."""
    study_: Studied = study(votes, result)
    lead = f"{len(votes):,} {votes.kind.answers_word} by {count(votes.n_workers, 'worker')} on "
    sections = [
        verdict_section(study_, f"{outlook(result)}. {study_.closing()}"),
        Section("data", "Data", "Data", fragment("ledger.html.j2", ledger=votes.ledger.to_dict())),
        agreement_section(study_.agreement, _AGREEMENT),
        workers_section(study_),
        table_section("tasks", "Tasks", "Tasks", _tasks(result)),
    ]
    tables = [("labels.csv", "every task", result.to_table()), *study_tables(study_)]
    return Sheet(lead + count(votes.n_tasks, "task"), sections, tables)


def verdict_section(study_: Studied, closing: str) -> Section:
    """Return the section with the workers to contact and a closing text."""
    flagged = [flag for flag in study_.flags if flag.name != "unknown"]
    contacts = {
        "talk": workers_to_contact(flagged, study_.meanings),
        "n_talk": len({str(flag.worker) for flag in flagged}),
    }
    return Section("verdict", "Verdict", "Verdict", fragment("plain.html.j2", verdict=contacts, closing=closing))


def workers_section(study_: Studied) -> Section:
    """Return the section with the flags and the tables of the workers."""
    flags = fragment("flags.html.j2", notes=flag_notes(study_.flags, study_.meanings))
    tables = fragment("tables.html.j2", tables=[fitted(table) for table in study_.worker_tables(ENDS)])
    return Section("workers", "Workers", "Workers", flags + tables)


def study_tables(study_: Studied) -> list[tuple[str, str, pl.DataFrame]]:
    """Return the downloads of a study: file name, description and table."""
    return [
        ("quality.csv", "every worker", study_.quality),
        ("flags.csv", "every flag with its evidence", flag_table(study_.flags)),
        ("agreement.csv", "the coefficients", agreement_table(study_.agreement)),
    ]


def _tasks(result: Result) -> Table:
    table = result.to_table()
    # Shares have three decimals, other numbers four significant digits.
    shares = {name for name in table.columns if name.startswith("p_") or name == "confidence"}
    rows = [[_cell(value, name in shares) for name, value in zip(table.columns, row, strict=True)]
            for row in table.head(TASKS).iter_rows()]  # fmt: skip
    return fitted(Table(f"The first {min(TASKS, len(table)):,} of {len(table):,}", table.columns, rows))


def _cell(value: Any, share: bool) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.3f}" if share else f"{value:.4g}"


def fitted(table: Table) -> Table:
    """Shorten the cells to what the page can show."""
    return Table(table.title, [shown(name, 40) for name in table.header], [[shown(c) for c in r] for r in table.rows])
