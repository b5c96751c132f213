"""The page of a kind of answers that has none of its own: whom to talk to, ledger, agreement, workers, estimates."""

from __future__ import annotations

from typing import Any

from ..core.result import Result
from ..core.votes import Votes
from ..evaluation.scores import Table
from ..evaluation.statement import outlook
from ..workers.flags import agreement_table, flag_table
from ..workers.studied import Studied, study
from .page import agreement_section, fragment
from .sheet import Section, Sheet
from .text import count, shown
from .workers import notes as flag_notes
from .workers import whom_to_talk_to

# Rows shown of the workers (at each end) and of the tasks.
ENDS, TASKS = 100, 200
_AGREEMENT = "How far the answers of different workers go together. The bar is the 95 % interval over tasks."


def plain_page(votes: Votes[Any], result: Result) -> Sheet:
    """All sections, from what every kind has."""
    look: Studied = study(votes, result)
    grave = [flag for flag in look.flags if flag.name != "unknown"]
    talk = {"talk": whom_to_talk_to(grave, look.meanings), "n_talk": len({str(flag.worker) for flag in grave})}
    closing = f"{outlook(result)}. {look.closing()}"
    lead = f"{len(votes):,} {votes.kind.answers_word} by {count(votes.n_workers, 'worker')} on "
    sections = [
        Section("verdict", "Verdict", "Verdict", fragment("plain.html.j2", verdict=talk, closing=closing)),
        Section("data", "Data", "Data", fragment("ledger.html.j2", ledger=votes.ledger.to_dict())),
        agreement_section(look.agreement, _AGREEMENT),
        Section("workers", "Workers", "Workers", _workers(look)),
        Section("tasks", "Tasks", "Tasks", fragment("tables.html.j2", tables=[_tasks(result)])),
    ]
    tables = [
        ("labels.csv", "every task", result.to_table()),
        ("quality.csv", "every worker", look.quality),
        ("flags.csv", "every flag with its evidence", flag_table(look.flags)),
        ("agreement.csv", "the coefficients", agreement_table(look.agreement)),
    ]
    return Sheet(lead + count(votes.n_tasks, "task"), sections, tables)


def _workers(look: Studied) -> Any:
    flags = fragment("flags.html.j2", notes=flag_notes(look.flags, look.meanings))
    return flags + fragment("tables.html.j2", tables=[_fit(table) for table in look.worker_tables(ENDS)])


def _tasks(result: Result) -> Table:
    table = result.to_table()
    # A share is read to the thousandth; what else there is keeps four figures.
    shares = {name for name in table.columns if name.startswith("p_") or name == "confidence"}
    rows = [[_cell(value, name in shares) for name, value in zip(table.columns, row, strict=True)]
            for row in table.head(TASKS).iter_rows()]  # fmt: skip
    return _fit(Table(f"The first {min(TASKS, len(table)):,} of {len(table):,}", table.columns, rows))


def _cell(value: Any, share: bool) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    return f"{value:.3f}" if share else f"{value:.4g}"


def _fit(table: Table) -> Table:
    """With cells of a length that the page can show."""
    return Table(table.title, [shown(name, 40) for name in table.header], [[shown(c) for c in r] for r in table.rows])
