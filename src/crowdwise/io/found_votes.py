"""From what was found in a file to votes: coded, with a whole ledger and what the file knows of tasks and workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.answers import Coder
from ..core.errors import DataError
from ..core.intake.coding import encode
from ..core.intake.repeats import Duplicates
from ..core.kind import Kind
from ..core.ledger import Ledger
from .about import facts_of_items
from .formats import FORMATS as EXPORTS
from .formats.base import OF_TASKS, Found


def coded_votes(
    record: Kind,
    coder: Callable[[dict[str, Any]], Coder],
    found: Found,
    called: tuple[str, str],
    duplicates: Duplicates,
    missing: Sequence[str],
) -> Any:
    """The votes of what was found, with a ledger that counts what the format left out too; `called`: file, format."""
    where, name = called
    try:
        coded = encode(
            found.columns,
            coder,
            tasks=found.tasks,
            workers=found.all_workers,
            duplicates=duplicates,
            notes=found.notes,
            missing=missing if name != "wide" else (),
        )
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    ledger = _with(coded.ledger, found.dropped)
    _refuse_empty(ledger, where, name)
    return record.votes._of(replace(coded, ledger=ledger))


def with_facts(votes: Any, found: Found, where: str, columns: Mapping[str, str] | None) -> Any:
    """The votes with what the file itself knows of workers and tasks."""
    if found.items is not None:
        asked_for = facts_of_items(found.items(), _of_tasks(columns), where)
        found.about_tasks = found.about_tasks if asked_for is None else asked_for
    if found.workers is not None and found.workers.width > 1:
        votes = votes.about(workers=found.workers)
    return votes if found.about_tasks is None else votes.about(tasks=found.about_tasks)


def _of_tasks(columns: Mapping[str, str] | None) -> dict[str, str]:
    return {role: column for role, column in (columns or {}).items() if role in OF_TASKS}


def _with(ledger: Ledger, dropped: Mapping[str, int]) -> Ledger:
    reasons = {r: dropped.get(r, 0) + ledger.dropped.get(r, 0) for r in dict.fromkeys([*dropped, *ledger.dropped])}
    return Ledger(ledger.rows_in + sum(dropped.values()), ledger.rows_used, reasons, ledger.notes)


def _refuse_empty(ledger: Ledger, where: str, kind: str) -> None:
    if ledger.rows_used:
        return
    if ledger.rows_in:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        hint = "are these the right columns?" if kind not in EXPORTS else "is it the right file?"
        raise DataError(f"{where}: none of its {ledger.rows_in:,} rows can be used ({why}); {hint}")
    raise DataError(
        f"{where} has a header but no rows with labels; is it the right file?"
        if kind not in EXPORTS
        else f"{where} has no annotations; is it the right file?"
    )
